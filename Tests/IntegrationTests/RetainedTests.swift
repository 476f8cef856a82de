import Foundation
import Testing
import Wire

extension Integration {
    @Suite("Live state")
    struct LiveState {
        private func fence(_ client: Client) throws { _ = try client.ask("dataset/get") }

        @Test("An empty payload clears a state, its retained message, and where the device stands")
        func cleared() throws {
            try withDaemon { daemon in
                try withClient(daemon.endpoint, filters: ["live/#", "geomatch/d/alice/match/#"]) { client in
                    try client.request(
                        "device/create", ["deviceType": "PinDevice", "id": "pin", "location": ["latitude": 0, "longitude": 180]])
                    client.publish("d/v/b/f/r/phone/position", #"{"lat":0,"lon":-180}"#, retain: true)
                    _ = try client.first(on: "live/d/v/b/f/r/phone/position")
                    client.publish("d/v/b/f/r/phone/position", "", retain: true)
                    _ = try client.first(on: "live/d/v/b/f/r/phone/position") { $0.payload.isEmpty }
                    try client.request("publication/create", ["deviceId": "phone", "topic": "t", "range": 5, "duration": 60])
                    try client.request("subscription/create", ["deviceId": "pin", "topic": "t", "range": 5, "duration": 60])
                    try fence(client)
                    #expect(!client.messages.contains { $0.topic.contains("/match/") })
                    // A device has one position: on another topic it clears the former.
                    client.publish("d/v/b/f/r2/phone/position", #"{"lat":1,"lon":1}"#)
                    client.publish("d/v/b/f/r3/phone/position", #"{"lat":0,"lon":-180}"#)
                    _ = try client.first(on: "live/d/v/b/f/r2/phone/position") { $0.payload.isEmpty }
                    client.wait { $0.contains { $0.topic.contains("/match/") } }
                    #expect(client.messages.count { $0.topic.contains("/match/") } == 1)
                    try withClient(daemon.endpoint, name: "late", filters: ["live/#"]) { late in
                        _ = try late.first(on: "live/d/v/b/f/r3/phone/position")
                        try fence(late)
                        #expect(late.messages.count { $0.topic.hasSuffix("/phone/position") } == 1)
                    }
                }
            }
        }

        @Test("What the broker replays counts only where nothing or something older is known, and never as a request")
        func replayed() throws {
            try withFolder { folder in
                let broker = Broker(folder: folder)
                defer { broker.end() }
                try broker.start()
                try withClient(broker.endpoint, filters: ["live/#", "geomatch/d/alice/reply"]) { client in
                    client.publish("d/-/-/-/new/-/count", #"{"count":1}"#, retain: true)
                    client.publish(
                        "geomatch/d/alice/request/device/create",
                        #"{"deviceType":"MobileDevice","id":"ghost","requestId":"old"}"#,
                        retain: true)
                    client.publishAndWait("d/-/-/-/known/-/count", #"{"count":1,"timestamp":1700000000000}"#, retain: true)
                    let daemon = try Daemon(folder: folder, broker: broker.url, arguments: ["--datasets", "d"])
                    defer { daemon.end() }
                    try daemon.waitOnline()
                    _ = try client.first(on: "live/d/-/-/-/new/-/count")
                    _ = try client.first(on: "live/d/-/-/-/known/-/count")
                    // Newer, and not retained: the next connection replays what is older by now.
                    client.publish("d/-/-/-/known/-/count", #"{"count":2,"timestamp":1700000001000}"#)
                    _ = try client.first(on: "live/d/-/-/-/known/-/count") { $0.text.contains(#""count":2"#) }
                    client.publish("d/-/-/-/new/-/count", #"{"count":2}"#)
                    _ = try client.first(on: "live/d/-/-/-/new/-/count") { $0.text.contains(#""count":2"#) }
                    #expect(daemon.program.end(SIGTERM) == 0)
                    try daemon.restart()
                    #expect(try client.refusal("device/get", ["id": "ghost"]) == "notFound")
                    try withClient(broker.endpoint, name: "late", filters: ["live/#"]) { late in
                        for item in ["new", "known"] {
                            let state = try late.first(on: "live/d/-/-/-/\(item)/-/count")
                            #expect(state.json["properties"]?["count"]?.asInt64 == 2)
                        }
                    }
                    #expect(client.reply(to: "old", seconds: 0) == nil)
                }
            }
        }
    }
}
