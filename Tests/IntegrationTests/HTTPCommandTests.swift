import Foundation
import Testing

extension Integration {
    @Suite("geomatch over HTTP")
    struct HTTPCommands {
        private static let geomatch = (Daemon.executable as NSString).deletingLastPathComponent + "/geomatch"

        @Test("Requests and watch need no broker, keys are made and used")
        func commands() throws {
            try withFolder { folder in
                let daemon = try Daemon(folder: folder, arguments: ["--http", "127.0.0.1:0"])
                defer { daemon.end() }
                try daemon.waitOnline()
                try #require(daemon.program.waitForLine("http listen="), "\(daemon.log)")
                let port = try #require(daemon.log.firstMatch(of: /http listen=127\.0\.0\.1:(\d+)/), "\(daemon.log)").1
                func geomatch(_ arguments: [String], login: String = "") throws -> Program {
                    try Program(Self.geomatch, ["--http", "http://\(login)127.0.0.1:\(port)", "--dataset", "d"] + arguments)
                }
                let made = try geomatch(["--client", "admin", "key", "create", "client=ann", "--json"])
                #expect(made.waitForExit() == 0, "\(made.lines)")
                let key = try #require(made.lines.joined().firstMatch(of: /"key":"([^"]+)"/), "\(made.lines)").1
                let watch = try geomatch(["watch", "live", "--count", "1", "--json"])
                defer { watch.end() }
                let device = try geomatch(
                    ["device", "create", "deviceType=pin", "id=cafe", "location.latitude=43.73", "location.longitude=7.42"],
                    login: "ann:\(key)@")
                #expect(device.waitForExit() == 0, "\(device.lines)")
                #expect(device.lines.contains { $0.contains("ann") }, "\(device.lines)")
                #expect(watch.waitForExit() == 0, "\(watch.lines)")
                #expect(watch.lines.contains { $0.contains("cafe") && $0.contains("43.73") }, "\(watch.lines)")
                let wrong = try geomatch(["device", "list"], login: "ann:wrong@")
                #expect(wrong.waitForExit() == 69 && wrong.lines.joined().contains("unknown"), "\(wrong.lines)")
                #expect(wrong.lines.joined().contains("key create") && !wrong.lines.joined().contains("broker is there"))
                // Over HTTP it showed nothing of what nobody's client published.
                let diagnostics = try geomatch(["watch", "diagnostics", "--count", "1"])
                defer { diagnostics.end() }
                #expect(diagnostics.waitForLine("watching "), "\(diagnostics.lines)")
                try withClient(daemon.endpoint) { client in
                    #expect(
                        eventually {
                            client.publish("d/-/-/-/-/p1/position", "hello")
                            return !diagnostics.isRunning
                        })
                }
                #expect(diagnostics.lines.joined().contains("p1/position: invalid"), "\(diagnostics.lines)")
                // It waited for ever where the dataset came after it.
                let early = try geomatch(["--client", "admin", "--dataset", "late", "watch", "diagnostics", "--count", "1"])
                defer { early.end() }
                #expect(early.waitForLine("there is no dataset `late`"), "\(early.lines)")
                let creation = try geomatch(["--client", "admin", "--dataset", "late", "dataset", "create"])
                #expect(creation.waitForExit() == 0, "\(creation.lines)")
                try withClient(daemon.endpoint) { client in
                    #expect(
                        eventually {
                            client.publish("late/-/-/-/-/p1/position", "hello")
                            return !early.isRunning
                        })
                }
                #expect(early.lines.joined().contains("p1/position: invalid"), "\(early.lines)")
                let publish = try geomatch(["pub", "d/-/-/-/-/a/position", #"{"lat":43.73,"lon":7.42}"#])
                #expect(publish.waitForExit() == 0, "\(publish.lines)")
                let refused = try geomatch(["pub", "d/-/-/-/-/a/position", #"{"lat":143.73,"lon":7.42}"#])
                #expect(refused.waitForExit() == 1 && refused.lines.joined().contains("latitude"), "\(refused.lines)")
                let status = try geomatch(["status"])
                #expect(status.waitForExit() == 64 && status.lines.joined().contains("broker"), "\(status.lines)")
            }
        }
    }
}
