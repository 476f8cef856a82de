import Foundation
import Testing
import Wire

extension Integration {
    /// With the tools everybody has.
    @Suite("A newcomer's first minutes")
    struct FirstRun {
        private func publish(_ daemon: Daemon, _ topic: String, _ payload: String) throws {
            let program = try Program(
                Tool.path("mosquitto_pub"), ["-p", "\(daemon.port)", "-q", "1", "-t", topic, "-m", payload])
            #expect(program.waitForExit() == 0, "\(program.lines)")
        }

        @Test("Two devices, a publication, a subscription and a position make mosquitto_sub print the match")
        func firstMatch() throws {
            try withDaemon { daemon in
                let watcher = try Program(
                    Tool.path("mosquitto_sub"), ["-p", "\(daemon.port)", "-v", "-t", "geomatch/#", "-t", "live/#"])
                defer { watcher.end() }
                #expect(watcher.waitForLine("geomatch/status {\"state\":\"online\""))
                let request = "geomatch/museum/alice/request/"
                try publish(
                    daemon, request + "device/create",
                    #"{"deviceType":"PinDevice","id":"cafe","location":{"latitude":43.73,"longitude":7.42}}"#)
                #expect(watcher.waitForLine(#""request":"device/create","result":{"id":"cafe""#))
                try publish(daemon, request + "device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
                try publish(
                    daemon, request + "publication/create",
                    #"{"deviceId":"cafe","topic":"coffee","range":50,"duration":3600,"properties":{"price":3}}"#)
                try publish(
                    daemon, request + "subscription/create",
                    #"{"deviceId":"phone","topic":"coffee","range":50,"duration":3600,"id":"thirst","selector":"price < 5"}"#)
                #expect(watcher.waitForLine(#""request":"subscription/create","result""#))
                try publish(daemon, "museum/-/-/-/-/phone/position", #"{"lat":43.7303,"lon":7.4203}"#)
                #expect(watcher.waitForLine(#"live/museum/-/-/-/-/phone/position {"topic""#))
                #expect(watcher.waitForLine(#"geomatch/museum/alice/match/phone/thirst {"id""#))
                let line = watcher.lines.first { $0.contains("/match/phone/thirst") } ?? ""
                let match = try JSONValue.parse(String(line.drop { $0 != "{" }))
                let distance = try #require(match["distance"]?.asDouble)
                #expect(abs(distance - vincentyDistance((43.73, 7.42), (43.7303, 7.4203))) <= 0.01)
                #expect(match["event"]?.asString == "matched")
                #expect(match["publication"]?["properties"]?["price"]?.asInt64 == 3)
                try publish(daemon, "museum/-/-/-/-/phone/position", "rubbish")
                #expect(watcher.waitForLine("geomatch/museum/diagnostics/update "))
                #expect(watcher.waitForLine("geomatch/museum/status ", seconds: 15))
                watcher.end()
                #expect(watcher.lines.count { $0.contains("/match/") } == 1)
            }
        }

        @Test("The readme's lines from nothing to an arrival print who arrived and who is at home")
        func arrival() throws {
            let lines = try #require(try blocks(of: "README.md", section: "## Arrived at home").first)
            #expect(lines.split(separator: "\n").count == 5)
            try withDaemon { daemon in
                let shell = try paste(lines, daemon)
                defer { shell.end() }
                #expect(shell.waitForExit() == 0, "\(shell.lines)")
                #expect(shell.lines.contains { $0.hasSuffix(" home entered ann") }, "\(shell.lines)")
                #expect(shell.lines.contains { $0.contains(#""devices": [{"deviceId":"ann""#) }, "\(shell.lines)")
            }
        }

        @Test("The tutorial does what it says behind the readme's first run, and the buses' page as it stands")
        func tutorial() throws {
            let first = try #require(try blocks(of: "README.md", section: "## First run").dropFirst(2).first)
            let tutorial = try blocks(of: "docs/tutorial.md").filter {
                !$0.contains("demo building") && !$0.contains("dataset delete")
            }
            let bus = try #require(try blocks(of: "docs/home-assistant.md").first { $0.contains("bus-7") })
            // The doctor finds that the dataset does not exist yet, as the page says.
            let lines = ([first] + tutorial + [bus]).joined(separator: "\n")
                .replacing("geomatch doctor\n", with: "geomatch doctor || test $? = 1\n")
            try withDaemon { daemon in
                let shell = try paste(lines.replacing("mosquitto_pub ", with: "mosquitto_pub -p \(daemon.port) "), daemon)
                defer { shell.end() }
                #expect(shell.waitForExit(seconds: 120) == 0, "\(shell.lines)")
                for end in ["left", "matched 41.17 m", "at-station arriving device phone"] {
                    #expect(shell.lines.contains { $0.contains(end) }, "\(end): \(shell.lines)")
                }
            }
        }

        /// The commands of a page, a text for each block.
        private func blocks(of page: String, section: String? = nil) throws -> [String] {
            let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
            var text = try String(contentsOf: root.appendingPathComponent(page), encoding: .utf8)
            if let section {
                let rest = try #require(text.components(separatedBy: section).dropFirst().first)
                text = rest.components(separatedBy: "\n## ")[0]
            }
            return text.components(separatedBy: "```sh\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        }

        /// A shell in which the programs are in the path; the first mistake ends it.
        private func paste(_ commands: String, _ daemon: Daemon) throws -> Program {
            let programs = (Daemon.executable as NSString).deletingLastPathComponent
            return try Program(
                "/bin/bash", ["-ec", commands],
                environment: [
                    "PATH": programs + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? ""),
                    "GEOMATCH_CONTEXT": "mqtt://127.0.0.1:\(daemon.port)",
                ])
        }

        @Test("SIGTERM ends with 0, after saying offline; its mosquitto is gone, what it kept is there at the next start")
        func cleanEnd() throws {
            try withFolder { folder in
                let daemon = try Daemon(folder: folder)
                defer { daemon.end() }
                try daemon.waitOnline()
                let broker = try #require(daemon.brokerProcessID)
                try withClient(daemon.endpoint, filters: ["geomatch/status"]) { client in
                    try client.request("device/create", ["deviceType": "MobileDevice", "id": "phone"])
                    #expect(try client.first(on: "geomatch/status").json["state"]?.asString == "online")
                    client.publish("d/-/-/-/-/phone/position", #"{"lat":1,"lon":2}"#)
                    let began = Date()
                    #expect(daemon.program.end(SIGTERM) == 0, "\(daemon.log)")
                    #expect(Date().timeIntervalSince(began) < 10)
                    _ = try client.first(on: "geomatch/status") { $0.json["state"]?.asString == "offline" }
                }
                #expect(kill(broker, 0) == -1)
                #expect(daemon.log.contains(" stopped"))
                try daemon.restart()
                try withClient(daemon.endpoint, filters: ["live/#"]) { client in
                    #expect(try client.request("device/get", ["id": "phone"])["id"]?.asString == "phone")
                    let live = try client.first(on: "live/d/-/-/-/-/phone/position")
                    #expect(live.retain && live.json["properties"]?["longitude"]?.asDouble == 2)
                }
            }
        }
    }
}
