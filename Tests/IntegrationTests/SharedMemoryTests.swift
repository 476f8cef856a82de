import Foundation
import Testing
import Wire

extension Integration {
    @Suite("Live updates through memory and over MQTT")
    struct SharedMemory {
        /// What clients see of a conversation, of each topic in order, without what differs from run to run.
        private struct Transcript: Equatable {
            var lines: [String: [String]] = [:]

            init(_ messages: [Message]) {
                for message in messages { lines[message.topic, default: []].append(Self.line(message)) }
            }

            private static func line(_ message: Message) -> String {
                if message.payload.isEmpty { return "" }
                let json = message.json
                let parts: [JSONValue?] =
                    message.topic.hasSuffix("/reply")
                    ? [
                        json["requestId"], json["error"]?["error"], json["result"]?["id"],
                        json["result"]?["location"]?["latitude"],
                    ]
                    : [
                        json["topic"], json["properties"], json["error"], json["message"], json["event"],
                        json["subscription"]?["id"],
                    ]
                return parts.map { $0.map { String(decoding: $0.serialised(), as: UTF8.self) } ?? "-" }.joined(separator: " ")
            }
        }

        private func withDaemon(isShared: Bool, inputQoS: Int, _ body: (Daemon) throws -> Void) throws {
            try withFolder { folder in
                let file = folder + "/geomatchd.yaml"
                let text = """
                    live: {shared-memory: \(isShared), input-qos: \(inputQoS)}
                    adapters: [{filter: owntracks/+/+, format: owntracks, dataset: d}]
                    """
                try text.write(toFile: file, atomically: true, encoding: .utf8)
                let daemon = try Daemon(
                    folder: folder, arguments: ["--http", "off", "--datasets", "d", "--config", file, "--log-level", "info"])
                defer { daemon.end() }
                try daemon.waitOnline()
                #expect(daemon.log.contains("shared-memory=\(isShared)"))
                try body(daemon)
            }
        }

        @Test("The log warns of a mosquitto whose sockets the plugin leaves alone")
        func unknownBroker() throws {
            let warning = "packet by packet"
            try IntegrationTests.withDaemon(arguments: ["--datasets", "d"]) { daemon in
                try withClient(daemon.endpoint) { client in _ = try client.request("dataset/get") }
                #expect(!daemon.log.contains(warning))
            }
            try withFolder { folder in
                // What only a later mosquitto exports.
                let (source, library) = (folder + "/later.c", folder + "/later.so")
                try "void mosquitto_plugin_set_info(void) {}".write(toFile: source, atomically: true, encoding: .utf8)
                let compiler = try Program("/usr/bin/env", ["clang", "-shared", "-fPIC", "-fuse-ld=lld", source, "-o", library])
                try #require(compiler.waitForExit() == 0)
                try IntegrationTests.withDaemon(environment: ["LD_PRELOAD": library]) { daemon in
                    #expect(daemon.program.waitForLine(warning), "\(daemon.log)")
                }
            }
        }

