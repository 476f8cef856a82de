import Testing

@testable import geomatchd

@Suite("Settings of HTTP")
struct HTTPSettingsTests {
    @Test("HTTP is offered on loopback unless it is off, and port 0 is any")
    func places() throws {
        #expect(try read().http?.listen == "127.0.0.1:8080")
        #expect(try read(flags: ["http": "off"]).http == nil)
        #expect(try read(file: "http: off").http == nil)
        #expect(try read(flags: ["http": "[::1]:0"]).http?.listen == "[::1]:0")
        #expect(try read(file: "http: localhost:9").http?.listen == "localhost:9")
        #expect(try read(file: "http:\n  listen: 127.0.0.1:9\n  origins: [https://a.example]").http?.listen == "127.0.0.1:9")
        #expect(try read(flags: ["http": "off"], file: "http:\n  listen: 127.0.0.1:9").http == nil)
        #expect(refusal(file: "http:\n  nonsense: 1")?.problem.contains("no such key") == true)
        #expect(refusal(file: "http: {origins: [evil]}") != nil)
    }

    @Test("Beyond loopback it needs TLS or a proxy, and the refusal names both")
    func beyond() throws {
        let refused = try #require(refusal(flags: ["http": "0.0.0.0:8080"]))
        #expect(refused.source == .together && refused.description.contains("http.tls"))
        #expect(refused.description.contains("http.behind-proxy"))
        let said = try geomatchd(["--http", "0.0.0.0:8080", "--check-config"])
        #expect(said.code == 78, "\(said)")
        let proxied = try read(flags: ["http": "0.0.0.0:8080"], file: "http: {behind-proxy: true}")
        #expect(proxied.httpConfiguration?.trustsLoopback == false && proxied.httpConfiguration?.isBehindProxy == true)
        let encrypted = try read(file: "http: {listen: \"0.0.0.0:8443\", tls: {certificate-file: a, key-file: b}}")
        #expect(encrypted.http?.tls?.certificateFile == "a")
        #expect(refusal(file: "http: {tls: {key-file: b}}") != nil)
    }

    @Test("Callers on this machine are trusted only where the broker trusts them, too")
    func trust() throws {
        #expect(try read().httpConfiguration?.trustsLoopback == true)
        #expect(try read(flags: ["users": "f"]).httpConfiguration?.trustsLoopback == false)
        #expect(try read().httpConfiguration?.broker?.asksWho == false)
        #expect(try read(flags: ["users": "f"]).httpConfiguration?.broker?.asksWho == true)
    }

    @Test("Match sockets need keys where the file says so")
    func matchSockets() throws {
        #expect(try read().httpConfiguration?.matchSocketsNeedKeys == false)
        let settings = try read(file: "http: {matchmore-socket-key: required}")
        #expect(settings.httpConfiguration?.matchSocketsNeedKeys == true)
        #expect(try read(file: settings.text).httpConfiguration?.matchSocketsNeedKeys == true)
        #expect(refusal(file: "http: {matchmore-socket-key: maybe}")?.key == "http.matchmore-socket-key")
    }

    @Test("Keys of the file are read, and never shown")
    func keys() throws {
        let settings = try read(
            file: "keys:\n  - {key: hunter2hunter2, dataset: d, client: ann}\n  - {key: otherother, dataset: '*', client: bob}")
        #expect(settings.keys.map(\.client) == ["ann", "bob"] && settings.keys.map(\.dataset) == ["d", "*"])
        #expect(!settings.text.contains("hunter2"))
        for wrong in [
            "{key: '', dataset: d, client: ann}", "{key: hunter2hunter2, dataset: live, client: ann}",
            "{key: hunter2hunter2, dataset: d, client: status}", "{key: hunter2hunter2, dataset: d, client: a, more: b}",
            "{key: hunter2hunter2, client: a}",
        ] {
            let refused = try #require(refusal(file: "keys:\n  - \(wrong)"), "\(wrong)")
            #expect(refused.key.hasPrefix("keys[0]") && !refused.description.contains("hunter2"))
        }
    }

    @Test("A short key of the file is taken, and warned of")
    func shortKey() throws {
        let settings = try read(
            file: "keys:\n  - {key: longenough, dataset: d, client: a}\n  - {key: short, dataset: d, client: b}")
        #expect(settings.keys.map(\.key) == ["longenough", "short"])
        let warnings = settings.warnings.filter { $0.contains("keys[") }
        #expect(warnings.count == 1 && warnings[0].hasPrefix("keys[1].key ") && !warnings[0].contains("short"), "\(warnings)")
    }

    @Test("What is printed of HTTP reads back as the same")
    func printed() throws {
        let file = "http: {listen: \"0.0.0.0:1\", origins: [\"https://*.example\"], tls: {certificate-file: a, key-file: b}}"
        let settings = try read(file: file)
        #expect(try read(file: settings.text).text == settings.text)
        #expect(try read(file: try read(flags: ["http": "off"]).text).http == nil)
    }
}
