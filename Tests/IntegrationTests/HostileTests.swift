import Foundation
import SeededRandom
import Testing
import Wire

extension Integration {
    @Suite("Hostile input over MQTT")
    struct Hostile {
        /// Waits until the daemon has handled everything sent before.
        private func fence(_ client: Client) throws { _ = try client.ask("device/list") }

        /// Random bytes on all entrances; `rounds` times a hundred messages.
        private func rubbish(_ client: Client, rounds: Int, _ random: inout SplitMix64) throws {
            let topics = [
                "d/-/-/-/-/x/position", "d/a/b/c/d/e/occupancy", "d/a/b", "d/1/2/3/4/5/6/7/8",
                "geomatch/d/alice/request/device/create",
                "geomatch/d/alice/request", "geomatch/d//request/x/y", "geomatch/d/status/request/device/list",
                "other/-/-/-/-/x/proximity",
                "d/%41/-/-/-/x/position", "d/%GG/-/-/-/x/count", "geomatch/d/alice/request/subscription/create",
            ]
            let seeds = [
                #"{"latitude":1,"longitude":2,"timestamp":99999999999999999999}"#,
                #"{"deviceType":"PinDevice","location":{"latitude":1e999}}"#,
                #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}"#,
                #"{"selector":"((((a=1","topic":"t","range":1e308}"#,
            ].map { Array($0.utf8) }
            for _ in 0..<rounds {
                for _ in 0..<100 {
                    var payload: [UInt8]
                    if Bool.random(using: &random) {
                        payload = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                            UInt8.random(in: 0...255, using: &random)
                        }
                    } else {
                        payload = seeds[Int.random(in: 0..<seeds.count, using: &random)]
                        for _ in 0..<Int.random(in: 0...4, using: &random) {
                            payload[Int.random(in: 0..<payload.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                        }
                    }
                    client.publish(topics[Int.random(in: 0..<topics.count, using: &random)], payload, qos: 0)
                }
                try fence(client)
            }
        }

        @Test("Rubbish at every entrance never stops the daemon or makes its memory grow, and diagnostics stay bounded")
        func rubbish() throws {
            var random = SplitMix64.forTest("rubbish")
            try withDaemon(arguments: ["--datasets", "d"]) { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/+/diagnostics/#"]) { client in
                    try rubbish(client, rounds: 20, &random)
                    let before = daemon.program.residentBytes
                    client.forgetMessages()
                    let began = Date()
                    try rubbish(client, rounds: 80, &random)
                    let seconds = Date().timeIntervalSince(began)
                    let diagnostics = client.messages.count { $0.topic.contains("/diagnostics/") }
                    // A hundred and one a second for each of two datasets.
                    #expect(Double(diagnostics) <= 202 * (seconds + 2))
                    #expect(
                        daemon.program.residentBytes < before + 16 << 20, "\(before) bytes became \(daemon.program.residentBytes)"
                    )
                }
            }
        }

        @Test("Payloads of up to a megabyte get an answer, larger ones end their sender's connection alone")
        func large() throws {
            try withDaemon(arguments: ["--datasets", "d"]) { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/d/diagnostics/update"]) { client in
                    let filling = String(repeating: "x", count: 1_000_000)
                    client.publish(
                        "geomatch/d/alice/request/device/create", #"{"requestId":"big","name":"\#(filling)"}"#)
                    let reply = try #require(client.reply(to: "big"))
                    #expect(reply["error"]?["error"]?.asString == "tooLarge")
                    client.publish("d/-/-/-/-/x/position", #"{"lat":1,"lon":1,"x":"\#(filling)"}"#)
                    let diagnostic = try client.first(on: "geomatch/d/diagnostics/update").json
                    #expect(
                        diagnostic["error"]?.asString == "tooLarge" && diagnostic["topic"]?.asString == "d/-/-/-/-/x/position")
                    let before = daemon.program.residentBytes
                    for _ in 0..<20 { client.publish("d/-/-/-/-/x/position", String(repeating: "[", count: 1 << 20), qos: 0) }
                    client.send("device/list", [:], id: "after")
                    #expect(client.reply(to: "after") != nil)
                    #expect(
                        daemon.program.residentBytes < before + 64 << 20, "\(before) bytes became \(daemon.program.residentBytes)"
                    )
                    let deep = String(repeating: #"{"a":"#, count: 100_000) + "1" + String(repeating: "}", count: 100_000)
                    client.publish("geomatch/d/alice/request/device/create", deep)
                    let refused = try client.first(on: "geomatch/d/alice/reply") {
                        $0.json["requestId"] == nil && $0.json["error"] != nil
                    }
                    #expect(["invalid", "tooLarge"].contains(refused.json["error"]?["error"]?.asString ?? ""))
                    try withClient(daemon.endpoint, name: "flood", version: 4) { flood in
                        flood.publish("geomatch/d/flood/request/device/create", String(repeating: "x", count: 3 << 20))
                        #expect(flood.waitDisconnected())
                    }
                    try fence(client)
                    #expect(!daemon.log.contains("connection lost"))
                }
            }
        }

        @Test("Ten thousand topics that are refused leave no state and no memory behind")
        func manyTopics() throws {
            try withDaemon(arguments: ["--datasets", "d"]) { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/d/diagnostics/update", "live/#"]) { client in
                    func flood(_ from: Int) throws {
                        for number in from..<(from + 10_000) {
                            client.publish("d/-/-/-/-/thing-\(number)/position", #"{"lat":91,"lon":1}"#, qos: 0)
                            if number.isMultiple(of: 1000) { try fence(client) }
                        }
                        try fence(client)
                    }
                    try flood(0)
                    let before = daemon.program.residentBytes
                    try flood(10_000)
                    #expect(
                        daemon.program.residentBytes < before + 8 << 20, "\(before) bytes became \(daemon.program.residentBytes)")
                    #expect(client.wait(seconds: 5) { $0.contains { $0.json["topic"]?.asString == "#" } }, "the rest is summed")
                    #expect(!client.messages.contains { $0.topic.hasPrefix("live/") })
                    let devices = try client.request("device/list")["devices"]?.asArray
                    #expect(devices?.isEmpty == true)
                }
            }
        }
    }
}
