import Foundation
import GeomatchClient
import struct GeomatchClient.LiveUpdate
import Testing
import Wire

extension Integration {
    /// A day of a building, followed in five ways while everything is killed.
    @Suite("Live data, seen working")
    struct LiveDemo {
        /// The client beside the tests.
        static let geomatch = Bundle.module.bundleURL.deletingLastPathComponent().appendingPathComponent("geomatch").path

        /// The example of the client library beside the tests.
        static let example = Bundle.module.bundleURL.deletingLastPathComponent().appendingPathComponent("geomatch-example").path

        /// What a reader knows in the end: the message of each topic.
        private func state(_ messages: some Sequence<JSONValue>) -> [String: String] {
            var state: [String: String] = [:]
            for message in messages {
                guard let topic = message["topic"]?.asString else { continue }
                state[topic] = message["left"] == true || message["cleared"] == true ? nil : message.line
            }
            return state
        }

        private func native(_ client: Client) -> [String: String] {
            var state: [String: String] = [:]
            for message in client.messages where message.topic.hasPrefix("live/") {
                let topic = String(message.topic.dropFirst(5))
                state[topic] = message.payload.isEmpty ? nil : message.json.line
            }
            return state
        }

        private func snapshot(_ client: Client, _ criteria: String) throws -> [String: String] {
            var updates: [JSONValue] = []
            var after: JSONValue?
            repeat {
                var parameters: JSONObject = ["criteria": .string(criteria)]
                parameters["after"] = after
                let page = try client.request("live/snapshot", .object(parameters))
                updates += page["updates"]?.asArray ?? []
                after = page["next"]
            } while after != nil
            return state(updates)
        }

        /// What tells one update of a topic from another, of which the client library and the snapshot both know.
        private func brief(_ updates: [LiveUpdate]) -> [String: String] {
            Dictionary(
                updates.map {
                    (
                        $0.topic.encoded,
                        "\($0.itemID) \(Int64(($0.timestamp.timeIntervalSince1970 * 1000).rounded())) \($0.properties.count)"
                    )
                },
                uniquingKeysWith: { $1 })
        }

        private func brief(_ updates: [String: String]) throws -> [String: String] {
            try updates.mapValues {
                let update = try JSONValue.parse($0)
                let count = update["properties"]?.asObject?.members.count ?? 0
                return "\(update["itemId"]?.asString ?? "") \(update["timestamp"]?.line ?? "") \(count)"
            }
        }

        @Test(
            "Through kills of broker and daemon, live/…, a managed subscription, `watch live`, GeomatchClient and its example end with the same floor"
        )
        func seenWorking() async throws {
            let floor = "d/hq/main/0/#"
            try await withDaemon(arguments: ["--datasets", "d"]) { daemon in
                let url = "mqtt://127.0.0.1:\(daemon.port)"
                let options = ["--broker", url, "--dataset", "d"]
                let watching = try Program(Self.geomatch, options + ["watch", "live", floor, "--json"])
                defer { watching.end() }
                try #require(watching.waitForLine("Ctrl-C ends"), "\(watching.lines)")
                let example = try Program(
                    Self.example, options + ["--venue", "hq", "--building", "main", "--floor", "0"])
                defer { example.end() }
                try #require(example.waitForLine("subscribed"), "\(example.lines)")
                let manager = try LiveDataManager(broker: url, dataset: "d", client: "swift")
                let subscription = try await manager.subscribe(to: LiveCriteria().venue("hq").building("main").floor("0"))
                let library = { brief(manager.current(of: subscription)) }
                try withClient(
                    daemon.endpoint, filters: ["live/\(floor)", "geomatch/d/alice/live/floor"]
                ) { client in
                    let subscription: JSONValue = ["id": "floor", "criteria": .string(floor), "qos": 1]
                    try client.request("live/subscribe", subscription)
                    let demo = try Program(
                        Self.geomatch,
                        options + ["demo", "building", "--people", "8", "--floors", "2", "--seed", "4", "--speed", "3000"])
                    defer { demo.end() }
                    try #require(demo.waitForLine("shows it, Ctrl-C ends"), "\(demo.lines)")
                    try #require(client.wait { $0.count { $0.topic.hasSuffix("/position") } > 50 })
                    daemon.program.end(SIGKILL)
                    try daemon.restart()
                    client.waitSubscribed(times: 2)
                    let process = try #require(daemon.brokerProcessID)
                    kill(process, SIGKILL)
                    try daemon.waitOnline(times: 2)
                    #expect(demo.waitForExit(seconds: 60) == 0, "\(demo.lines)")
                    #expect(demo.lines.last?.contains("the day is over") == true)
                    #expect(demo.lines.last?.contains("connection lost") == true)
                    // Taken up again as a client does: what it missed comes with the snapshot.
                    let known = client.messages.count
                    try client.request("live/subscribe", subscription)
                    let expected = try snapshot(client, floor)
                    #expect(expected.count > 40)
                    let isNativeRight = eventually { native(client) == expected }
                    #expect(isNativeRight, "live/… has \(native(client).count) topics, the snapshot \(expected.count)")
                    let isManagedRight = eventually {
                        state(client.messages.dropFirst(known).filter { $0.topic.hasSuffix("/live/floor") }.map(\.json))
                            == expected
                    }
                    #expect(isManagedRight, "the managed subscription ended with another floor")
                    let watched = { state(watching.lines.compactMap { try? JSONValue.parse($0) }) }
                    let isWatchRight = eventually { watched() == expected }
                    #expect(isWatchRight, "watch live ended with \(watched().count) topics, the snapshot with \(expected.count)")
                    let inBrief = try brief(expected)
                    let isLibraryRight = eventually { library() == inBrief }
                    #expect(
                        isLibraryRight, "GeomatchClient ended with \(library().count) topics, the snapshot with \(expected.count)"
                    )
                    #expect(manager.state == .connected && manager.subscriptions.count == 1)
                    // One row a topic at least, and the daemon's and the broker's ends reported between them.
                    let rows = example.lines
                    #expect(rows.count > expected.count)
                    #expect(rows.count { $0.contains("connection") } > 2)
                    // A client that goes leaves no subscription behind.
                    for (program, name) in [(watching, "cli"), (example, "example")] {
                        #expect(program.end(SIGINT) == 0)
                        try withClient(daemon.endpoint, name: name) { other in
                            let list = try other.request("live/list")
                            #expect(list["subscriptions"]?.asArray?.isEmpty == true, "\(name)")
                        }
                    }
                }
            }
        }
    }
}
