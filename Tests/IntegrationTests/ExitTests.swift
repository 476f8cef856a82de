import Foundation
import Loopback
import PlainHTTP
import Testing

extension Integration {
    @Suite("Exit codes and refusals")
    struct Exits {
        private func run(
            _ arguments: [String], environment: [String: String] = [:], folder: String
        ) throws -> (code: Int32?, text: String) {
            let program = try Program(Daemon.executable, arguments, environment: environment, folder: folder)
            defer { program.end() }
            let code = program.waitForExit(seconds: 40)
            return (code, program.lines.joined(separator: "\n"))
        }

        /// What is asked, the code it ends with, and what it says.
        struct Refusal: CustomTestStringConvertible, Sendable {
            var arguments: [String] = []
            var environment: [String: String] = [:]
            var file: String?
            var code: Int32
            var says: [String]
            var testDescription: String { (arguments + environment.map { "\($0)=\($1)" } + [file ?? ""]).joined(separator: " ") }
        }

        @Test(
            "A wrong flag is usage, a wrong environment or file configuration; the key, what was read and what is allowed are reported",
            arguments: [
                Refusal(arguments: ["--nonsense"], code: 64, says: ["--nonsense"]),
                Refusal(arguments: ["extra"], code: 64, says: ["extra"]),
                Refusal(arguments: ["--listen", "here"], code: 64, says: ["--listen", "`here`", "HOST:PORT"]),
                Refusal(arguments: ["--broker", "http://u:secret@h"], code: 64, says: ["--broker", "mqtt"]),
                Refusal(arguments: ["--store", "mysql://u:secret@h/d"], code: 64, says: ["--store", "postgres://"]),
                Refusal(
                    arguments: ["--store", "postgres://u:secret@127.0.0.1:1/d"], code: 69, says: ["127.0.0.1:1/d", "refused"]),
                Refusal(
                    arguments: ["--listen", "0.0.0.0:1883"], code: 64, says: ["--listen", "--users", "--broker", "127.0.0.1"]),
                Refusal(environment: ["GEOMATCH_LOG_LEVEL": "loud"], code: 78, says: ["GEOMATCH_LOG_LEVEL", "`loud`", "trace"]),
                Refusal(file: "live:\n  qos: 2\n", code: 78, says: ["live.qos", "`2`", "0 or 1"]),
                Refusal(file: "lisen: x\n", code: 78, says: ["lisen", "no such key", "listen"]),
                Refusal(file: "a: [", code: 78, says: ["not YAML"]),
                Refusal(arguments: ["--config", "/nowhere/at.yaml"], code: 78, says: ["/nowhere/at.yaml", "cannot be read"]),
                Refusal(arguments: ["--users", "/nowhere/users"], code: 78, says: ["/nowhere/users", "mosquitto_passwd"]),
                Refusal(arguments: ["--data-dir", "/proc/geomatch"], code: 78, says: ["/proc/geomatch", "--data-dir"]),
            ])
        func refusals(_ refusal: Refusal) throws {
            try withFolder { folder in
                var arguments = refusal.arguments
                if let file = refusal.file {
                    try file.write(toFile: folder + "/geomatch.yaml", atomically: true, encoding: .utf8)
                    arguments += ["--config", "geomatch.yaml"]
                }
                let (code, text) = try run(arguments, environment: refusal.environment, folder: folder)
                #expect(code == refusal.code, "\(text)")
                for part in refusal.says { #expect(text.contains(part), "\(text)") }
                #expect(!text.contains("secret"))
            }
        }

        @Test("Printing and checking the configuration, the version and the help end with 0 and start nothing")
        func asking() throws {
            try withFolder { folder in
                for arguments in [["--print-config"], ["--check-config"], ["--version"], ["--help"]] {
                    let (code, text) = try run(arguments, folder: folder)
                    #expect(code == 0, "\(text)")
                }
                let (_, printed) = try run(["--print-config", "--broker", "mqtt://u:secret@example.org"], folder: folder)
                #expect(printed.contains("mqtt://example.org:1883") && !printed.contains("secret"))
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            }
        }

        @Test("A second daemon on a data directory in use ends with 69 and names the process that has it")
        func directoryInUse() throws {
            try withDaemon { daemon in
                let (code, text) = try run(
                    ["--data-dir", daemon.folder + "/data", "--listen", "127.0.0.1:\(Loopback.freePort())"], folder: daemon.folder
                )
                #expect(code == 69)
                #expect(text.contains("\(daemon.program.processID)") && text.contains("--data-dir"), "\(text)")
                try withClient(daemon.endpoint) { _ = try $0.ask("dataset/get") }
            }
        }

        @Test("A daemon whose HTTP port is taken was online before it ended")
        func httpPortTaken() throws {
            try withBroker { broker in
                try withFolder { folder in
                    let former = try Daemon(folder: folder, arguments: ["--http", "off"])
                    defer { former.end() }
                    try former.waitOnline()
                    #expect(former.program.end(SIGTERM) == 0, "\(former.log)")
                    let daemon = try Daemon(
                        folder: folder, arguments: ["--http", "127.0.0.1:\(broker.port)", "--log-level", "debug"])
                    defer { daemon.end() }
                    #expect(daemon.program.waitForExit() == 69, "\(daemon.log)")
                    #expect(daemon.log.contains("HTTP cannot listen on 127.0.0.1:\(broker.port)"), "\(daemon.log)")
                    #expect(!daemon.log.contains(" online "), "\(daemon.log)")
                }
            }
        }

        @Test("A port that is taken ends with 69 and names the ways out")
        func portTaken() throws {
            try withBroker { broker in
                let (code, text) = try run(["--listen", "127.0.0.1:\(broker.port)"], folder: broker.folder)
                #expect(code == 69)
                #expect(
                    text.contains("127.0.0.1:\(broker.port)") && text.contains("--listen") && text.contains("--broker"), "\(text)"
                )
            }
        }

