import NIOCore
import Testing

@testable import HTTPDoor

@Suite("Who asks over HTTP")
struct AccessTests {
    private func withKeys<Result: Sendable>(
        trusted: Bool = false, _ body: (HTTPHouse) async throws -> Result
    ) async throws -> Result {
        try await withHTTP(
            {
                $0.trustsLoopback = trusted
                $0.keys = [
                    FileKey(key: "museum-key", dataset: "museum", client: "ann"),
                    FileKey(key: "any-key", dataset: "*", client: "bob"),
                ]
                $0.origins = OriginPatterns(["https://map.example.org", "http://localhost:*"])
            }, body)
    }

    @Test("A key comes in any of four ways, and stands for its client")
    func keys() async throws {
        try await withKeys { house in
            let connection = try Connection(to: house.port)
            let ways = [
                ["Authorization": "Bearer museum-key"], ["api-key": "museum-key"],
                ["Authorization": "Basic YW5uOm11c2V1bS1rZXk="],
            ]
            for fields in ways {
                let answer = try connection.ask(
                    "POST", "/api/museum/device/create?client=bob", #"{"deviceType":"MobileDevice"}"#, host: "elsewhere",
                    fields: fields)
                #expect(answer.json["result"]?.asObject?["owner"] == "ann", "\(answer)")
            }
            #expect(try connection.ask("GET", "/api/museum/device/list?key=museum-key").status == 200)
            #expect(try connection.ask("GET", "/api/museum/device/list?key=any-key").status == 200)
        }
    }

    @Test("No key or a wrong one is unauthorized, one for another dataset forbidden")
    func refusals() async throws {
        try await withKeys { house in
            let connection = try Connection(to: house.port)
            let wrong: [[String: String]] = [
                [:], ["Authorization": "Bearer museum-kez"], ["Authorization": "Bearer"], ["Authorization": "Digest museum-key"],
                ["api-key": ""], ["Authorization": "Basic Ym9iOm11c2V1bS1rZXk="], ["Authorization": "Basic ***"],
                ["Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJtdXNldW0ifQ."],
            ]
            for fields in wrong {
                let answer = try connection.ask("GET", "/api/museum/device/list", fields: fields)
                #expect(answer.status == 401 && answer.error == "unauthorized", "\(fields): \(answer)")
                #expect(answer.fields["www-authenticate"]?.contains("Bearer") == true)
            }
            let other = try connection.ask("GET", "/api/d/device/list?key=museum-key")
            #expect(other.status == 403 && other.error == "forbidden", "\(other)")
        }
    }

    @Test("A request that its client may not make, or that has no client's name, was a 401 without WWW-Authenticate")
    func challenges() async throws {
        try await withHTTP(hub: { $0.mayName = { _, client in client != "nobody" } }) { house in
            for client in ["status", "a%20b", "nobody"] {
                let answer = try Connection(to: house.port).ask("GET", "/api/d/device/list?client=\(client)")
                #expect(answer.status == 401 && answer.error == "unauthorized", "\(client): \(answer)")
                #expect(answer.fields["www-authenticate"] == "Bearer realm=\"geomatch\"", "\(client): \(answer)")
            }
        }
    }

    @Test(
        "Addresses of this machine are loopback, as IPv6 writes them, too, and no others",
        arguments: [
            ("127.0.0.1", true), ("127.255.0.9", true), ("128.0.0.1", false), ("10.0.0.127", false), ("::1", true),
            ("::ffff:127.0.0.1", true), ("::ffff:10.0.0.1", false), ("::127.0.0.1", false), ("::", false), ("1::1", false),
            ("fe80::1", false),
        ])
    func loopback(_ row: (address: String, isLoopback: Bool)) throws {
        #expect(try SocketAddress(ipAddress: row.address, port: 1).isLoopback == row.isLoopback)
    }

