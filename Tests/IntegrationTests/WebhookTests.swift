import Foundation
import Loopback
import SeededRandom
import Testing
import WebhookReceiver
import Wire

extension Integration {
    @Suite("Webhooks")
    struct Webhooks {
        /// Waits until the subscription's counters say that so many matches are with everyone they are for.
        private func waitDelivered(_ client: Client, _ id: String, _ count: Int, seconds: Double = 60) throws {
            let isDelivered = try eventually(seconds: seconds) {
                let delivery = try client.request("subscription/get", ["id": .string(id)])["delivery"]
                return delivery?["delivered"]?.asInt64 == Int64(count) && delivery?["pending"]?.asInt64 == 0
            }
            let subscription = try client.request("subscription/get", ["id": .string(id)]).line
            #expect(isDelivered, "\(subscription)")
        }

        private func publish(_ client: Client, count: Int) throws {
            for number in 0..<count {
                try client.request(
                    "publication/create",
                    [
                        "deviceId": "pin", "topic": "news", "range": 10, "duration": 1_000_000, "id": .string("p\(number)"),
                        "properties": ["n": 1],
                    ])
            }
        }

        @Test("An endpoint that fails half of the time gets each match at least once, under the id that the match topic has")
        func failingEndpoint() throws {
            try withDaemon { daemon in
                try withHook(failures: 50, random: SplitMix64.forTest("failingEndpoint")) { hook in
                    try withClient(daemon.endpoint, filters: ["geomatch/d/alice/match/#"]) { client in
                        try CrashLoad.prepare(client, ["pushers": [.string(hook.url)], "secret": "s"])
                        try publish(client, count: 25)
                        try waitDelivered(client, "reader", 25)
                        let reported = client.messages(on: "geomatch/d/alice/match/pin/reader").map(\.json)
                        #expect(reported.count == 25)
                        for match in reported {
                            let publication = try #require(match["publication"]?["id"]?.asString)
                            #expect(hook.matches[publication]?.ids == [match["id"]?.asString ?? ""])
                        }
                        let delivery = try client.request("subscription/get", ["id": "reader"])["delivery"]
                        #expect((delivery?["retried"]?.asInt64 ?? 0) > 0)
                    }
                }
            }
        }

        @Test("A dead endpoint beside it delays nothing, and what is for it waits")
        func deadNeighbour() throws {
            let silent = try WebhookReceiver { _ in .silence }
            defer { silent.stop() }
            try withDaemon { daemon in
                try withHook(random: SplitMix64.forTest("deadNeighbour")) { hook in
                    try withClient(daemon.endpoint) { client in
                        try CrashLoad.prepare(client, ["pushers": [.string(hook.url)]])
                        for (id, port) in [("closed", Loopback.freePort()), ("silent", silent.port)] {
                            try client.request(
                                "subscription/create",
                                [
                                    "deviceId": "pin", "id": .string(id), "topic": "news", "range": 10, "duration": 1_000_000,
                                    "pushers": [.string("http://127.0.0.1:\(port)/hook")],
                                ])
                        }
                        try publish(client, count: 100)
                        try waitDelivered(client, "reader", 100, seconds: 10)
                        #expect(hook.posts == 100 && hook.matches.count == 100)
                        for id in ["closed", "silent"] {
                            let delivery = try client.request("subscription/get", ["id": .string(id)])["delivery"]
                            #expect(delivery?["pending"]?.asInt64 == 100 && delivery?["delivered"]?.asInt64 == 0)
                        }
                    }
                }
            }
        }

        @Test(
            "Matches for an endpoint that was away come after kill -9 and a restart, under the same ids; a clean end keeps them too"
        )
        func restart() throws {
            try withDaemon { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/d/alice/match/#"], session: "reader") { client in
                    let port = Loopback.freePort()
                    try CrashLoad.prepare(client, ["pushers": [.string("http://127.0.0.1:\(port)/hook")]])
                    try publish(client, count: 20)
                    daemon.program.end(SIGKILL)
                    try daemon.restart()
                    #expect(daemon.program.end(SIGTERM) == 0)
                    try withHook(port: port, random: SplitMix64.forTest("restart")) { hook in
                        try daemon.restart()
                        try withClient(daemon.endpoint) { try waitDelivered($0, "reader", 20) }
                        let topic = "geomatch/d/alice/match/pin/reader"
                        #expect(client.wait { $0.count { $0.topic == topic } >= 20 })
                        for match in client.messages(on: topic).map(\.json) {
                            let publication = try #require(match["publication"]?["id"]?.asString)
                            #expect(hook.matches[publication]?.ids == [match["id"]?.asString ?? ""])
                        }
                        #expect(hook.matches.count == 20)
                    }
                }
            }
        }

        @Test("Without the operator's leave no private address is posted to, whatever its name")
        func privateAddresses() throws {
            try withDaemon(arguments: ["--webhooks-allow-private", "false"]) { daemon in
                try withHook(random: SplitMix64.forTest("privateAddresses")) { hook in
                    try withClient(daemon.endpoint, filters: ["geomatch/d/alice/match/#"]) { client in
                        try CrashLoad.prepare(client)
                        let port = hook.url.split(separator: ":").last ?? ""
                        func subscribe(_ host: String) throws -> JSONValue {
                            try client.ask(
                                "subscription/create",
                                [
                                    "deviceId": "pin", "id": .string(host), "topic": "news", "range": 10, "duration": 1_000_000,
                                    "pushers": [.string("http://\(host):\(port)")],
                                ])
                        }
                        for host in ["127.0.0.1", "localhost", "[::1]", "2130706433", "10.0.0.1", "169.254.169.254"] {
                            let error = try subscribe(host)["error"]
                            #expect(
                                error?["error"]?.asString == "invalid" && error?["field"]?.asString?.hasPrefix("pushers") == true)
                        }
                        // What a name leads to is seen when it is connected to.
                        let name = ProcessInfo.processInfo.hostName
                        #expect(try subscribe(name)["result"] != nil)
                        try publish(client, count: 1)
                        let isDropped = try eventually {
                            let delivery = try client.request("subscription/get", ["id": .string(name)])["delivery"]
                            return delivery?["dropped"]?.asInt64 == 1 && delivery?["pending"]?.asInt64 == 0
                        }
                        #expect(isDropped)
                        #expect(hook.posts == 0)
                    }
                }
            }
        }
    }
}
