import MQTTDoor
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Pushers")
struct PusherTests {
    private static let naming = Topics(prefix: "").naming
    private static let recipient = Recipient("d", "alice", .match, "phone", "s")

    struct Row: CustomTestStringConvertible {
        var text: String
        /// What it comes to, in words; or the error's name.
        var meaning: String
        var testDescription: String { text.isEmpty ? "(empty)" : String(text.prefix(60)) }

        init(_ text: String, _ meaning: String) { (self.text, self.meaning) = (text, meaning) }
    }

    private static func browser(
        endpoint: String = "https://push.example/a",
        p256dh: String = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        auth: String = "BTBZMqHH6r4Tts7J_aSIgg", more: String = ""
    ) -> String {
        #"{"webpush":{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(p256dh)","auth":"\#(auth)"}\#(more)}}"#
    }

    private static let long = String(repeating: "x", count: 1024 - "geomatch/d/alice/".utf8.count)

    @Test(
        "mean the match topic, a topic below the owner's tree, a webhook, or a push service",
        arguments: [
            Row("ws", "match"), Row("localhost", "match"), Row("WS", "invalid"), Row("", "invalid"), Row("mqtt", "invalid"),
            Row("mqtt:a", "geomatch/d/alice/a"), Row("MQTT:a/b c/é", "geomatch/d/alice/a/b c/é"),
            Row("mqtt:geomatch/d/alice/a", "geomatch/d/alice/a"), Row("mqtt:match/phone/s", "match"),
            Row("mqtt:geomatch/d/alice/match/phone/s", "match"), Row("mqtt:match/phone/t", "geomatch/d/alice/match/phone/t"),
            Row("mqtt:requests", "geomatch/d/alice/requests"), Row("mqtt:a/request", "geomatch/d/alice/a/request"),
            Row("mqtt:request", "invalid"), Row("mqtt:request/device/create", "invalid"),
            Row("mqtt:geomatch/d/alice/request/a", "invalid"), Row("mqtt:geomatch/d/bob/a", "invalid"),
            Row("mqtt:geomatch/d/alice/", "invalid"), Row("mqtt:geomatch/e/alice/a", "invalid"), Row("mqtt:", "invalid"),
            Row("mqtt:/a", "invalid"), Row("mqtt:a/", "invalid"), Row("mqtt:a//b", "invalid"), Row("mqtt://host/a", "invalid"),
            Row("mqtt:a/+", "invalid"), Row("mqtt:#", "invalid"), Row("mqtt:a\u{0}", "invalid"), Row("mqtt:a\u{7F}", "invalid"),
            Row("mqtt:\u{FFFF}", "invalid"), Row("mqtt:" + long, "geomatch/d/alice/" + long),
            Row("mqtt:" + long + "x", "invalid"),
            Row("http://example.com/a?b", "http://example.com:80"), Row("HTTPS://example.com", "https://example.com:443"),
            Row("http://user@example.com/", "invalid"), Row("http:/x", "invalid"), Row("ftp://x", "invalid"),
            Row("apns://0aF", "apns://0aF"), Row("APNS://x-_", "apns://x-_"), Row("apns://", "token of apns"),
            Row("apns:", "invalid"), Row("apns:x", "invalid"), Row("apns:/x", "invalid"), Row("apns://a/b", "invalid"),
            Row("apns://..", "invalid"), Row("apns://a\nb", "invalid"), Row("apns://a b", "invalid"), Row("apns://é", "invalid"),
            Row("apns://" + String(repeating: "a", count: 256), "apns://" + String(repeating: "a", count: 256)),
            Row("apns://" + String(repeating: "a", count: 257), "invalid"),
            Row("fcm://", "token of fcm"), Row("fcm:x", "invalid"), Row("fcm://a:b/c%", "fcm://a:b/c%"),
            Row("fcm://a\r\nb", "invalid"), Row("fcm://a\u{0}", "invalid"),
            Row(browser(), browser()), Row(browser(p256dh: "BCVxsr7N"), "invalid"),
            Row(browser(auth: "BTBZMqHH6r4Tts7J_aSI"), "invalid"),
            Row(browser(endpoint: "ftp://x"), "invalid"), Row(browser(more: #","x":1"#), "invalid"),
            Row(browser(more: #","expirationTime":null"#), browser()), Row("{}", "invalid"), Row("{", "invalid"),
            Row(#"{"webpush":1}"#, "invalid"), Row(#"{"webpush":{"endpoint":"https://x"}}"#, "invalid"),
        ])
    func meaning(_ row: Row) {
        let meaning: String
        do throws(WireError) {
            switch try Pusher(row.text, of: Self.recipient, naming: Self.naming) {
            case .match: meaning = "match"
            case .path(let recipient): meaning = Self.naming.name(of: recipient)
            case .webhook(let url): meaning = url.origin
            case .push(let target): meaning = target.text
            case .device(let kind): meaning = "token of \(kind.rawValue)"
            }
        } catch {
            #expect(error.field?.hasPrefix("pushers") == true)
            meaning = error.code.rawValue
        }
        #expect(meaning.hasSameBytes(as: row.meaning))
    }

    @Test("had a misspelt member in an object refused without its name, and without the one that was meant")
    func misspelt() {
        let harness = HubHarness()
        harness.makePair()
        func error(_ pusher: String) -> JSONValue? {
            harness.request("subscription/update", #"{"id":"s","pushers":["ws",\#(pusher)]}"#)?["error"]
        }
        for (pusher, field, meant) in [
            (#"{"webpsh":{}}"#, "pushers[1].webpsh", "pushers[1].webpush"),
            (#"{"webpush":{"endpont":"https://x"}}"#, "pushers[1].webpush.endpont", "pushers[1].webpush.endpoint"),
            (#"{"webpush":{"keys":{"auht":"x"}}}"#, "pushers[1].webpush.keys.auht", "pushers[1].webpush.keys.auth"),
        ] {
            let error = error(pusher)
            #expect(error?.refusal == "invalid " + field)
            #expect(error?["message"]?.text?.contains("did you mean `\(meant)`?") == true, "\(error as Any)")
        }
    }

    @Test("that come to the same are refused, those that only look alike are not")
    func duplicates() {
        func isRefused(_ texts: [String]) -> Bool {
            (try? [Pusher](reading: texts, of: Self.recipient, naming: Self.naming)) == nil
        }
        #expect(isRefused(["mqtt:a", "mqtt:geomatch/d/alice/a"]) && isRefused(["ws", "ws"]))
        #expect(isRefused(["http://EXAMPLE.com", "http://example.com:80/"]))
        #expect(!isRefused(["ws", "localhost", "mqtt:a", "mqtt:A", "http://example.com/a", "http://example.com/b"]))
        #expect(!isRefused(["mqtt:\u{E9}", "mqtt:e\u{301}"]))
    }

    @Test(
        "to private addresses are refused where the operator wants that, and metadata services always, at create and at update",
        arguments: [
            "http://localhost/", "http://127.0.0.1:9/", "http://[::1]/", "https://10.1.2.3/", "http://192.168.0.1/",
            "http://169.254.169.254/latest", "http://0x7f.1/", "http://[::ffff:10.0.0.1]/",
        ])
    func privateAddresses(_ url: String) {
        for allows in [false, true] {
            let harness = HubHarness { $0.webhooksAllowPrivate = allows }
            harness.makePair()
            // The services that tell of a machine's credentials are never asked.
            let refusal = allows && !url.contains("169.254.169.254") ? nil : "invalid pushers"
            #expect(harness.refusal("subscription/update", #"{"id":"s","pushers":["\#(url)"]}"#) == refusal)
            #expect(
                harness.refusal(
                    "subscription/create",
                    #"{"deviceId":"phone","topic":"t","range":1,"duration":9,"pushers":["ws","\#(url)"]}"#) == refusal)
        }
    }

    @Test("are answered as they were given, and null removes them")
    func roundTrip() {
        let harness = HubHarness()
        harness.makePair("", #","pushers":["mqtt:geomatch/d/alice/a","ws","http://Example.com"]"#)
        func reported() -> JSONValue? { harness.result("subscription/get", #"{"id":"s"}"#)?["pushers"] }
        #expect(reported() == ["mqtt:geomatch/d/alice/a", "ws", "http://Example.com"])
        harness.restart(killed: true)
        #expect(reported()?.elements.count == 3)
        _ = harness.request("subscription/update", #"{"id":"s","pushers":null}"#)
        #expect(reported() == [])
        harness.move(metres: 1)
        #expect(harness.matches.count == 1 && harness.posts.isEmpty)
    }
}
