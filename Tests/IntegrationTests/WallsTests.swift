import Foundation
import MQTTLink
import Testing
import Wire

extension Integration {
    /// Break-ins of one login into what is another's, each as somebody did it.
    @Suite("Walls")
    struct Walls {
        private func withUsers(
            _ users: [String] = ["ann", "eve"], file: String = "", _ body: (Daemon) throws -> Void
        ) throws {
            try withFolder { folder in
                let passwords = try Tool.passwordFile(users, in: folder)
                try file.write(toFile: folder + "/f.yaml", atomically: true, encoding: .utf8)
                let daemon = try Daemon(
                    folder: folder,
                    arguments: ["--users", passwords, "--auto-create-datasets", "true", "--config", folder + "/f.yaml"])
                defer { daemon.end() }
                try daemon.waitOnline()
                try body(daemon)
                #expect(daemon.program.isRunning)
            }
        }

        private func instance(_ client: Client) throws -> String {
            try #require(try client.first(on: "geomatch/status").json["instance"]?.asString)
        }

        @Test("A client that knows the instance can neither disconnect the daemon nor take its session")
        func impersonation() throws {
            try withUsers { daemon in
                try withClient(daemon.endpoint(user: "ann"), name: "ann", filters: ["geomatch/status"]) { ann in
                    let id = "geomatchd-" + (try instance(ann))
                    for _ in 0..<5 {
                        let eve = try Client(daemon.endpoint(user: "eve"), name: "eve", session: id)
                        defer { eve.stop() }
                        #expect(eve.waitDisconnected())
                        #expect(eve.grantedCodes.isEmpty)
                    }
                    try ann.request("device/create", ["deviceType": "MobileDevice", "id": "phone"])
                    #expect(!daemon.log.contains("connection lost"))
                }
            }
        }

        @Test("Beside a broker of one's own the daemon's client id is another name than what is published")
        func secretName() throws {
            try withBroker { broker in
                let daemon = try Daemon(folder: broker.folder, broker: broker.url, arguments: ["--datasets", "d"])
                defer { daemon.end() }
                try daemon.waitOnline()
                try withClient(broker.endpoint, filters: ["geomatch/status"]) { client in
                    let id = "geomatchd-" + (try instance(client))
                    try withClient(broker.endpoint, name: "eve", session: id) { _ in
                        _ = try client.request("device/create", ["deviceType": "MobileDevice", "id": "phone"])
                    }
                    #expect(!daemon.log.contains("connection lost"))
                }
            }
        }