    @Test("A trusted address is for names of this machine and pages of its own only")
    func rebinding() async throws {
        try await withKeys(trusted: true) { house in
            let connection = try Connection(to: house.port)
            func status(_ host: String, _ fields: [String: String] = [:]) throws -> Int {
                try connection.ask("POST", "/api/d/device/create", #"{"deviceType":"MobileDevice"}"#, host: host, fields: fields)
                    .status
            }
            for host in ["localhost", "LOCALHOST:\(house.port)", "127.0.0.1", "127.1.2.3:1", "[::1]:\(house.port)"] {
                #expect(try status(host) == 200, "\(host)")
            }
            for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.256", "[::2]", ""] {
                #expect(try status(host) == 403, "\(host)")
            }
            let own = "http://localhost:\(house.port)"
            #expect(try status("localhost:\(house.port)", ["Origin": own]) == 200)
            #expect(try status("localhost:1", ["Origin": "http://localhost:2", "Sec-Fetch-Site": "same-site"]) == 200)
            #expect(try status("localhost", ["Origin": "https://map.example.org"]) == 200)
            for origin in ["https://evil.example", "null", "http://127.0.0.1", "https://map.example.org.evil.example"] {
                #expect(try status("localhost", ["Origin": origin]) == 403, "\(origin)")
            }
            #expect(try status("localhost", ["Sec-Fetch-Site": "cross-site"]) == 403)
            #expect(try status("localhost", ["Sec-Fetch-Site": "none"]) == 200)
            // With a key it is the key that counts.
            #expect(try status("evil.example", ["api-key": "any-key", "Origin": "https://evil.example"]) == 200)
        }
    }

    @Test("A page of a configured origin may read the answers, another may not")
    func crossOrigin() async throws {
        try await withKeys(trusted: true) { house in
            let connection = try Connection(to: house.port)
            let asked = ["Origin": "https://map.example.org", "Access-Control-Request-Method": "POST"]
            let allowed = try connection.ask("OPTIONS", "/api/d/device/list", fields: asked)
            #expect(allowed.status == 204 && allowed.fields["access-control-allow-origin"] == "https://map.example.org")
            #expect(allowed.fields["access-control-allow-headers"]?.contains("Idempotency-Key") == true)
            let refused = try connection.ask("OPTIONS", "/api/d/device/list", fields: ["Origin": "https://evil.example"])
            #expect(refused.fields["access-control-allow-origin"] == nil)
            let got = try connection.ask("GET", "/healthz", fields: asked)
            #expect(got.fields["access-control-allow-origin"] == "https://map.example.org" && got.fields["vary"] == "Origin")
        }
    }

    @Test("Patterns of origins match any run of characters, in any case, and take no time to fail")
    func patterns() {
        let patterns = OriginPatterns(["http://localhost:*", "https://*.example.org"])
        for origin in ["http://localhost:1", "HTTPS://a.b.example.org"] { #expect(patterns.allow(origin)) }
        for origin in ["http://localhost", "https://example.org", "https://a.example.org.evil", ""] {
            #expect(!patterns.allow(origin), "\(origin)")
        }
        let many = OriginPatterns([String(repeating: "*a", count: 200) + "b"])
        #expect(!many.allow(String(repeating: "a", count: 10_000)))
    }

    @Test("Behind a proxy the last address it names has the limit of an address")
    func forwarded() async throws {
        try await withHTTP({
            $0.isBehindProxy = true
            $0.trustsLoopback = false
            $0.keys = [FileKey(key: "museum-key", dataset: "museum", client: "ann")]
            $0.limits.connectionsPerAddress = 2
        }) { house in
            let connection = try Connection(to: house.port)
            func open(_ address: String) throws -> Socket {
                try Socket(to: house.port, "/api/museum/socket?key=museum-key", fields: ["X-Forwarded-For": address])
            }
            func status(_ address: String) throws -> Int {
                try connection.ask("GET", "/api/museum/nothing/here?key=museum-key", fields: ["X-Forwarded-For": address]).status
            }
            var sockets = [try open("198.51.100.7, 192.0.2.1"), try open("192.0.2.1")]
            #expect(try status("192.0.2.1") == 503)
            #expect(throws: Connection.Failure.self) { _ = try open("203.0.113.9, 192.0.2.1") }
            #expect(try status("192.0.2.2") == 404)
            sockets.removeFirst()
            var isFree = false
            for _ in 0..<1000 where !isFree { isFree = try status("192.0.2.1") == 404 }
            #expect(isFree)
        }
    }
}
