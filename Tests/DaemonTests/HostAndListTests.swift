import SeededRandom
import Testing

@testable import geomatchd

@Suite("HOST:PORT and lists")
struct HostAndListTests {
    @Test(
        "HOST:PORT is a host and a port, IPv6 in brackets",
        arguments: [
            ("127.0.0.1:1883", "127.0.0.1", 1883), ("localhost:1", "localhost", 1), ("[::1]:65535", "::1", 65_535),
            ("a-b.example.org:80", "a-b.example.org", 80), ("[fe80::1%eth0]:80", "fe80::1%eth0", 80),
        ])
    func hosts(_ row: (text: String, host: String, port: Int)) throws {
        let (host, port) = try #require(SettingsReader.hostAndPort(row.text))
        #expect(host == row.host && port == row.port)
    }

    @Test(
        "What is no host or no port is refused",
        arguments: [
            "", ":", "h", "h:", ":1", "h:0", "h:65536", "h:-1", "h:+1", "h: 1", "h:1 ", "h:1e3", "h:٣", "h:000001", "::1:1",
            "[::1:1",
            "::1]:1", "[]:1", "a b:1", " h:1", "h\n:1", "h\nallow_anonymous true:1", "h\u{0}:1", "h/:1", "h#:1", "mqtt://h:1",
            "h:99999999999999999999",
        ])
    func noHosts(_ text: String) {
        #expect(SettingsReader.hostAndPort(text) == nil)
    }

    @Test("Only an address of this machine is loopback")
    func loopback() {
        for host in ["localhost", "::1", "127.0.0.1", "127.1.2.3", "127.255.255.255"] {
            #expect(Settings.isLoopback(host), "\(host)")
        }
        for host in [
            "127.example.org", "127.0.0.1.example.org", "127.0.0.256", "127.0.0", "127.", "127.0.0.1 ", "0.0.0.0", "::",
            "10.0.0.1", "",
            "localhost.example.org", "127.0.0.+1", "127.0.0.", "128.0.0.1", "::ffff:10.0.0.1",
        ] {
            #expect(!Settings.isLoopback(host), "\(host)")
        }
    }

    @Test("A list's items are what stands between its commas, without the space around them")
    func lists() {
        for (text, items) in [
            ("a", ["a"]), ("a,b", ["a", "b"]), (" a ,\tb ", ["a", "b"]), ("", []), ("  ", []), ("a b,c", ["a b", "c"]),
        ] as [(String, [String])] {
            #expect(SettingsReader.list(text) == items, "\(text)")
        }
        for text in [",", "a,", ",a", "a,,b", "a, ,b"] { #expect(SettingsReader.list(text) == nil, "\(text)") }
    }

    @Test("A list of any items is read as it was written, and any text is a list or none")
    func listFuzz() {
        var random = SplitMix64.forTest()
        let letters = Array("ab*/-.é \t\n😀\u{0}")
        for _ in 0..<5000 {
            let items = (0..<1 + random.below(4)).map { _ in
                "x" + String((0..<random.below(5)).map { _ in random.pick(letters) }) + "y"
            }
            let spaces = ["", " ", "\t", "  "]
            let text = items.map { random.pick(spaces) + $0 + random.pick(spaces) }.joined(separator: ",")
            #expect(SettingsReader.list(text) == items, "\(text)")
            let noise = String((0..<random.below(8)).map { _ in random.pick(letters + [","]) })
            for item in SettingsReader.list(noise) ?? [] {
                #expect(
                    !item.isEmpty && !item.contains(",") && item.first?.isWhitespace == false && item.last?.isWhitespace == false)
            }
        }
    }
}
