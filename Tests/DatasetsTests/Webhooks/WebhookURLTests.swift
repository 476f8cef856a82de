import SeededRandom
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("URLs of webhooks")
struct WebhookURLTests {
    @Test(
        "A URL is read as a client would connect to it",
        arguments: [
            ("http://example.com", "http://example.com:80/"),
            ("HTTP://Example.COM/Path?q=1", "http://example.com:80/Path?q=1"),
            ("https://example.com/", "https://example.com:443/"),
            ("https://example.com:/", "https://example.com:443/"),
            ("https://example.com.:8443/a", "https://example.com:8443/a"),
            ("http://a_b.example-1.xn--p1ai:65535?x=%20", "http://a_b.example-1.xn--p1ai:65535/?x=%20"),
            ("http://192.0.2.1/hook", "http://192.0.2.1:80/hook"),
            ("http://127.1/", "http://127.0.0.1:80/"),
            ("http://0x7f.1/", "http://127.0.0.1:80/"),
            ("http://0X7F000001/", "http://127.0.0.1:80/"),
            ("http://2130706433/", "http://127.0.0.1:80/"),
            ("http://017700000001/", "http://127.0.0.1:80/"),
            ("http://0177.0.0.01./", "http://127.0.0.1:80/"),
            ("http://192.168.257/", "http://192.168.1.1:80/"),
            ("http://0/", "http://0.0.0.0:80/"),
            ("http://[::1]:8080/", "http://[0:0:0:0:0:0:0:1]:8080/"),
            ("http://[2001:db8::A]", "http://[2001:db8:0:0:0:0:0:a]:80/"),
            ("http://[::ffff:127.0.0.1]/", "http://[0:0:0:0:0:ffff:7f00:1]:80/"),
            ("http://[1:2:3:4:5:6:7:8]/", "http://[1:2:3:4:5:6:7:8]:80/"),
            ("http://[1:2:3:4:5:6:7::]/", "http://[1:2:3:4:5:6:7:0]:80/"),
            ("http://example.com/a;b=c/(d)*!'~:@$&,+?/?:@", "http://example.com:80/a;b=c/(d)*!'~:@$&,+?/?:@"),
        ])
    func isRead(_ text: String, _ normalized: String) throws {
        let url = try WebhookURL(text)
        #expect(url.normalized == normalized)
        #expect(url.text == text)
        #expect(try WebhookURL(normalized).origin == url.origin)
    }

    @Test(
        "What is no clear http URL is refused, naming the rule",
        arguments: [
            ("", "begins with"), ("example.com", "begins with"), ("ftp://example.com/", "begins with"),
            ("http:/example.com", "begins with"), ("http:example.com", "begins with"), (" http://example.com", "begins with"),
            ("http://", "names a host"), ("http:///path", "names a host"), ("http://:80/", "names a host"),
            ("http://user@example.com/", "user name"), ("http://user:hunter2@example.com/", "user name"),
            ("http://example.com#x", "fragment"), ("http://example.com/a#x", "fragment"),
            ("http://example.com\\@evil/", "special characters"), ("http://example.com/a b", "special characters"),
            ("http://example.com/\u{7}", "special characters"), ("http://example.com/é", "special characters"),
            ("http://example.com/\"", "special characters"), ("http://example.com/{x}", "special characters"),
            ("http://example.com/%", "hex digits"), ("http://example.com/%4", "hex digits"),
            ("http://example.com/%zz", "hex digits"),
            ("http://exa mple.com/", "letters, digits"), ("http://exämple.com/", "letters, digits"),
            ("http://127%2e1/", "letters, digits"), ("http://127。0。0。1/", "letters, digits"),
            ("http://a..b/", "1 to 63"), ("http://.a/", "1 to 63"), ("http://a../", "1 to 63"), ("http://./", "1 to 63"),
            ("http://\(String(repeating: "a", count: 64)).com/", "1 to 63"),
            ("http://\(String(repeating: "a.", count: 130))com/", "at most 253"),
            ("http://256.1.1.1/", "IPv4"), ("http://1.2.3.4.5/", "IPv4"), ("http://4294967296/", "IPv4"),
            ("http://example.1/", "IPv4"),
            ("http://127.0.0.09/", "IPv4"), ("http://0x7g.1/", "IPv4"), ("http://1.65536.1/", "IPv4"),
            ("http://99999999999999999999999/", "IPv4"), ("http://example.0x7f/", "IPv4"),
            ("http://[::1/", "without ]"), ("http://[::1]x/", "only a port"), ("http://[fe80::1%25eth0]/", "IPv6"),
            ("http://[]/", "IPv6"), ("http://[:::]/", "IPv6"), ("http://[1::2::3]/", "IPv6"), ("http://[1:2:3:4:5:6:7]/", "IPv6"),
            ("http://[1:2:3:4:5:6:7:8:9]/", "IPv6"), ("http://[1::2:3:4:5:6:7:8]/", "IPv6"), ("http://[12345::]/", "IPv6"),
            ("http://[::127.0.0.01]/", "IPv6"), ("http://[127.0.0.1]/", "IPv6"), ("http://[1.2.3.4::]/", "IPv6"),
            ("http://[::ffff:127.1]/", "IPv6"), ("http://[+1::]/", "IPv6"), ("http://[1:]/", "IPv6"),
            ("http://example.com:0/", "port"), ("http://example.com:65536/", "port"), ("http://example.com:+80/", "port"),
            ("http://example.com:8o/", "port"), ("http://a:80:80/", "port"), ("http://::1/", "port"),
            ("http://example.com/\(String(repeating: "a", count: 2048))", "2048 bytes"),
        ])
    func isRefused(_ text: String, _ rule: String) {
        do {
            let url = try WebhookURL(text, field: "pushers.0")
            Issue.record("\(text.prefix(80)) is read as \(url.normalized)")
        } catch {
            #expect(error.code == .invalid)
            #expect(error.field == "pushers.0")
            #expect(error.message.contains(rule), "\(text.prefix(80)): \(error.message)")
            #expect(!error.message.contains("hunter2"))
            #expect(error.message.utf8.count < 500)
        }
    }

    @Test("Any text is read or refused, and what is read is read the same again")
    func survivesNoise() throws {
        var random = SplitMix64.forTest()
        let pieces = [
            "http", "https", ":", "/", "//", "://", "[", "]", "::", ".", "..", "@", "#", "?", "%", "%41", "0x", "0", "1", "255",
            "4294967295",
            "a", "example", "com", "localhost", "é", "\u{0}", "\\", " ", "ffff", ":80", "-", "_", "\u{1F600}",
        ]
        var read = 0
        for _ in 0..<20_000 {
            var text = random.next() % 4 == 0 ? "" : "http://"
            for _ in 0..<random.next() % 9 { text += pieces[Int(random.next() % UInt64(pieces.count))] }
            guard let url = try? WebhookURL(text) else { continue }
            read += 1
            let again = try WebhookURL(url.normalized)
            #expect(again.normalized == url.normalized && again.host == url.host && again.port == url.port, "\(text)")
        }
        #expect(read > 100)
    }
}
