import Foundation
import MQTTLink
import Testing
import Wire

extension Integration {
    @Suite("Backup, restore and doctor")
    struct Backups {
        private static let geomatch = (Daemon.executable as NSString).deletingLastPathComponent + "/geomatch"

        private func run(_ arguments: [String]) throws -> (code: Int32?, text: String) {
            let program = try Program(Self.geomatch, arguments)
            defer { program.end() }
            let code = program.waitForExit()
            return (code, program.lines.joined(separator: "\n"))
        }

        @Test(
            "A backup of a running daemon, restored, has what was answered before it; a directory in use or not empty is refused")
        func backup() throws {
            try withDaemon { daemon in
                let file = daemon.folder + "/backup"
                try withClient(daemon.endpoint) { client in
                    for number in 0..<20 {
                        _ = try client.request("device/create", ["deviceType": "MobileDevice", "id": .string("d\(number)")])
                    }
                    let made = try run(["backup", file, "--data-dir", daemon.folder + "/data"])
                    #expect(made.code == 0, "\(made.text)")
                    _ = try client.request("device/create", ["deviceType": "MobileDevice", "id": "later"])
                }
                let mode = try #require(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int)
                #expect(mode == 0o600)
                #expect(try run(["restore", file, "--data-dir", daemon.folder + "/data"]).text.contains("in use by a daemon"))
                #expect(try run(["restore", file, "--data-dir", daemon.folder]).text.contains("is not empty"))
                #expect(try run(["restore", Self.geomatch, "--data-dir", daemon.folder + "/x"]).text.contains("is no backup"))
                #expect(try run(["restore", daemon.folder, "--data-dir", daemon.folder + "/x"]).text.contains("is a directory"))
                #expect(try run(["backup", file, "--data-dir", daemon.folder]).text.contains("name the daemon's data directory"))

                try withFolder { folder in
                    let restored = try run(["--json", "restore", file, "--data-dir", folder + "/data"])
                    #expect(restored.code == 0, "\(restored.text)")
                    let second = try Daemon(folder: folder)
                    defer { second.end() }
                    try second.waitOnline()
                    try withClient(second.endpoint) { client in
                        let devices = try client.request("device/list")["devices"]?.asArray
                        #expect(devices?.count == 20)
                    }
                }
            }
        }

        @Test(
            "The doctor finds nothing at a daemon that is well, and says what to do about a dataset, a daemon and a broker that are not there"
        )
        func doctor() throws {
            try withDaemon { daemon in
                try withClient(daemon.endpoint) { client in
                    _ = try client.request("device/create", ["deviceType": "MobileDevice", "id": "d"], dataset: "demo")
                }
                let broker = "127.0.0.1:\(daemon.port)"
                let well = try run(["--broker", broker, "--dataset", "demo", "doctor", "--data-dir", daemon.folder + "/data"])
                #expect(well.code == 0, "\(well.text)")
                #expect(!well.text.contains("PROBLEM") && well.text.contains("ok      daemon: geomatchd"))
                #expect(well.text.contains("ok      live data: an update on demo/-/-/-/-/cli/doctor came back"), "\(well.text)")
                // Who has just begun names no dataset.
                let first = try run(["--broker", broker, "--client", "admin", "doctor"])
                #expect(
                    first.code == 0 && first.text.contains("none was named, so none was checked; there is demo"), "\(first.text)")
                let status = try run(["--broker", broker, "status"])
                #expect(status.code == 0 && status.text.contains("no dataset was named"), "\(status.text)")
                let typo = try run(["--broker", broker, "--dataset", "dmeo", "--client", "admin", "doctor"])
                #expect(typo.code == 1 && typo.text.contains("did you mean demo?"), "\(typo.text)")
                // Before its first use a dataset is not there, and that is no fault.
                let fresh = try run(["--broker", broker, "--dataset", "tutorial", "doctor"])
                #expect(fresh.code == 0 && fresh.text.contains("tutorial does not exist: its first use"), "\(fresh.text)")
                daemon.program.end(SIGTERM)
                let gone = try run(["--broker", broker, "doctor", "--json"])
                #expect(gone.code == 1)
                let report = try JSONValue.parse(gone.text.split(separator: "\n").last.map(String.init) ?? "")
                #expect(report["ok"] == false)
                #expect(report["checks"]?.asArray?.first?["advice"]?.asString?.contains("start the broker") == true)
                // What could not be looked at is not said to be well.
                #expect(report["checks"]?.asArray?.count == 1)
                try daemon.restart()
            }
        }

        @Test("Where the access list gives the daemon requests and no live data, positions vanished and the doctor said ok")
        func liveDataForbidden() throws {
            let lines = { (folder: String) in
                try "topic readwrite geomatch/#\ntopic readwrite live/#\ntopic write demo/#\n".write(
                    toFile: folder + "/acl", atomically: true, encoding: .utf8)
                return "allow_anonymous true\nacl_file \(folder)/acl"
            }
            try withBroker(lines: lines) { broker in
                let daemon = try Daemon(folder: broker.folder, broker: broker.url, arguments: ["--datasets", "demo"])
                defer { daemon.end() }
                try daemon.waitOnline()
                let said = try run(["--broker", broker.url, "--dataset", "demo", "doctor"])
                #expect(said.code == 1 && said.text.contains("PROBLEM live data: an update on demo/"), "\(said.text)")
                #expect(said.text.contains("let the daemon read demo/#"))
            }
        }

        @Test("A dataset that is full had the doctor say that there is nothing of note")
        func full() throws {
            try withFolder { folder in
                try "limits: {devices: 2}\n".write(toFile: folder + "/f.yaml", atomically: true, encoding: .utf8)
                let daemon = try Daemon(folder: folder, arguments: ["--config", folder + "/f.yaml"])
                defer { daemon.end() }
                try daemon.waitOnline()
                let broker = "127.0.0.1:\(daemon.port)"
                for id in ["a", "b"] {
                    #expect(
                        try run([
                            "--broker", broker, "--client", "admin", "device", "create", "deviceType=mobile", "id=\(id)",
                        ]).code == 0)
                }
                let said = try run(["--broker", broker, "doctor"])
                #expect(said.code == 1 && said.text.contains("PROBLEM limits: 2 of at most 2 devices"), "\(said.text)")
                #expect(said.text.contains("raise limits.devices"))
            }
        }
    }
}
