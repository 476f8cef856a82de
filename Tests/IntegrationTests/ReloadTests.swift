import Foundation
import Loopback
import MQTTLink
import Testing

extension Integration {
    @Suite("SIGHUP")
    struct Reloads {
        @Test("SIGHUP reloads log level and access, names what needs a restart, and keeps everything where the file is wrong")
        func reloads() throws {
            try withFolder { folder in
                let file = folder + "/geomatch.yaml"
                func write(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }
                try write("log-level: info\n")
                let daemon = try Daemon(folder: folder, arguments: ["--config", file])
                defer { daemon.end() }
                try daemon.waitOnline()
                let broker = try #require(daemon.brokerProcessID)

                try write("log-level: debug\naccess: [{users: ann, datasets: [museum]}]\nlimits: {devices: 5}\n")
                kill(daemon.program.processID, SIGHUP)
                #expect(daemon.program.waitForLine("configuration reloaded changed=\"log-level access\""), "\(daemon.log)")
                #expect(daemon.program.waitForLine("changes that need a restart keys=limits"), "\(daemon.log)")
                let refusal = try withClient(daemon.endpoint, name: "bob") { try $0.refusal("device/list", dataset: "demo") }
                #expect(refusal == "unauthorized")

                try write("lisen: x\n")
                kill(daemon.program.processID, SIGHUP)
                #expect(daemon.program.waitForLine("configuration not reloaded"), "\(daemon.log)")
                #expect(daemon.log.contains("did you mean listen?"))
                #expect(daemon.brokerProcessID == broker)
            }
        }

        @Test("The log of a life names no types of the program and no error where there was none")
        func calmLog() throws {
            try withFolder { folder in
                try writeCertificate(in: folder, as: "first")
                let file = folder + "/geomatch.yaml"
                try """
                log-level: debug
                listen-tls:
                  listen: 127.0.0.1:\(Loopback.freePort())
                  certificate-file: \(folder)/certificate.pem
                  key-file: \(folder)/key.pem
                """.write(toFile: file, atomically: true, encoding: .utf8)
                let daemon = try Daemon(folder: folder, arguments: ["--http", "127.0.0.1:0", "--config", file])
                defer { daemon.end() }
                try daemon.waitOnline()
                kill(daemon.program.processID, SIGHUP)
                #expect(daemon.program.waitForLine("configuration reloaded"), "\(daemon.log)")
                #expect(daemon.program.waitForLine("As intended, "), "\(daemon.log)")
                daemon.program.signal(SIGTERM)
                #expect(daemon.program.waitForExit() == 0, "\(daemon.log)")
                #expect(!daemon.log.contains("Service") && !daemon.log.contains("Error"), "\(daemon.log)")
            }
        }

        @Test("Adapters that a dataset prevents stay as they were, and are not logged as changed")
        func refusedAdapters() throws {
            try withFolder { folder in
                let file = folder + "/geomatch.yaml"
                try "datasets: [owntracks]\n".write(toFile: file, atomically: true, encoding: .utf8)
                let daemon = try Daemon(folder: folder, arguments: ["--http", "off", "--config", file])
                defer { daemon.end() }
                try daemon.waitOnline()
                let adapters = "adapters: [{format: owntracks, filter: owntracks/+/+/#, dataset: home}]\n"
                // The dataset exists, whatever the file says by now.
                try adapters.write(toFile: file, atomically: true, encoding: .utf8)
                // As nothing was taken, the next reload tries again.
                for count in 1...2 {
                    kill(daemon.program.processID, SIGHUP)
                    #expect(daemon.program.waitForLine("configuration reloaded changed=nothing", count: count), "\(daemon.log)")
                    #expect(daemon.program.waitForLine("adapters stay as they were", count: count), "\(daemon.log)")
                }
                try adapters.replacing("owntracks/+/+/#", with: "tracks/+/+/#").write(
                    toFile: file, atomically: true, encoding: .utf8)
                kill(daemon.program.processID, SIGHUP)
                #expect(daemon.program.waitForLine("configuration reloaded changed=adapters"), "\(daemon.log)")
            }
        }

        /// A certificate that signs itself, and its key.
        private func writeCertificate(in folder: String, as name: String) throws {
            let openssl = try Program(
                "/usr/bin/openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/key.pem", "-out",
                    folder + "/certificate.pem",
                ])
            try #require(openssl.waitForExit() == 0, "\(openssl.lines)")
            try FileManager.default.copyItem(atPath: folder + "/certificate.pem", toPath: "\(folder)/\(name).pem")
        }