        private func converse(isShared: Bool, inputQoS: Int) throws -> Transcript {
            var transcript = Transcript([])
            try withDaemon(isShared: isShared, inputQoS: inputQoS) { daemon in
                let filters = ["live/#", "geomatch/d/alice/match/#", "geomatch/d/diagnostics/#"]
                try withClient(daemon.endpoint, filters: filters) { client in
                    client.waitSubscribed()
                    client.publish("d/-/-/-/-/kept/count", #"{"count":1}"#, retain: true)
                    try client.request(
                        "device/create", ["deviceType": "PinDevice", "id": "pin", "location": ["latitude": 0, "longitude": 0]])
                    try client.request("device/create", ["deviceType": "MobileDevice", "id": "phone"])
                    try client.request(
                        "publication/create", ["id": "p", "deviceId": "pin", "topic": "t", "range": 5, "duration": 600])
                    // Without waiting: each request sees the position before it and none behind it, and each position the
                    // subscription before it.
                    for number in 1...40 {
                        let latitude = Double(number) / 10
                        client.publish("d/-/-/-/-/phone/position", #"{"lat":\#(latitude),"lon":1}"#)
                        client.send("device/get", ["id": "phone"], id: "get \(number)")
                        client.publish("d/v/b/f/r/x/count", #"{"count":\#(number)}"#)
                        client.publish("d/v/b/f/r/x/count", "")
                        client.publish("d/-/-/-/-/phone/position", #"{"lat":\#(latitude + 0.05),"lon":1}"#)
                        if number % 10 == 0 {
                            client.send(
                                "subscription/create",
                                [
                                    "id": .string("s\(number)"), "deviceId": "phone", "topic": "t", "range": 5, "duration": 600,
                                ], id: "subscribe \(number)")
                            client.publish("d/-/-/-/-/phone/position", #"{"lat":0,"lon":0}"#)
                            client.send("device/get", ["id": "phone"], id: "there \(number)")
                            client.publish("d/-/-/-/-/phone/position", #"{"lat":2,"lon":2}"#)
                            client.send("subscription/delete", ["id": .string("s\(number)")], id: "delete \(number)")
                        }
                    }
                    client.publish("d/too/few", "1")
                    client.publish("d/-/-/-/-/a/b/c/d", "1")
                    client.publish("d/-/-/-/-/bad/position", "{")
                    client.publish("d/-/-/-/-/large/x", String(repeating: "x", count: 70_000))
                    client.publish("new/-/-/-/-/first/count", #"{"count":7}"#)
                    client.publish("owntracks/me/car", #"{"_type":"location","lat":1,"lon":2,"tst":1700000000,"tid":"c"}"#)
                    client.publish("geomatch/d/alice/requests/device/list", "{}")
                    _ = try client.ask("device/get", ["id": "phone"])
                    _ = try client.first(on: "live/new/-/-/-/-/first/count")
                    client.wait { messages in messages.count { $0.topic.contains("/match/") } == 4 }
                    #expect(client.messages.count { $0.topic.contains("/match/") } == 4)
                    // Diagnostics of one topic are summed up each second, the rest is in order by now.
                    transcript = Transcript(client.messages.filter { !$0.json["requestId"].isRandom })
                }
                // Retained input counts once; a restarted daemon has its state, and takes up where it was.
                #expect(daemon.program.end(SIGTERM) == 0)
                try daemon.restart()
                try withClient(daemon.endpoint, filters: ["live/#"]) { client in
                    let kept = try client.first(on: "live/d/-/-/-/-/kept/count")
                    #expect(kept.json["properties"]?["count"]?.asInt64 == 1)
                    client.publish("d/-/-/-/-/kept/count", #"{"count":2}"#)
                    _ = try client.first(on: "live/d/-/-/-/-/kept/count") { $0.text.contains(#""count":2"#) }
                    #expect(try client.request("dataset/get")["id"]?.asString == "d")
                }
            }
            return transcript
        }

        @Test("While the daemon stands still the newest update of each topic is kept, and requests wait")
        func full() throws {
            try withDaemon(isShared: true, inputQoS: 0) { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/d/status"]) { client in
                    client.waitSubscribed()
                    try client.request("dataset/get")
                    kill(daemon.program.processID, SIGSTOP)
                    defer { kill(daemon.program.processID, SIGCONT) }
                    // Twice what fits.
                    let text = String(repeating: "x", count: 60_000)
                    let (topics, rounds) = (10, 110)
                    for round in 1...rounds {
                        for topic in 0..<topics {
                            client.publish("d/-/-/-/-/\(topic)/note", #"{"round":\#(round),"text":"\#(text)"}"#)
                        }
                    }
                    client.send("device/list", [:], id: "waiting")
                    client.publishAndWait("d/-/-/-/-/last/note", #"{"round":0}"#)
                    kill(daemon.program.processID, SIGCONT)
                    #expect(client.reply(to: "waiting")?["result"] != nil)
                    let status = try client.first(on: "geomatch/d/status") {
                        $0.json["updates"]?["received"]?.asInt64 == Int64(topics * rounds + 1)
                    }
                    let updates = status.json["updates"]
                    let conflated = updates?["conflated"]?.asInt64 ?? 0
                    #expect(conflated > 300 && updates?["accepted"]?.asInt64 == Int64(topics * rounds + 1) - conflated)
                    for topic in 0..<topics {
                        let state = try client.request(
                            "live/snapshot", ["criteria": .string("d/-/-/-/-/\(topic)/note")])
                        let round = state["updates"]?.asArray?.first?["properties"]?["round"]?.asInt64
                        #expect(round == Int64(rounds), "\(topic)")
                    }
                }
            }
        }

        @Test("A conversation with requests between updates looks the same to its clients", arguments: [0, 1])
        func conversation(inputQoS: Int) throws {
            let shared = try converse(isShared: true, inputQoS: inputQoS)
            let sent = try converse(isShared: false, inputQoS: inputQoS)
            #expect(shared.lines.keys.sorted() == sent.lines.keys.sorted())
            for (topic, lines) in shared.lines { #expect(lines == sent.lines[topic], "\(topic)") }
            let replies = shared.lines["geomatch/d/alice/reply"] ?? []
            for number in 1...40 {
                let expected = #""get \#(number)" - "phone" \#(Double(number) / 10)"#
                #expect(
                    replies.contains { $0.hasPrefix(expected) || $0 == #""get \#(number)" - "phone" \#(number / 10)"# },
                    "\(expected)")
            }
        }
    }
}

extension JSONValue? {
    /// Of a request whose id the client made.
    fileprivate var isRandom: Bool { self?.asString.map { UUID(uuidString: $0) != nil } ?? false }
}
