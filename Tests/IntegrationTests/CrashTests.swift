import Foundation
import SeededRandom
import Testing
import Wire

extension Integration {
    /// Killed at any moment, nothing that was acknowledged is lost.
    @Suite("kill -9 under load")
    struct Crashes {
        @Test("A daemon killed with -9 again and again keeps every acknowledged request and delivers every match, under one id")
        func daemonKilled() throws {
            var random = SplitMix64.forTest("daemonKilled")
            try withDaemon { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/d/alice/match/#"], session: "reader") { client in
                    try CrashLoad.prepare(client)
                    let load = CrashLoad(client)
                    load.start()
                    for _ in 0..<5 {
                        #expect(load.advance(by: Int.random(in: 1...120, using: &random)))
                        usleep(UInt32.random(in: 0...20_000, using: &random))
                        daemon.program.end(SIGKILL)
                        try daemon.restart()
                    }
                    #expect(load.advance(by: 20))
                    try load.check()
                }
            }
        }

        @Test("The last will says offline when the daemon is killed, and online comes back with it")
        func lastWill() throws {
            try withDaemon { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/status"]) { client in
                    let online = try client.first(on: "geomatch/status").json
                    #expect(online["state"]?.asString == "online")
                    daemon.program.end(SIGKILL)
                    let offline = try client.first(on: "geomatch/status") { $0.json["state"]?.asString == "offline" }.json
                    #expect(offline["instance"] == online["instance"] && offline["startedAt"] == online["startedAt"])
                    client.forgetMessages()
                    try daemon.restart()
                    let again = try client.first(on: "geomatch/status") { $0.json["state"]?.asString == "online" }.json
                    #expect(again["instance"] == online["instance"] && again["startedAt"] != online["startedAt"])
                }
            }
        }

        @Test("A mosquitto killed with -9 comes back, with every retained state right and every match delivered")
        func brokerKilled() throws {
            var random = SplitMix64.forTest("brokerKilled")
            try withDaemon { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/d/alice/match/#"], session: "reader") { client in
                    try CrashLoad.prepare(client)
                    // The reader's session is in the broker's memory on disk before the first crash.
                    #expect(eventually { access(daemon.folder + "/data/embedded-broker/memory/mosquitto.db", F_OK) == 0 })
                    let load = CrashLoad(client)
                    load.start()
                    // What a broker had acknowledged and not yet sent dies with it. It sends at QoS 0 before it acknowledges, so this
                    // one, which itself says nothing that could be cut off, sees what came before each crash; the reader, the rest.
                    let filters = ["live/#", "geomatch/d/alice/match/#"]
                    try withClient(daemon.endpoint, name: "watcher", filters: filters, qos: 0, readsReplies: false) { watcher in
                        for round in 1...3 {
                            for thing in 0..<40 {
                                client.publish("d/-/-/-/\(thing)/-/count", #"{"count":\#(round * 100 + thing)}"#)
                            }
                            #expect(load.advance(by: Int.random(in: 1...60, using: &random)))
                            let process = try #require(daemon.brokerProcessID)
                            kill(process, SIGKILL)
                            try daemon.waitOnline(times: round + 1)
                            #expect(daemon.brokerProcessID != process)
                        }
                        #expect(load.advance(by: 20))
                        try load.check(watcher: watcher)
                        try checkRetained(daemon, watcher)
                    }
                }
                #expect(daemon.log.contains("warning mosquitto"))
            }
        }

        /// What the broker retains is the last that the daemon said of each topic.
        private func checkRetained(_ daemon: Daemon, _ watcher: Client) throws {
            func last(_ messages: [Message]) -> [String: String] {
                Dictionary(messages.map { ($0.topic, $0.text) }) { $1 }.filter { !$0.value.isEmpty }
            }
            let said = last(watcher.messages.filter { $0.topic.hasPrefix("live/") })
            #expect(said.count == 40 + CrashLoad.standing)
            let isRight = try eventually {
                try withClient(daemon.endpoint, name: "late", filters: ["live/#"], readsReplies: false) { late in
                    late.wait(seconds: 2) { $0.count >= said.count }
                    return late.messages.allSatisfy(\.retain) && last(late.messages) == said
                }
            }
            #expect(isRight, "the broker retains other states than the daemon has")
        }

        @Test(
            "Live state of the last second may be lost with the daemon, older state comes back and a replayed old one never wins")
        func liveStateReturns() throws {
            try withDaemon { daemon in
                try withClient(daemon.endpoint, filters: ["live/#", "geomatch/d/status"]) { client in
                    client.publish("d/-/-/-/hall/-/temperature", #"{"temperature":21,"timestamp":1700000000000}"#, retain: true)
                    client.publish("d/-/-/-/hall/-/occupancy", #"{"nrOfPeople":3}"#)
                    client.publish("d/-/-/-/gone/-/count", #"{"count":3}"#)
                    client.publish("d/-/-/-/gone/-/count", "")
                    _ = try client.first(on: "live/d/-/-/-/gone/-/count") { $0.payload.isEmpty }
                    client.publish("d/-/-/-/hall/-/temperature", #"{"temperature":22,"timestamp":1700000001000}"#)
                    _ = try client.first(on: "live/d/-/-/-/hall/-/temperature") { $0.text.contains(":22") }
                    // Live state is written behind, in order.
                    #expect(eventually { daemon.hasStored(#""temperature":22"#) })
                    daemon.program.end(SIGKILL)
                    // Its mosquitto ends with it.
                    _ = eventually { daemon.brokerProcessID == nil }
                    // The broker's memory is gone as well: only the daemon's store knows.
                    unlink(daemon.folder + "/data/embedded-broker/memory/mosquitto.db")
                    try daemon.restart()
                    client.waitSubscribed(times: 2)
                    try withClient(daemon.endpoint, name: "late", filters: ["live/#"]) { late in
                        _ = try late.first(on: "live/d/-/-/-/hall/-/temperature") { $0.text.contains(":22") }
                        _ = try late.first(on: "live/d/-/-/-/hall/-/occupancy") { $0.text.contains(":3") }
                        let clearedStates = late.messages(on: "live/d/-/-/-/gone/-/count").filter { !$0.payload.isEmpty }
                        #expect(clearedStates.isEmpty)
                    }
                }
            }
        }
    }
}
