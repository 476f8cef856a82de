import Foundation
import Testing
import Wire

extension Integration {
    /// `geomatch bench` against a daemon and its own mosquitto.
    @Suite("Measuring a running daemon")
    struct Bench {
        private static let geomatch = Bundle.module.bundleURL.deletingLastPathComponent().appendingPathComponent("geomatch").path

        @Test("Every update and every match comes back, and what was made is gone afterwards")
        func complete() throws {
            try withDaemon(arguments: ["--datasets", "d"]) { daemon in
                let options = ["--broker", "mqtt://127.0.0.1:\(daemon.port)", "--dataset", "d", "--client", "me"]
                let bench = try Program(Self.geomatch, options + ["--json", "bench", "--updates", "500", "--devices", "7"])
                #expect(bench.waitForExit() == 0, "\(bench.lines)")
                let figures = try JSONValue.parse(bench.lines.first ?? "").asObject
                #expect(figures?["requests"]?.asObject?["objects"] == 16)
                #expect(figures?["updates"]?.asObject?["sent"] == 500 && figures?["updates"]?.asObject?["missing"] == 0)
                #expect(figures?["matches"]?.asObject?["expected"] == 50 && figures?["matches"]?.asObject?["missing"] == 0)
                let left = try Program(Self.geomatch, options + ["--json", "dataset", "get"])
                #expect(left.waitForExit() == 0, "\(left.lines)")
                let counts = try JSONValue.parse(left.lines.first ?? "").asObject?["counts"]?.asObject
                for kind in ["devices", "publications", "subscriptions", "liveTopics"] { #expect(counts?[kind] == 0) }
            }
        }
    }
}