        @Test(
            "Without mosquitto the start ends with 69 and says how to install it, or to use another broker",
            .enabled(if: Tool.canMount, "hiding mosquitto takes a mount namespace"))
        func noMosquitto() throws {
            try withFolder { folder in
                // PATH alone hides nothing where it lies in /usr/sbin: an empty file over it, in a mount namespace of this child's own.
                let script = """
                    for place in /usr/sbin/mosquitto /usr/local/sbin/mosquitto; do
                        if [ -e $place ]; then mount --bind /dev/null $place || exit 99; fi
                    done
                    PATH=/nowhere exec \(Daemon.executable) --listen 127.0.0.1:\(Loopback.freePort())
                    """
                let program = try Program("/usr/bin/env", ["unshare", "-m", "sh", "-c", script], folder: folder)
                defer { program.end() }
                let code = program.waitForExit(seconds: 40)
                let text = program.lines.joined(separator: "\n")
                #expect(code == 69, "\(text)")
                #expect(text.contains("apt install mosquitto") && text.contains("--broker"), "\(text)")
            }
        }

        @Test("A damaged store ends the start with 70 and is left as it is")
        func damagedStore() throws {
            try withFolder { folder in
                try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: true)
                let damaged = Data("not a database, whatever the name says".utf8) + Data(repeating: 7, count: 5000)
                try damaged.write(to: URL(fileURLWithPath: folder + "/data/geomatch.sqlite"))
                let (code, text) = try run(
                    ["--data-dir", "data", "--listen", "127.0.0.1:\(Loopback.freePort())"], folder: folder)
                #expect(code == 70 && text.contains("geomatch.sqlite"), "\(text)")
                #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/data/geomatch.sqlite")) == damaged)
            }
        }

        /// Its port of HTTP.
        private func port(of daemon: Daemon) throws -> Int {
            try daemon.waitOnline()
            try #require(daemon.program.waitForLine("http listen="), "\(daemon.log)")
            let port = try #require(daemon.log.firstMatch(of: /http listen=127\.0\.0\.1:(\d+)/), "\(daemon.log)").1
            return try #require(Int(port))
        }

        private func expectEnd(of daemon: Daemon) {
            let began = Date()
            #expect(daemon.program.end(SIGTERM) == 0, "\(daemon.log)")
            #expect(Date().timeIntervalSince(began) < 10)
            #expect(daemon.log.contains("stopped"), "\(daemon.log)")
        }