        @Test("Thousands of reads of one client delay another's request and live data by little, and take no memory")
        func reads() throws {
            try withDaemon(arguments: ["--datasets", "d"]) { daemon in
                try withClient(daemon.endpoint, name: "ann", filters: ["live/#"]) { ann in
                    try withClient(daemon.endpoint, name: "eve", readsReplies: false) { eve in
                        try pushDocuments(4000, through: ann)
                        _ = try ann.ask("changes/get", ["since": 0, "limit": 1000])
                        let before = daemon.program.residentBytes
                        for _ in 0..<3000 { eve.publish("geomatch/d/eve/request/changes/get", #"{"since":0,"limit":1000}"#) }
                        // Behind a thousand of them at the broker.
                        var slowest = 0.0
                        var slowestLive = 0.0
                        for index in 0..<40 {
                            let began = Date()
                            _ = try ann.request("device/create", ["deviceType": "MobileDevice", "id": .string("x\(index)")])
                            slowest = max(slowest, Date().timeIntervalSince(began))
                            let sent = Date()
                            ann.publish("d/-/-/-/-/x\(index)/position", #"{"lat":1,"lon":1}"#, qos: 0)
                            _ = try ann.first(on: "live/d/-/-/-/-/x\(index)/position")
                            slowestLive = max(slowestLive, Date().timeIntervalSince(sent))
                        }
                        let grown = daemon.program.residentBytes - before
                        // Of a machine that is busy with other tests.
                        #expect(slowest < 1, "\(slowest) s")
                        #expect(slowestLive < 0.5, "\(slowestLive) s")
                        #expect(grown < 64 << 20, "\(grown) bytes more")
                    }
                }
            }
        }

        private func pushDocuments(_ count: Int, through ann: Client) throws {
            let text = String(repeating: "x", count: 200)
            for part in 0..<count / 500 {
                let documents = (0..<500).map { index -> JSONValue in
                    let hash = String(format: "%032x", part * 500 + index + 1)
                    return [
                        "id": .string("n\(part)-\(index)"), "type": "note", "revision": .string("1-\(hash)"),
                        "text": .string(text),
                    ]
                }
                _ = try ann.request("changes/push", ["docs": .array(documents)])
            }
        }

        @Test(
            "1,100 connections that never log in keep nobody out, where the limit of open files is 1,024",
            .enabled(if: mostOpenFiles >= 4096, "this process and mosquitto need more than 1,100 open files each"))
        func silentConnections() throws {
            try withFolder { folder in
                let port = Int.random(in: 20_000..<30_000)
                let users = try Tool.passwordFile(["ann"], in: folder)
                let program = try Program(
                    "/bin/bash",
                    [
                        "-c", "ulimit -Sn 1024; exec \"$0\" \"$@\"", Daemon.executable, "--listen", "127.0.0.1:\(port)",
                        "--data-dir", folder + "/data", "--users", users, "--http", "off",
                    ], folder: folder)
                defer { program.end(SIGTERM) }
                try #require(program.waitForLine(" online "), "\(program.lines)")
                var limit = Self.openFiles
                defer { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
                var raised = rlimit(rlim_cur: max(limit.rlim_cur, 4096), rlim_max: limit.rlim_max)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
                let silent = try (0..<1100).map { _ in try silentConnection(port) }
                defer { silent.forEach { close($0) } }
                let endpoint = MQTTEndpoint(host: "127.0.0.1", port: port, username: "ann", password: "ann")
                try withClient(endpoint, name: "ann", filters: ["geomatch/status"]) { ann in
                    _ = try ann.first(on: "geomatch/status")
                    #expect(eventually(seconds: 60) { silent.allSatisfy(hasEnded) })
                }
            }
        }

        private static var openFiles: rlimit {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            return limit
        }

        private static let mostOpenFiles = openFiles.rlim_max

        /// A connection that says nothing; an error where none is made within ten seconds.
        private func silentConnection(_ port: Int) throws -> Int32 {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var patience = timeval(tv_sec: 10, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            try #require(result == 0)
            return descriptor
        }

        private func hasEnded(_ descriptor: Int32) -> Bool {
            var byte: UInt8 = 0
            let count = recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT))
            return count == 0 || count < 0 && errno == ECONNRESET
        }

        @Test("A user whose name reaches into another's topics stops the start, with the line")
        func names() throws {
            try withFolder { folder in
                let users = try Tool.passwordFile(["ann", "ann/match"], in: folder)
                let daemon = try Daemon(folder: folder, arguments: ["--users", users])
                defer { daemon.end() }
                #expect(daemon.program.waitForExit() == 78)
                #expect(daemon.log.contains("line 2: `ann/match` is no name of a client"), "\(daemon.log)")
            }
        }

        @Test("Whom live.readers leaves out does not read live data at the broker either, nor who may read only the own")
        func readers() throws {
            let file =
                "live: {readers: [ann, bob]}\naccess:\n  - {users: ann, read: all}\n  - {users: bob}\n  - {users: eve, read: all}\n"
            try withUsers(["ann", "bob", "eve", "admin"], file: file) { daemon in
                try withClient(daemon.endpoint(user: "admin"), name: "admin", filters: ["live/#"]) { admin in
                    try withClient(daemon.endpoint(user: "ann"), name: "ann", filters: ["live/#"]) { ann in
                        try withClient(daemon.endpoint(user: "bob"), name: "bob", filters: ["live/#"]) { bob in
                            try withClient(daemon.endpoint(user: "eve"), name: "eve", filters: ["live/#"]) { eve in
                                // Not the own one: refused by the broker.
                                bob.publish("d/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                                for location in ["phone", "bob"] {
                                    admin.publish("d/-/-/-/-/\(location)/position", #"{"lat":5,"lon":5}"#)
                                }
                                for reader in [admin, ann] {
                                    let message = try reader.first(on: "live/d/-/-/-/-/phone/position")
                                    #expect(message.text.contains("\"latitude\":5"))
                                    _ = try reader.first(on: "live/d/-/-/-/-/bob/position")
                                }
                                _ = try bob.first(on: "live/d/-/-/-/-/bob/position")
                                // Requests come behind what was published before.
                                for client in [bob, eve] { _ = try client.ask("device/get", ["id": "none"]) }
                                #expect(bob.messages.filter { $0.topic.hasPrefix("live/") }.count == 1)
                                #expect(!eve.messages.contains { $0.topic.hasPrefix("live/") })
                            }
                        }
                    }
                }
            }
        }

        @Test("An encrypted listener beside the plain one takes the same users")
        func encrypted() throws {
            try withFolder { folder in
                let openssl = try Program(
                    "/usr/bin/openssl",
                    [
                        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/key.pem", "-out",
                        folder + "/certificate.pem",
                    ])
                try #require(openssl.waitForExit() == 0, "\(openssl.lines)")
                let port = Int.random(in: 30_000..<32_000)
                let text = """
                    listen-tls:
                      listen: 127.0.0.1:\(port)
                      certificate-file: \(folder)/certificate.pem
                      key-file: \(folder)/key.pem
                    """
                try text.write(toFile: folder + "/f.yaml", atomically: true, encoding: .utf8)
                let users = try Tool.passwordFile(["ann"], in: folder)
                let daemon = try Daemon(folder: folder, arguments: ["--users", users, "--config", folder + "/f.yaml"])
                defer { daemon.end() }
                try daemon.waitOnline()
                let tls = MQTTEndpoint.TLS(caFile: folder + "/certificate.pem")
                for user in ["ann", "eve"] {
                    let endpoint = MQTTEndpoint(host: "127.0.0.1", port: port, username: user, password: user, tls: tls)
                    let client = try Client(endpoint, name: user, filters: ["geomatch/status"])
                    defer { client.stop() }
                    if user == "ann" {
                        _ = try client.first(on: "geomatch/status")
                    } else {
                        #expect(client.waitDisconnected() && client.grantedCodes.isEmpty)
                    }
                }
                #expect(!daemon.log.contains("without encryption"))
            }
        }

        @Test("Killed with -9, the daemon takes its mosquitto along, which saves first")
        func noOrphan() throws {
            try withDaemonFolder { daemon in
                try withClient(daemon.endpoint) { _ = $0.publishAndWait("d/-/-/-/-/x/position", "{}", retain: true) }
                let process = try #require(daemon.brokerProcessID)
                daemon.program.end(SIGKILL)
                #expect(eventually(seconds: 5) { kill(process, 0) != 0 || daemon.brokerProcessID == nil })
                try daemon.restart()
                #expect(!daemon.log.contains("left behind"))
            }
        }

        private func withDaemonFolder(_ body: (Daemon) throws -> Void) throws {
            try withFolder { folder in
                let daemon = try Daemon(folder: folder, arguments: ["--http", "off"])
                defer { daemon.end() }
                try daemon.waitOnline()
                try body(daemon)
            }
        }
    }
}