        @Test("SIGHUP has new connections get the certificate that is there by now; one that is none changes nothing")
        func certificates() throws {
            try withFolder { folder in
                try writeCertificate(in: folder, as: "first")
                let port = Loopback.freePort()
                let file = folder + "/geomatch.yaml"
                try """
                listen-tls:
                  listen: 127.0.0.1:\(port)
                  certificate-file: \(folder)/certificate.pem
                  key-file: \(folder)/key.pem
                """.write(toFile: file, atomically: true, encoding: .utf8)
                let daemon = try Daemon(folder: folder, arguments: ["--http", "off", "--config", file])
                defer { daemon.end() }
                try daemon.waitOnline()
                func isTrusted(by name: String) throws -> Bool {
                    let tls = MQTTEndpoint.TLS(caFile: "\(folder)/\(name).pem")
                    let client = try Client(
                        MQTTEndpoint(host: "127.0.0.1", port: port, tls: tls), name: name, filters: ["geomatch/status"])
                    defer { client.stop() }
                    return eventually { !client.grantedCodes.isEmpty || client.wasDisconnected } && !client.grantedCodes.isEmpty
                }
                #expect(try isTrusted(by: "first"))
                try writeCertificate(in: folder, as: "second")
                kill(daemon.program.processID, SIGHUP)
                #expect(daemon.program.waitForLine("reloaded: certificates"), "\(daemon.log)")
                #expect(eventually { (try? isTrusted(by: "second")) == true })
                #expect(try !isTrusted(by: "first"))

                try "no certificate".write(toFile: folder + "/certificate.pem", atomically: true, encoding: .utf8)
                kill(daemon.program.processID, SIGHUP)
                #expect(daemon.program.waitForLine("has no -----BEGIN CERTIFICATE"), "\(daemon.log)")
                #expect(try isTrusted(by: "second"))
            }
        }

