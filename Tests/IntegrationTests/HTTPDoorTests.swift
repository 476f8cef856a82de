import Foundation
import Testing

extension Integration {
    /// What takes minutes, or installs packages.
    @Suite(
        "The HTTP door of a running daemon",
        .enabled(if: ProcessInfo.processInfo.environment["GEOMATCH_TEST_ALL"] != nil, "deploy/test --all has it"))
    struct HTTPDoorThoroughly {
        /// Runs `body` with a daemon and its port of HTTP.
        private func withHTTPDaemon(_ body: (Daemon, Int) throws -> Void) throws {
            try withFolder { folder in
                let daemon = try Daemon(folder: folder, arguments: ["--http", "127.0.0.1:0"])
                defer { daemon.end() }
                try daemon.waitOnline()
                try #require(daemon.program.waitForLine("http listen="), "\(daemon.log)")
                let port = try #require(daemon.log.firstMatch(of: /http listen=127\.0\.0\.1:(\d+)/), "\(daemon.log)").1
                try body(daemon, try #require(Int(port)))
            }
        }

        @Test("A file of a gigabyte is imported in constant memory")
        func largeImport() throws {
            try withHTTPDaemon { daemon, port in
                let note = String(repeating: "x", count: 60_000)
                func importLines(_ count: Int) throws -> String {
                    let line =
                        #"{"type":"Feature","id":"p","geometry":{"type":"Point","coordinates":[7.42,43.73]},"properties":{"name":"Café","note":"'$(head -c \#(note.utf8.count) /dev/zero | tr '\0' x)'"}}"#
                    let command =
                        "yes '\(line)' | head -n \(count) | curl -sS -X POST -T - -H 'Content-Type: application/x-ndjson' 'http://127.0.0.1:\(port)/api/d/place/import?client=admin'"
                    let shell = try Program("/bin/sh", ["-c", command])
                    #expect(shell.waitForExit(seconds: 1500) == 0)
                    return shell.lines.joined() + shell.rest
                }
                // What a portion takes at most has been allocated then.
                let first = try importLines(500)
                #expect(first.contains("\"imported\":1"), "\(first)")
                let before = daemon.program.residentBytes
                let lines = (1 << 30) / note.utf8.count + 1
                let answer = try importLines(lines)
                #expect(answer.contains("\(lines)"), "\(answer)")
                let growth = daemon.program.residentBytes - before
                #expect(growth < 64 << 20, "\(growth) bytes more")
            }
        }

        @Test("Paho speaks MQTT with the broker through the daemon's WebSocket")
        func paho() throws {
            try withHTTPDaemon { daemon, port in
                let venv = daemon.folder + "/venv"
                func run(_ program: String, _ arguments: [String]) throws -> Program {
                    let program = try Program(program, arguments)
                    try #require(program.waitForExit(seconds: 120) == 0, "\(program.lines)")
                    return program
                }
                _ = try run("/usr/bin/env", ["python3", "-m", "venv", venv])
                _ = try run(venv + "/bin/pip", ["install", "-q", "paho-mqtt"])
                let script = """
                    import sys, threading
                    import paho.mqtt.client as mqtt
                    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="page", transport="websockets", protocol=mqtt.MQTTv5)
                    client.ws_set_options(path="/mqtt")
                    heard = threading.Event()
                    def message(client, data, message):
                        print(message.topic, message.payload.decode(), flush=True)
                        heard.set()
                    def connected(client, data, flags, reason, properties):
                        client.subscribe("geomatch/d/me/reply", 1)
                    def subscribed(client, data, mid, reasons, properties):
                        client.publish("geomatch/d/me/request/device/create", '{"deviceType":"MobileDevice","id":"' + "x" * 100 + '"}', 1)
                    client.on_message, client.on_connect, client.on_subscribe = message, connected, subscribed
                    client.connect("127.0.0.1", int(sys.argv[1]))
                    client.loop_start()
                    sys.exit(0 if heard.wait(20) else 1)
                    """
                let client = try run(venv + "/bin/python", ["-c", script, "\(port)"])
                #expect(client.lines.contains { $0.hasPrefix("geomatch/d/me/reply {") && $0.contains("MobileDevice") })
            }
        }
    }
}