        @Test("SIGTERM crashed the daemon while an upload paused, or a client did not take its answers")
        func heldConnections() throws {
            try withFolder { folder in
                let daemon = try Daemon(folder: folder, arguments: ["--http", "127.0.0.1:0"])
                defer { daemon.end() }
                let port = try port(of: daemon)
                let uploads = try ["/api/d/device/list", "/api/d/place/import?client=admin"].map { path in
                    let upload = try Connection(to: port)
                    upload.write("POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
                    return upload
                }
                let reader = try Connection(to: port, buffered: 8192)
                for _ in 0..<200 { reader.write("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n") }
                #expect(try Connection(to: port).ask("GET", "/healthz").status == 200)
                expectEnd(of: daemon)
                withExtendedLifetime((uploads, reader)) {}
            }
        }

        @Test(
            "SIGTERM crashed the daemon while a client of TLS said nothing, before its handshake or behind it",
            .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"), "certificates are made with openssl"))
        func silentClients() throws {
            try withFolder { folder in
                let request =
                    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
                    + " -keyout \(folder)/key.pem -out \(folder)/certificate.pem"
                let openssl = try Program("/usr/bin/openssl", request.split(separator: " ").map(String.init))
                try #require(openssl.waitForExit() == 0, "\(openssl.lines)")
                let file = folder + "/geomatch.yaml"
                try """
                http:
                  listen: 127.0.0.1:\(Loopback.freePort())
                  tls:
                    certificate-file: \(folder)/certificate.pem
                    key-file: \(folder)/key.pem
                """.write(toFile: file, atomically: true, encoding: .utf8)
                let daemon = try Daemon(folder: folder, arguments: ["--config", file], environment: ["GEOMATCH_HTTP": ""])
                defer { daemon.end() }
                let port = try port(of: daemon)
                // No handshake, half of its first message, and connections of HTTP/2 with nothing, and with an empty beginning.
                let plain = try [[], [0x16, 3, 1, 2, 0, 1]].map { (bytes: [UInt8]) in
                    let connection = try Connection(to: port)
                    connection.write(bytes)
                    return connection
                }
                let beginning = #"printf 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\000\000\000\004\000\000\000\000\000'; "#
                let clients = try ["", beginning].map { said in
                    let command = "(\(said)sleep 30) | openssl s_client -quiet -alpn h2 -connect 127.0.0.1:\(port)"
                    return try Program("/bin/sh", ["-c", command])
                }
                defer { for client in clients { client.end() } }
                for client in clients { #expect(client.waitForLine("verify"), "\(client.lines)") }
                expectEnd(of: daemon)
                withExtendedLifetime(plain) {}
            }
        }

        @Test("SIGINT ends with 0 under load, within ten seconds, and what was acknowledged is there")
        func interrupted() throws {
            try withFolder { folder in
                let daemon = try Daemon(folder: folder)
                defer { daemon.end() }
                try daemon.waitOnline()
                try withClient(daemon.endpoint) { client in
                    for number in 0..<500 {
                        client.publish("d/-/-/-/-/m\(number % 20)/position", #"{"lat":\#(number / 100),"lon":2}"#, qos: 0)
                        client.send(
                            "device/create", ["deviceType": "MobileDevice", "id": .string("n\(number)")], id: "\(number)")
                    }
                    #expect(client.reply(to: "100") != nil)
                    let began = Date()
                    #expect(daemon.program.end(SIGINT) == 0, "\(daemon.log)")
                    #expect(Date().timeIntervalSince(began) < 10)
                    let acknowledged = client.messages.compactMap { $0.json["result"]?["id"]?.asString }
                    try daemon.restart()
                    client.waitSubscribed(times: 2)
                    for id in acknowledged.suffix(20) {
                        #expect(try client.request("device/get", ["id": .string(id)])["id"]?.asString == id)
                    }
                    // The rest waited at the broker and is carried out and answered now. A reply that the broker had not sent at its end
                    // is gone with the client's session: who asks again gets it.
                    if client.reply(to: "499") == nil {
                        #expect(try client.request("device/get", ["id": "n499"])["id"]?.asString == "n499")
                        client.send("device/create", ["deviceType": "MobileDevice", "id": "n499"], id: "499")
                    }
                    #expect(client.reply(to: "499") != nil)
                }
            }
        }
    }
}