        @Test("Access that SIGHUP took away stayed at the broker where a certificate or the users file could not be read")
        func takenAccessBesideWrongFiles() throws {
            try withFolder { folder in
                try writeCertificate(in: folder, as: "first")
                let users = try Tool.passwordFile(["ann", "bob"], in: folder)
                let file = folder + "/geomatch.yaml"
                func write(_ access: String) throws {
                    try """
                    users: \(users)
                    datasets: [demo]
                    access: [{users: "*", \(access)}]
                    listen-tls:
                      listen: 127.0.0.1:\(Loopback.freePort())
                      certificate-file: \(folder)/certificate.pem
                      key-file: \(folder)/key.pem
                    """.write(toFile: file, atomically: true, encoding: .utf8)
                }
                try write("read: all, write: all")
                let daemon = try Daemon(folder: folder, arguments: ["--config", file])
                defer { daemon.end() }
                try daemon.waitOnline()
                try withClient(daemon.endpoint(user: "bob"), name: "bob", filters: ["live/demo/#"]) { bob in
                    bob.publish("demo/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                    _ = try bob.first(on: "live/demo/-/-/-/-/phone/position")
                }
                try FileManager.default.removeItem(atPath: folder + "/certificate.pem")
                try FileManager.default.removeItem(atPath: users)
                try write("read: none, write: none")
                kill(daemon.program.processID, SIGHUP)
                #expect(daemon.program.waitForLine("the certificate of listen-tls stays as it was"), "\(daemon.log)")
                #expect(daemon.program.waitForLine("the users stay as they were"), "\(daemon.log)")
                #expect(daemon.program.waitForLine("reloaded: access"), "\(daemon.log)")
                try withClient(daemon.endpoint(user: "bob"), name: "bob", filters: ["live/demo/#"]) { bob throws in
                    // What is retained comes before the reply.
                    #expect(eventually { !bob.grantedCodes.isEmpty })
                    _ = try bob.refusal("device/list", dataset: "demo")
                    #expect(bob.messages(on: "live/demo/-/-/-/-/phone/position").isEmpty)
                }
            }
        }

        /// Whether a server at a port shows a certificate that one of a file stands for.
        private func isTrusted(at port: Int, by file: String) throws -> Bool {
            let client = try Program(
                "/usr/bin/openssl",
                ["s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", file, "-verify_return_error", "-brief"])
            return client.waitForExit() == 0
        }

        @Test("HTTPS kept the certificate of the start; one that is none changes nothing, and is an error in the log")
        func certificateOfHTTP() throws {
            try withFolder { folder in
                try writeCertificate(in: folder, as: "first")
                let port = Loopback.freePort()
                let file = folder + "/geomatch.yaml"
                try """
                http:
                  listen: 127.0.0.1:\(port)
                  tls:
                    certificate-file: \(folder)/certificate.pem
                    key-file: \(folder)/key.pem
                """.write(toFile: file, atomically: true, encoding: .utf8)
                let daemon = try Daemon(folder: folder, arguments: ["--config", file], environment: ["GEOMATCH_HTTP": ""])
                defer { daemon.end() }
                try daemon.waitOnline()
                try #require(daemon.program.waitForLine("http listen="), "\(daemon.log)")
                #expect(try isTrusted(at: port, by: folder + "/first.pem"))

                try writeCertificate(in: folder, as: "second")
                kill(daemon.program.processID, SIGHUP)
                #expect(daemon.program.waitForLine("certificate of HTTP read anew"), "\(daemon.log)")
                #expect(try isTrusted(at: port, by: folder + "/second.pem"))
                #expect(try !isTrusted(at: port, by: folder + "/first.pem"))

                try "no certificate".write(toFile: folder + "/certificate.pem", atomically: true, encoding: .utf8)
                kill(daemon.program.processID, SIGHUP)
                #expect(daemon.program.waitForLine("error   certificate of HTTP not reloaded"), "\(daemon.log)")
                #expect(try isTrusted(at: port, by: folder + "/second.pem"))
            }
        }

        @Test("Access taken away by SIGHUP left live subscriptions that stood as they were")
        func takenAccess() throws {
            try withFolder { folder in
                let file = folder + "/geomatch.yaml"
                try "log-level: info\n".write(toFile: file, atomically: true, encoding: .utf8)
                let daemon = try Daemon(folder: folder, arguments: ["--config", file])
                defer { daemon.end() }
                try daemon.waitOnline()
                try withClient(daemon.endpoint, name: "bob", filters: ["geomatch/demo/bob/#", "live/demo/#"]) { bob in
                    bob.publish("demo/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                    _ = try bob.first(on: "live/demo/-/-/-/-/phone/position")
                    #expect(try bob.refusal("live/subscribe", ["criteria": "demo/#", "id": "s"], dataset: "demo") == nil)
                    _ = try bob.first(on: "geomatch/demo/bob/live/s")
                    try "access: [{users: \"*\", read: none, write: all}]\n".write(
                        toFile: file, atomically: true, encoding: .utf8)
                    kill(daemon.program.processID, SIGHUP)
                    #expect(eventually { (try? bob.refusal("live/renew", ["id": "s"], dataset: "demo")) == "unauthorized" })
                    #expect(
                        eventually {
                            bob.forgetMessages()
                            bob.publish("demo/-/-/-/-/phone/position", #"{"lat":2,"lon":1}"#)
                            // The reply is behind whatever the update brought.
                            let refusal = try? bob.refusal("live/renew", ["id": "s"], dataset: "demo")
                            return refusal != nil && bob.messages(on: "geomatch/demo/bob/live/s").isEmpty
                        })
                }
            }
        }

        @Test("A closed terminal is a clean end of daemon and broker")
        func terminal() throws {
            try withFolder { folder in
                let words = [Daemon.executable, "--listen", "127.0.0.1:\(Loopback.freePort())", "--data-dir", folder + "/data"]
                // Runs it on a terminal of its own, which is gone with `script`.
                let terminal = try Program("/usr/bin/script", ["-qec", "exec " + words.joined(separator: " "), "/dev/null"])
                defer { terminal.end() }
                try #require(terminal.waitForLine(" online "), "\(terminal.lines)")
                func process(_ file: String) throws -> Int32 {
                    let text = try String(contentsOfFile: folder + "/data/" + file, encoding: .utf8)
                    return try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
                }
                let (daemon, broker) = (try process("lock"), try process("embedded-broker/mosquitto.pid"))
                terminal.end(SIGKILL)
                #expect(eventually { kill(daemon, 0) != 0 && kill(broker, 0) != 0 })
                // A clean end leaves no number of a process behind.
                #expect(try String(contentsOfFile: folder + "/data/lock", encoding: .utf8).isEmpty)
            }
        }
    }
}
