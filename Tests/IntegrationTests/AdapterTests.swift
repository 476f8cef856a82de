import Foundation
import Testing
import Wire

extension Integration {
    @Suite("Adapters")
    struct Adapting {
        private static let file = """
            adapters:
              - {filter: owntracks/+/+/#, format: owntracks, dataset: d}
              - {filter: espresense/devices/+/+, format: espresense, dataset: d, room: "$2"}
              - {filter: sensors/+/+/a/b/c/d, format: json, dataset: d, domain: "$2", room: "$1", location: "-"}
            """
        private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

        private func withFile<Result>(_ text: String, _ body: (String) throws -> Result) throws -> Result {
            try withFolder { folder in
                try text.write(toFile: folder + "/geomatchd.yaml", atomically: true, encoding: .utf8)
                return try body(folder + "/geomatchd.yaml")
            }
        }

        /// What an ordinary client publishes, and sees.
        private func exchange(_ client: Client) throws {
            client.publish("owntracks/jane/phone", #"{"_type":"location","lat":47.5,"lon":8.5,"tst":1700000000,"vel":36}"#)
            let position = try client.first(on: "live/d/-/-/-/-/jane%2Fphone/position").json
            #expect(position["timestamp"]?.asInt64 == 1_700_000_000_000)
            #expect(position["properties"]?["speed"]?.asDouble == 10)
            client.publish("espresense/devices/x/kitchen", #"{"id":"iBeacon:\#(Self.uuid)-1-2","rssi":-60,"distance":1.5}"#)
            let proximity = try client.first(on: "live/d/-/-/-/kitchen/kitchen/proximity")
            #expect(proximity.text.contains(Self.uuid))
            client.publish(
                "owntracks/jane/phone/event", #"{"_type":"transition","event":"enter","desc":"home","tst":1700000000}"#)
            #expect(try client.first(on: "live/d/-/-/-/-/jane%2Fphone/transition").text.contains(#""event":"enter""#))
            // Seven levels come by the filter for live topics, where that is held.
            client.publish("sensors/lab/co2/a/b/c/d", #"{"co2":400}"#)
            _ = try client.first(on: "live/d/-/-/-/lab/-/co2")
            client.publish("owntracks/jane/phone", #"{"_type":"location","lat":"north","lon":8.5}"#)
            let refusal = try client.first(on: "geomatch/d/diagnostics/update").json
            #expect(refusal["topic"]?.asString == "owntracks/jane/phone" && refusal["field"]?.asString == "lat")
            #expect(try client.refusal("dataset/create", dataset: "owntracks") != nil)
            // Nothing came twice.
            for item in ["jane%2Fphone/position", "jane%2Fphone/transition", "kitchen/kitchen/proximity", "lab/-/co2"] {
                #expect(client.messages.count { $0.topic.hasPrefix("live/") && $0.topic.hasSuffix(item) } == 1, "\(item)")
            }
        }

        @Test("OwnTracks and ESPresense messages of an ordinary client appear on live/…, on the daemon's own mosquitto")
        func ownBroker() throws {
            try withFile(Self.file) { file in
                try withDaemon(arguments: ["--config", file, "--datasets", "d"]) { daemon in
                    try withClient(daemon.endpoint, name: "admin", filters: ["live/#", "geomatch/d/diagnostics/#"]) {
                        try exchange($0)
                    }
                }
            }
        }

        @Test("Beside another's broker nothing but the adapters' topics is read of other tenants, also after a restart")
        func othersBroker() throws {
            try withFolder { folder in
                let broker = Broker(folder: folder)
                defer { broker.end() }
                try broker.start()
                try Self.file.write(toFile: folder + "/a.yaml", atomically: true, encoding: .utf8)
                let daemon = try Daemon(
                    folder: folder, broker: broker.url, arguments: ["--config", folder + "/a.yaml", "--datasets", "d"])
                defer { daemon.end() }
                try daemon.waitOnline()
                try withClient(broker.endpoint, name: "admin", filters: ["live/#", "geomatch/d/diagnostics/#"]) {
                    try exchange($0)
                }
                // Retained by the broker while the daemon is away: read when it comes back.
                #expect(daemon.program.end(SIGTERM) == 0)
                try withClient(broker.endpoint, name: "late", filters: ["live/#"]) { client in
                    client.publishAndWait(
                        "owntracks/joe/phone", #"{"_type":"location","lat":1,"lon":2,"tst":1700000000}"#, retain: true)
                    try daemon.restart()
                    _ = try client.first(on: "live/d/-/-/-/-/joe%2Fphone/position")
                }
            }
        }

        @Test("With users, a client that has a login may publish what adapters read")
        func users() throws {
            try withFolder { folder in
                let users = try Tool.passwordFile(["alice"], in: folder)
                try Self.file.write(toFile: folder + "/a.yaml", atomically: true, encoding: .utf8)
                let daemon = try Daemon(
                    folder: folder, arguments: ["--config", folder + "/a.yaml", "--datasets", "d", "--users", users])
                defer { daemon.end() }
                try daemon.waitOnline()
                try withClient(daemon.endpoint(user: "alice"), filters: ["live/#"]) { client in
                    client.publish("owntracks/alice/phone", #"{"_type":"location","lat":1,"lon":2}"#)
                    _ = try client.first(on: "live/d/-/-/-/-/alice%2Fphone/position")
                }
            }
        }

        @Test("A dataset of the store whose topics are an adapter's stops the start with 78, naming both")
        func dataset() throws {
            try withFolder { folder in
                let first = try Daemon(folder: folder, arguments: ["--datasets", "owntracks"])
                defer { first.end() }
                try first.waitOnline()
                #expect(first.program.end(SIGTERM) == 0)
                try Self.file.write(toFile: folder + "/a.yaml", atomically: true, encoding: .utf8)
                let second = try Daemon(folder: folder, port: first.port, arguments: ["--config", folder + "/a.yaml"])
                defer { second.end() }
                #expect(second.program.waitForExit(seconds: 40) == 78)
                #expect(second.log.contains("`owntracks/+/+/#`") && second.log.contains("`owntracks/#`"), "\(second.log)")
            }
        }
    }
}
