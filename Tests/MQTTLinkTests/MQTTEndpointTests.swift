import Testing

@testable import MQTTLink

@Suite("MQTTEndpoint")
struct MQTTEndpointTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var url: String
        var host: String
        var port: Int
        var user: String?
        var password: String?
        var encrypted = false
        var testDescription: String { url }
    }

    @Test(
        "A URL gives host, port, credentials and encryption",
        arguments: [
            Row(url: "mqtt://broker", host: "broker", port: 1883),
            Row(url: "mqtts://broker", host: "broker", port: 8883, encrypted: true),
            Row(url: "MQTT://broker:1/", host: "broker", port: 1),
            Row(url: "localhost", host: "localhost", port: 1883), Row(url: "127.0.0.1:23001", host: "127.0.0.1", port: 23001),
            Row(url: "ann:x@broker:1884", host: "broker", port: 1884, user: "ann", password: "x"),
            Row(url: "mqtt://[::1]", host: "::1", port: 1883),
            Row(url: "mqtts://[fe80::1]:65535", host: "fe80::1", port: 65535, encrypted: true),
            Row(url: "mqtt://ann@h", host: "h", port: 1883, user: "ann"),
            Row(url: "mqtt://ann:@h", host: "h", port: 1883, user: "ann", password: ""),
            Row(url: "mqtt://ann:a%40b%3Ac%25@h:2", host: "h", port: 2, user: "ann", password: "a@b:c%"),
            Row(url: "mqtt://ann:p@ss:w/rd@h", host: "h", port: 1883, user: "ann", password: "p@ss:w/rd"),
            Row(url: "mqtt://%C3%A4:x@h", host: "h", port: 1883, user: "ä", password: "x"),
        ])
    func reads(_ row: Row) throws {
        let endpoint = try MQTTEndpoint(url: row.url)
        #expect(endpoint.host == row.host)
        #expect(endpoint.port == row.port)
        #expect(endpoint.username == row.user)
        #expect(endpoint.password == row.password)
        #expect((endpoint.tls != nil) == row.encrypted)
    }

    @Test(
        "A wrong URL is refused with what is wrong in it",
        arguments: [
            ("", MQTTEndpointError.hostMissing), ("http://h", .scheme("http")), ("user:secret://h", .scheme("")),
            ("mqtt://", .hostMissing), ("mqtt://:1", .hostMissing),
            ("mqtt://ann:secret@", .hostMissing), ("mqtt://h:", .port("")), ("mqtt://h:0", .port("0")),
            ("mqtt://h:65536", .port("65536")), ("mqtt://h:+1", .port("…")), ("mqtt://h:x", .port("…")),
            ("mqtt://u@h:x", .port("x")),
            ("mqtt://::1", .host("…")), ("mqtt://[::1", .host("…")), ("mqtt://[h]", .host("[h]")),
            ("mqtt://h/x", .trailing("…")), ("mqtt://u@h?x", .trailing("?x")), ("mqtt://user:secret", .port("…")),
            ("mqtt://user:sec/secret", .trailing("…")), ("mqtt://user:h:secret", .host("…")),
            ("mqtt://a,,b", .hostMissing), ("mqtt://u@a,b:x", .port("x")), ("mqtt://a:1,b:secret", .port("…")),
            ("mqtt://a%4:b@h", .encoding(part: "user")),
            ("mqtt://a:secret%FF@h", .encoding(part: "password")), ("mqtt://a:b%00@h", .character(part: "password")),
        ])
    func refuses(_ url: String, _ expected: MQTTEndpointError) {
        #expect(throws: expected) { try MQTTEndpoint(url: url) }
        #expect(!expected.description.contains("secret"))
    }

    @Test("Several hosts have a port each, and one user")
    func severalHosts() throws {
        let endpoint = try MQTTEndpoint(url: "mqtts://ann:secret@one,[::1]:2,three:3/")
        #expect(endpoint.hosts.map(\.name) == ["one", "::1", "three"])
        #expect(endpoint.hosts.map(\.port) == [8883, 2, 3])
        #expect(endpoint.password == "secret")
        #expect(endpoint.name == "mqtts://one:8883,[::1]:2,three:3")
    }

    @Test("The name for logs has no credentials")
    func name() throws {
        #expect(try MQTTEndpoint(url: "mqtts://ann:secret@[::1]").name == "mqtts://[::1]:8883")
        #expect(MQTTEndpoint(unixPath: "/run/m.sock").name == "unix:/run/m.sock")
    }
}
