import Foundation
import GeomatchClient
import SeededRandom
import Testing
import Wire

extension Integration {
    /// Replicas in files, through kills of everything.
    @Suite("Offline and back")
    struct Sync {
        private static let geomatch = Bundle.module.bundleURL.deletingLastPathComponent().appendingPathComponent("geomatch").path

        @Test("A replica that was offline all the while has in the end what one has that was killed on and on, and the daemon")
        func converge() throws {
            var random = SplitMix64.forTest("converge")
            try withDaemon(arguments: ["--datasets", "d"]) { daemon in
                let options = ["--broker", "mqtt://127.0.0.1:\(daemon.port)", "--dataset", "d", "--client", "me"]
                func sync(_ file: String, _ more: [String] = []) throws -> Program {
                    try Program(Self.geomatch, options + ["sync", "\(daemon.folder)/\(file).sqlite"] + more)
                }
                let away = try OfflineStore(
                    file: URL(fileURLWithPath: daemon.folder + "/away.sqlite"), dataset: "d", client: "me")
                var connected = try sync("connected")
                defer { connected.end() }
                try #require(connected.waitForLine("idle"), "\(connected.lines)")
                for round in 0..<3 {
                    try away.put(["text": .string("away \(round)")], type: "note", id: "both")
                    for index in 0..<40 { try away.put(["round": .integer(Int64(round))], type: "note", id: "away-\(index)") }
                    let client = try Client(daemon.endpoint, name: "me")
                    client.waitSubscribed()
                    try client.request(
                        "device/create",
                        ["deviceType": "PinDevice", "id": .string("pin-\(round)"), "location": ["lat": 1, "lon": 1]])
                    if round > 0 { try client.request("device/delete", ["id": .string("pin-\(round - 1)")]) }
                    let notes = (0..<200).map { index -> JSONValue in
                        [
                            "id": .string("note-\(index)"), "type": "note", "revision": .string("\(round + 1)-\(index)"),
                            "parent": round > 0 ? .string("\(round)-\(index)") : .null,
                        ]
                    }
                    try client.request("changes/push", ["docs": .array(notes)])
                    try client.request(
                        "changes/push",
                        ["docs": [["id": "both", "type": "note", "revision": .string("\(round + 1)-here"), "text": "here"]]])
                    client.stop()
                    usleep(UInt32.random(in: 0...50_000, using: &random))
                    connected.end(SIGKILL)
                    connected = try sync("connected")
                    usleep(UInt32.random(in: 0...50_000, using: &random))
                    daemon.program.end(SIGKILL)
                    try daemon.restart()
                }
                #expect(try away.count() == 0)
                // Back from where there was no network, and killed on the way.
                let returning = try sync("away")
                usleep(UInt32.random(in: 50_000...150_000, using: &random))
                returning.end(SIGKILL)
                let back = try sync("away", ["--once"])
                #expect(back.waitForExit() == 0, "\(back.lines)")
                connected.end(SIGTERM)
                _ = connected.waitForExit()
                let caughtUp = try sync("connected", ["--once"])
                #expect(caughtUp.waitForExit() == 0, "\(caughtUp.lines)")
                // One more turn tells who was back first what the other brought.
                #expect(try sync("away", ["--once"]).waitForExit() == 0)
                let shown = try ["connected", "away"].map { file in
                    try ["note", "device"].flatMap { type -> [String] in
                        let program = try sync(file, ["--show", type])
                        #expect(program.waitForExit() == 0)
                        return program.lines
                    }
                }
                #expect(shown[0] == shown[1])
                let lines = shown[0].filter { $0.hasPrefix("{") }
                #expect(lines.count == 200 + 40 + 1 + 1, "\(lines.count)")
                #expect(lines.filter { $0.contains(#""id":"pin-"#) }.count == 1)
                // The same is in the feed.
                let client = try Client(daemon.endpoint, name: "me")
                client.waitSubscribed()
                var revisions: Set<String> = []
                var since: JSONValue = 0
                while true {
                    let page = try client.request("changes/get", ["since": since])
                    for row in page["rows"]?.asArray ?? [] where row["deleted"] != true {
                        revisions.insert("\(row["id"]?.asString ?? "") \(row["revision"]?.asString ?? "")")
                    }
                    since = page["last"] ?? 0
                    guard page["more"] == true else { break }
                }
                client.stop()
                let replicated = lines.compactMap { try? JSONValue.parse($0) }.map {
                    "\($0["id"]?.asString ?? "") \($0["revision"]?.asString ?? "")"
                }
                #expect(Set(replicated) == revisions)
            }
        }

        @Test("`watch changes` tells each change once, over a restart of the daemon")
        func watch() throws {
            try withDaemon(arguments: ["--datasets", "d"]) { daemon in
                let options = ["--broker", "mqtt://127.0.0.1:\(daemon.port)", "--dataset", "d"]
                let client = try Client(daemon.endpoint)
                client.waitSubscribed()
                try client.request("changes/push", ["docs": [["id": "n", "type": "note", "revision": "1-a"]]])
                let watching = try Program(Self.geomatch, options + ["watch", "changes", "--since", "0"])
                defer { watching.end() }
                try #require(watching.waitForLine("1 note n 1-a"), "\(watching.lines)")
                try client.request(
                    "changes/push", ["docs": [["id": "n", "type": "note", "revision": "2-b", "parent": "1-a", "deleted": true]]])
                try #require(watching.waitForLine("2 note n 2-b deleted"), "\(watching.lines)")
                daemon.program.end(SIGKILL)
                try daemon.restart()
                client.stop()
                let second = try Client(daemon.endpoint)
                second.waitSubscribed()
                try second.request("changes/push", ["docs": [["id": "o", "type": "note", "revision": "1-c"]]])
                try #require(watching.waitForLine("3 note o 1-c"), "\(watching.lines)")
                second.stop()
                watching.end(SIGINT)
                #expect(
                    watching.waitForExit() == 0 && watching.lines.filter { $0.contains(" note ") }.count == 3, "\(watching.lines)"
                )
            }
        }
    }
}
