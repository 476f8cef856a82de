import DaemonCore
import Testing
import Wire

@testable import Datasets
@testable import Records

extension HubHarness {
    /// All three services are set up.
    static func pushing(_ adjust: (inout HubConfiguration) -> Void = { _ in }) -> HubHarness {
        let harness = HubHarness { configuration in
            (configuration.push.apns, configuration.push.fcm, configuration.push.webKey) = (true, true, "BKey")
            configuration.push.isPublicKey = { $0.last != 0 }
            adjust(&configuration)
        }
        harness.acknowledges = true
        return harness
    }

    static let browser =
        #"{"webpush":{"endpoint":"https://push.example/a","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}}"#

    var pushes: [PushPost] { pushPoster.posts }
}

extension PushPost {
    var json: JSONValue? { try? JSONValue.parse(message) }
}

@Suite("Push deliveries")
struct PushDeliveryTests {
    private func delivery(_ harness: HubHarness) -> Delivery {
        harness.hub.datasets["d"]?.geomatching.subscriptions["s"]?.record.delivery ?? Delivery()
    }

    private func subscribe(_ harness: HubHarness, _ pushers: String, _ more: String = "", properties: String = "{}") {
        harness.makePair(#","properties":\#(properties)"#, #","matchTTL":0,"pushers":[\#(pushers)]\#(more)"#)
    }

    private func state(_ harness: HubHarness) -> String? { harness.result("device/get", #"{"id":"phone"}"#)?["pushState"]?.text }

    @Test("A match goes to each service as ids, topic, event and text, and never as itself")
    func message() throws {
        let harness = HubHarness.pushing()
        subscribe(
            harness, #""apns://abc","fcm://x:y",\#(HubHarness.browser)"#,
            #","notification":{"title":"{topic} at {properties.name}","body":"{distance} m, {properties.price} €, {device}"}"#,
            properties: #"{"name":"Café","price":2.5}"#)
        harness.move(metres: 12.4)
        let id = try #require(harness.matches.first?.json?["id"]?.text)
        #expect(harness.pushes.map(\.target.kind) == [.apns, .fcm, .web])
        for post in harness.pushes {
            #expect(post.id == id && post.expiresAt == harness.now + 3_600_000)
            #expect(post.json?.keys == ["matchId", "deviceId", "subscriptionId", "topic", "event", "notification"])
            #expect(post.json?["matchId"]?.text == id && post.json?["event"]?.text == "matched")
            #expect(post.json?["notification"]?["title"]?.text == "coffee at Café")
            #expect(post.json?["notification"]?["body"]?.text == "12 m, 2.5 €, phone")
        }
        #expect(delivery(harness).pending == 1)
        for post in harness.pushes { harness.answer(post) }
        #expect(delivery(harness).delivered == 1 && delivery(harness).pending == 0)
        #expect(harness.store.pendingMatches.isEmpty)
    }

    @Test("Which targets have a match is recorded once where they have it within a second, and each as it is where they do not")
    func progress() {
        let harness = HubHarness.pushing()
        subscribe(harness, #""apns://abc""#)
        harness.recordsAtOnce = false
        func progress() -> [UInt32] {
            harness.changes.compactMap { if case .amend(let progress as MatchProgress) = $0 { progress.completed } else { nil } }
        }
        harness.move(metres: 12)
        harness.advance(milliseconds: 500)
        harness.answer(harness.pushes[0])
        harness.advance(milliseconds: Hub.tickMilliseconds)
        #expect(progress().isEmpty && harness.store.pendingMatches.isEmpty)
        harness.pushPoster.posts = []
        harness.move(metres: 13)
        harness.advance(milliseconds: 900)
        #expect(progress().isEmpty)
        harness.advance(milliseconds: 200)
        #expect(progress() == [1])
        // Its topic has it, as was recorded: only the service is sent it again, under the same id.
        let id = harness.pushes[0].id
        harness.restart(killed: true)
        #expect(harness.matches.isEmpty && harness.pushes.map(\.id) == [id])
        harness.answer(harness.pushes[0])
        #expect(delivery(harness).delivered == 2 && delivery(harness).matched == 2 && delivery(harness).pending == 0)
    }

    @Test("A push that was accepted when the daemon was killed is sent again under the same id, and counted once")
    func killedBehindIt() {
        let harness = HubHarness.pushing()
        subscribe(harness, #""apns://abc""#)
        harness.recordsAtOnce = false
        harness.move(metres: 12)
        let id = harness.pushes[0].id
        harness.answer(harness.pushes[0])
        #expect(delivery(harness).delivered == 1)
        harness.restart(killed: true)
        #expect(harness.pushes.map(\.id) == [id] && delivery(harness).delivered == 0)
        harness.answer(harness.pushes[0])
        #expect(delivery(harness).delivered == 1 && delivery(harness).matched == 1 && delivery(harness).pending == 0)
    }

    @Test("The end of a visit is pushed, too")
    func visits() {
        let harness = HubHarness.pushing()
        subscribe(harness, #""fcm://a""#, #","mode":"visit""#)
        harness.move(metres: 10)
        harness.move(metres: 200)
        #expect(harness.pushes.map { $0.json?["event"]?.text } == ["matched", "ended"])
        #expect(harness.pushes.allSatisfy { $0.json?["notification"] == nil })
        #expect(Set(harness.pushes.map(\.pair)).count == 1 && Set(harness.pushes.map(\.id)).count == 2)
    }

    @Test("A service that is not set up is unsupported, and the message names its key")
    func unsupported() {
        let harness = HubHarness()
        for (pusher, key) in [("\"apns://x\"", "push.apns"), ("\"fcm://\"", "push.fcm"), (HubHarness.browser, "push.web")] {
            harness.makePair()
            let reply = harness.request("subscription/update", #"{"id":"s","pushers":[\#(pusher)]}"#)?["error"]
            #expect(reply?["error"]?.text == "unsupported" && reply?["field"]?.text == "pushers")
            #expect(reply?["message"]?.text?.contains("`\(key)`") == true)
            #expect(
                harness.refusal("geofence/create", #"{"area":\#(HubHarness.circle()),"pushers":[\#(pusher)]}"#)
                    == "unsupported pushers")
        }
        #expect(harness.refusal("push/key") == "unsupported")
        let pushing = HubHarness.pushing()
        pushing.makePair()
        #expect(pushing.result("push/key", "{}")?["publicKey"]?.text == "BKey")
    }

    @Test("A token without a scheme is for the service of the device's platform only")
    func platform() {
        for (platform, own, other) in [("iOS", "apns://", "fcm://"), ("android 14", "fcm://", "apns://")] {
            let harness = HubHarness.pushing()
            harness.makePair()
            func update(_ pusher: String) -> String? {
                harness.refusal("subscription/update", #"{"id":"s","pushers":["\#(pusher)"]}"#)
            }
            _ = harness.request("device/update", #"{"id":"phone","platform":"\#(platform)","deviceToken":"abc"}"#)
            #expect(update(other) == "invalid pushers" && update(own) == nil, "\(platform)")
            _ = harness.request("device/update", #"{"id":"phone","deviceToken":"\#(other)abc"}"#)
            #expect(update(own) == "invalid pushers" && update(other) == nil, "\(platform)")
        }
    }

    @Test("Without a token it is the device's, and one that has none is invalid")
    func deviceToken() {
        let harness = HubHarness.pushing()
        harness.makePair()
        func update(_ pusher: String) -> String? {
            harness.refusal("subscription/update", #"{"id":"s","pushers":["\#(pusher)"]}"#)
        }
        #expect(update("fcm://") == "invalid pushers")
        _ = harness.request("device/update", #"{"id":"phone","deviceToken":"apns://abc"}"#)
        #expect(update("fcm://") == "invalid pushers" && update("apns://") == nil)
        _ = harness.request("device/update", #"{"id":"phone","deviceToken":"a\nb"}"#)
        #expect(update("fcm://") == "invalid pushers")
        _ = harness.request("device/update", #"{"id":"phone","deviceToken":"one"}"#)
        #expect(update("fcm://") == nil)
        harness.move(metres: 1)
        _ = harness.request("device/update", #"{"id":"phone","deviceToken":"two"}"#)
        _ = harness.request("subscription/update", #"{"id":"s","matchTTL":0}"#)
        harness.move(metres: 2)
        #expect(harness.pushes.last?.target.text == "fcm://two")
        #expect(harness.pushes.first?.target.text == "fcm://one")
        let matched = delivery(harness).matched
        _ = harness.request("device/update", #"{"id":"phone","deviceToken":null}"#)
        for post in harness.pushes { harness.answer(post) }
        harness.move(metres: 3)
        #expect(delivery(harness).matched > matched && delivery(harness).dropped == delivery(harness).matched - matched)
        #expect(harness.diagnostics("delivery", client: "alice").last?["error"] == "dropped")
    }

    @Test("A gone token ends what waits for it, marks the device until its token changes, and is reported to the owner")
    func gone() throws {
        let harness = HubHarness.pushing()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone","deviceToken":"old"}"#)
        subscribe(harness, #""fcm://""#)
        for metres in 1...20 { harness.move(metres: Double(metres)) }
        #expect(state(harness) == nil)
        let first = try #require(harness.pushes.first)
        for post in harness.pushes.dropFirst() { harness.answer(post, .failed(reason: "503", retryAfter: nil)) }
        harness.answer(first, .gone(reason: "FCM answered 404 UNREGISTERED"))
        #expect(harness.diagnostics("delivery", client: "alice").last?["error"] == "dropped")
        #expect(state(harness) == "gone")
        // Nothing is begun any more; what was under way has its own answer.
        #expect(delivery(harness).pending == Int64(harness.pushes.count) && harness.pushes.count < 8)
        for post in harness.pushes { harness.answer(post, .gone(reason: "FCM answered 404 UNREGISTERED")) }
        #expect(delivery(harness).dropped == 20 && delivery(harness).pending == 0)
        #expect(delivery(harness).lastError?.contains("UNREGISTERED") == true)
        harness.move(metres: 30)
        #expect(harness.pushes.isEmpty && delivery(harness).dropped == 21)
        harness.restart()
        #expect(state(harness) == "gone")
        harness.move(metres: 31)
        #expect(harness.pushes.isEmpty && delivery(harness).dropped == 22)
        _ = harness.request("device/update", #"{"id":"phone","name":"x"}"#)
        #expect(state(harness) == "gone")
        _ = harness.request("device/update", #"{"id":"phone","deviceToken":"new"}"#)
        #expect(state(harness) == nil)
        harness.move(metres: 32)
        #expect(harness.pushes.map(\.target.text) == ["fcm://new"])
        harness.restart()
        #expect(state(harness) == nil)
        let all = delivery(harness)
        #expect(all.matched == all.delivered + all.expired + all.dropped + all.pending)
    }

    @Test("A gone browser is forgotten with the pusher that named it, and late news of an old token marks nothing")
    func otherTargets() throws {
        let harness = HubHarness.pushing()
        subscribe(harness, #"\#(HubHarness.browser),"fcm://a""#)
        harness.move(metres: 1)
        let (web, fcm) = (try #require(harness.pushes.first), try #require(harness.pushes.last))
        harness.answer(web, .gone(reason: "410"))
        #expect(state(harness) == "gone" && delivery(harness).pending == 1)
        _ = harness.request("subscription/update", #"{"id":"s","pushers":["fcm://b"]}"#)
        #expect(state(harness) == nil)
        harness.answer(fcm, .gone(reason: "404"))
        #expect(state(harness) == nil && delivery(harness).dropped == 1)
    }

    @Test("The operator's fault is tried again at the slow end for an hour, and is an error in the log once a minute")
    func misconfigured() throws {
        let harness = HubHarness.pushing()
        subscribe(harness, #""apns://abc""#)
        _ = harness.request("publication/update", #"{"id":"p","duration":90000}"#)
        _ = harness.request("subscription/update", #"{"id":"s","duration":90000,"matchTTL":90000,"matchDTL":90000}"#)
        while delivery(harness).pending > 0 { harness.answer(try #require(harness.pushes.first)) }
        _ = harness.request("subscription/update", #"{"id":"s","matchTTL":0}"#)
        harness.move(metres: 1)
        let (start, before) = (harness.now, delivery(harness))
        var tries = 0
        while delivery(harness).pending > 0, harness.now - start < 4_000_000 {
            for post in harness.pushes {
                tries += 1
                harness.answer(post, .misconfigured(reason: "APNs answered 403 InvalidProviderToken"))
            }
            harness.advance(milliseconds: 1000, step: 1000)
        }
        #expect((11...13).contains(tries))
        #expect(delivery(harness).expired == before.expired + 1 && delivery(harness).dropped == before.dropped)
        #expect(harness.core.meters.pushFaults[.apns] == tries)
        #expect(harness.core.meters.posts[Meters.PostLabels("apns", "misconfigured")] == tries)
        #expect(harness.notices.contains { $0.contains("push service refuses") && $0.contains("InvalidProviderToken") })
    }

    @Test("What was not answered for goes out again after a crash, under the same id and with the same text")
    func restart() throws {
        let harness = HubHarness.pushing()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone","deviceToken":"t"}"#)
        subscribe(harness, #""fcm://","fcm://t","apns://abc""#, #","notification":{"body":"{topic}"}"#)
        harness.move(metres: 1)
        let posts = harness.pushes
        #expect(posts.map(\.target.text) == ["fcm://t", "apns://abc"])
        harness.answer(posts[0])
        harness.restart(killed: true)
        let again = harness.pushes
        #expect(again.map(\.target) == [posts[1].target] && again.map(\.id) == [posts[1].id])
        #expect(again.map(\.message) == [posts[1].message] && again.map(\.pair) == [posts[1].pair])
        harness.answer(again[0])
        #expect(delivery(harness).pending == 0 && harness.store.pendingMatches.isEmpty)
    }

    @Test("Over ten minutes of outage with kills in the middle and at its end none is lost, and none has another id")
    func outage() throws {
        let harness = HubHarness.pushing()
        let targets = ["fcm://a", "apns://abc", HubHarness.browser]
        subscribe(harness, #""fcm://a","apns://abc",\#(HubHarness.browser)"#)
        let start = harness.now
        /// The ids of the matches that each service took, by the match that the message is of.
        var taken: [String: [String: Set<String>]] = [:]
        func answerAll(_ isUp: Bool, except last: Int = 0) {
            for post in harness.pushes.dropLast(last) {
                if isUp { taken[post.target.text, default: [:]][post.json?["matchId"]?.text ?? "", default: []].insert(post.id) }
                harness.answer(post, isUp ? .taken(status: 200) : .failed(reason: "503", retryAfter: nil))
            }
        }
        for second in 0..<600 {
            if second % 10 == 0 { harness.move(metres: Double(second % 40) + 1) }
            answerAll(false)
            if second == 300 { harness.restart(killed: true) }
            harness.advance(milliseconds: 1000, step: 1000)
        }
        // The services are back; before all is there and known to be, the daemon is killed again.
        while taken.isEmpty, harness.now - start < 3_000_000 {
            answerAll(true, except: 1)
            harness.advance(milliseconds: 1000, step: 1000)
        }
        harness.restart(killed: true)
        while !harness.hub.outbox.pending.isEmpty, harness.now - start < 3_500_000 {
            answerAll(true)
            harness.advance(milliseconds: 1000, step: 1000)
        }
        let counts = delivery(harness)
        #expect(counts.matched == 60 && counts.delivered == 60 && counts.expired + counts.dropped + counts.pending == 0)
        for target in targets {
            let byMatch = taken.first { $0.key == target || target.hasPrefix("{") && $0.key.hasPrefix("{") }?.value ?? [:]
            #expect(byMatch.count == 60)
            #expect(byMatch.allSatisfy { match, ids in ids == [match] })
        }
    }

    @Test("A pusher for browsers is shown as it was sent, and a private endpoint or a key that is none is invalid")
    func browsers() throws {
        let harness = HubHarness.pushing()
        subscribe(harness, HubHarness.browser)
        let shown = harness.result("subscription/get", #"{"id":"s"}"#)?["pushers"]?.elements.first
        #expect(shown == (try JSONValue.parse(HubHarness.browser)))
        for (what, with) in [
            ("https://push.example/a", "https://127.0.0.1/a"), ("https://push.example/a", "https://169.254.169.254/"),
            ("https://push.example/a", "http://push.example/a"),
            (
                "JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
                "JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiwA"
            ),
        ] {
            let pusher = HubHarness.browser.replacing(what, with: with)
            #expect(pusher != HubHarness.browser)
            #expect(harness.refusal("subscription/update", #"{"id":"s","pushers":[\#(pusher)]}"#) == "invalid pushers")
        }
        #expect(harness.refusal("subscription/update", #"{"id":"s","pushers":[7]}"#) == "invalid pushers")
        #expect(harness.refusal("subscription/update", #"{"id":"s","pushers":["{}"]}"#) == "invalid pushers")
    }

    @Test("Geofences push to the token of the device that moves, circumstances to that which they are about")
    func events() throws {
        let harness = HubHarness.pushing()
        _ = harness.request(
            "device/create", #"{"deviceType":"MobileDevice","id":"phone","name":"Ann","deviceToken":"fcm://t"}"#)
        harness.fence(#","accuracy":"centre","pushers":["fcm://"],"notification":{"body":"{device} is home"}"#)
        _ = harness.request(
            "circumstance/register",
            #"{"id":"c","expression":"(live presence geofence = \"home\")","when":"arriving","pushers":["fcm://","http://example.com/"],"notification":{"title":"Hi {device}{"}}"#
        )
        harness.move(metres: 300)
        harness.move(metres: 1)
        let fence = try #require(harness.pushes.first { $0.json?["geofence"] != nil })
        #expect(fence.json?.keys == ["id", "geofence", "deviceId", "event", "notification"])
        #expect(fence.json?["event"]?.text == "entered" && fence.json?["notification"]?["body"]?.text == "Ann is home")
        let circumstance = try #require(harness.pushes.first { $0.json?["circumstanceId"] != nil })
        #expect(circumstance.json?.keys == ["circumstanceId", "incidentId", "deviceId", "event", "notification"])
        #expect(circumstance.json?["notification"]?["title"]?.text == "Hi Ann{")
        #expect(harness.posts.map(\.matchID) == [circumstance.id])
        #expect(harness.result("circumstance/list", "{}")?["circumstances"]?.elements.first?["pushers"]?.elements.count == 2)
        harness.restart(killed: true)
        #expect(Set(harness.pushes.map(\.id)) == [fence.id, circumstance.id])
        for post in harness.pushes { harness.answer(post, .gone(reason: "404")) }
        #expect(state(harness) == "gone")
        for post in harness.posts { harness.answer(post) }
        #expect(harness.hub.outbox.pending.isEmpty)
    }

    @Test("One client's geofence never reaches another client's phone by its token")
    func others() {
        let harness = HubHarness.pushing()
        _ = harness.request(
            "device/create", #"{"deviceType":"MobileDevice","id":"phone","deviceToken":"t","group":["all"]}"#, client: "bob")
        harness.fence(#","accuracy":"centre","devices":["all"],"pushers":["fcm://"]"#)
        harness.move(metres: 300)
        harness.move(metres: 1)
        #expect(harness.pushes.isEmpty)
    }

    struct Filling: CustomTestStringConvertible {
        var template: String
        var text: String
        var testDescription: String { template }
    }

    @Test(
        "Placeholders are filled, what there is nothing for is left out, all else stays",
        arguments: [
            Filling(template: "", text: ""), Filling(template: "a", text: "a"), Filling(template: "{topic}", text: "t"),
            Filling(template: "{distance} m", text: "42 m"),
            Filling(template: "{device}{device}", text: "Ann's phoneAnn's phone"),
            Filling(template: "{properties.s}|{properties.i}|{properties.d}|{properties.b}", text: "é{topic}|7|2.5|true"),
            Filling(template: "{properties.w}|{properties.a}|{properties.x}|", text: "3|a, 1||"),
            Filling(template: "{", text: "{"),
            Filling(template: "}{", text: "}{"), Filling(template: "{}", text: "{}"),
            Filling(template: "{ topic}", text: "{ topic}"),
            Filling(template: "{{topic}}", text: "{t}"), Filling(template: "{other}", text: "{other}"),
            Filling(template: "{Topic} {properties}", text: "{Topic} {properties}"), Filling(template: "🏠{topic}🏠", text: "🏠t🏠"),
        ])
    func templates(_ row: Filling) throws {
        let values = NotificationTemplate.Values(
            properties: try JSONValue.parse(#"{"s":"é{topic}","i":7,"d":2.5,"b":true,"w":3.0,"a":["a",1]}"#).asObject,
            distance: 41.6,
            topic: "t", device: "Ann's phone")
        #expect(NotificationTemplate(title: row.template).filled(with: values).title == row.text)
        #expect(NotificationTemplate(body: row.template).filled(with: values) == NotificationTemplate(body: row.text))
    }

    @Test("A text is cut where it would be longer than a notification, however it is made")
    func longTexts() {
        let values = NotificationTemplate.Values(topic: String(repeating: "x", count: 256), device: "d")
        for template in [
            String(repeating: "{topic}", count: 500), String(repeating: "{", count: 4096), String(repeating: "é", count: 4096),
        ] {
            let filled = NotificationTemplate(title: template, body: template).filled(with: values)
            #expect(filled.title?.unicodeScalars.count == 256 && filled.body?.unicodeScalars.count == 1024)
            #expect(filled.body?.hasSuffix("…") == true)
        }
    }

    // MARK: push/test

    /// Asks for a test whose reply is yet to come.
    private func test(_ harness: HubHarness, _ id: String = "phone", requestId: String? = nil) -> JSONValue? {
        harness.request("push/test", requestId.map { #"{"id":"\#(id)","requestId":"\#($0)"}"# } ?? #"{"id":"\#(id)"}"#)
    }

    private func replies(_ harness: HubHarness) -> [JSONValue] {
        harness.published.filter { $0.topic.hasSuffix("/reply") }.compactMap(\.json)
    }

    private func line(_ harness: HubHarness) -> String? {
        replies(harness).last?["result"]?["tests"]?.elements.map { $0["message"]?.text ?? "" }.joined(separator: "\n")
    }

    @Test(
        "A test says what the service did with it, and what to do",
        arguments: [
            (PostOutcome.taken(status: 200), "accepted", "sent, and accepted by FCM (200)"),
            (
                .gone(reason: "FCM answered 404 UNREGISTERED: the token is not valid any more"), "gone",
                "FCM answered 404 UNREGISTERED: the token is not valid any more; set the `deviceToken` that the app has now"
            ),
            (
                .misconfigured(reason: "FCM answered 401 THIRD_PARTY_AUTH_ERROR"), "misconfigured",
                "refused: FCM answered 401 THIRD_PARTY_AUTH_ERROR; the operator checks that `push.fcm.service-account-file` is of the app's project"
            ),
            (
                .failed(reason: "FCM answered 503 UNAVAILABLE", retryAfter: 30_000), "failed",
                "not sent: FCM answered 503 UNAVAILABLE; try again in 30 s"
            ),
            (.refused(reason: "FCM answered 400"), "refused", "refused: FCM answered 400"),
        ])
    func tested(_ outcome: PostOutcome, _ word: String, _ message: String) throws {
        let harness = HubHarness.pushing()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone","deviceToken":"fcm://abc"}"#)
        harness.published = []
        #expect(test(harness) == nil)
        let post = try #require(harness.pushes.first)
        #expect(harness.pushes.count == 1 && post.target.text == "fcm://abc")
        #expect(post.json?.keys == ["deviceId", "event", "notification"] && post.json?["event"]?.text == "test")
        harness.answer(post, outcome)
        #expect(replies(harness).last?["result"]?["tests"]?.elements.first?["outcome"]?.text == word)
        #expect(line(harness) == message)
        #expect(state(harness) == (word == "gone" ? "gone" : nil))
        #expect(harness.store.pendingMatches.isEmpty)
    }

    @Test("A test goes to each token of the device and waits for all; a token that is taken is not gone any more")
    func testedTokens() throws {
        let harness = HubHarness.pushing()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone","deviceToken":"old"}"#)
        subscribe(harness, #""fcm://","apns://abc",\#(HubHarness.browser)"#)
        #expect(test(harness, requestId: "one") == nil)
        #expect(harness.pushes.map(\.target.kind) == [.fcm, .apns, .web])
        let posts = harness.pushes
        harness.answer(posts[0], .gone(reason: "gone"))
        harness.published = []
        harness.answer(posts[2])
        // Asked the same again, it waits for the same.
        #expect(test(harness, requestId: "one") == nil && harness.pushes.map(\.target.kind) == [.apns])
        #expect(replies(harness).isEmpty && state(harness) == "gone")
        harness.answer(posts[1], .misconfigured(reason: "APNs answered 400 TopicDisallowed"))
        let answered = replies(harness)
        #expect(answered.count { $0["requestId"]?.text == "one" } == 2)
        #expect(line(harness)?.contains("`push.apns.topic`") == true)
        #expect(test(harness) == nil)
        for post in harness.pushes { harness.answer(post) }
        #expect(state(harness) == nil)
    }

    @Test("A test that was answered is not sent again when its requestId comes again after a restart")
    func testedOverRestart() throws {
        let harness = HubHarness.pushing()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone","deviceToken":"fcm://abc"}"#)
        #expect(test(harness, requestId: "one") == nil)
        harness.answer(try #require(harness.pushes.first))
        #expect(line(harness) != nil && harness.pushes.isEmpty)
        harness.restart(killed: true)
        #expect(test(harness, requestId: "one")?["result"]?["tests"]?.elements.first?["outcome"]?.text == "accepted")
        #expect(harness.pushes.isEmpty)
    }

    @Test("A test without a token, or without a service for it, says so; one whose service hangs is answered in time")
    func untested() {
        let harness = HubHarness.pushing()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        #expect(harness.refusal("push/test", #"{"id":"phone"}"#) == "invalid id")
        #expect(harness.refusal("push/test", #"{"id":"nobody"}"#) == "notFound id")
        _ = harness.request("device/update", #"{"id":"phone","deviceToken":"a","platform":"iOS 17"}"#)
        #expect(harness.refusal("push/test", #"{"id":"phone"}"#, client: "bob") == "forbidden id")
        harness.published = []
        #expect(test(harness) == nil && harness.pushes.map(\.target.kind) == [.apns])
        harness.advance(milliseconds: 9100)
        #expect(line(harness)?.hasPrefix("not sent: APNs has not answered within 8 s") == true)
        for post in harness.pushes { harness.answer(post) }
        let bare = HubHarness()
        _ = bare.request("device/create", #"{"deviceType":"MobileDevice","id":"phone","deviceToken":"a"}"#)
        let error = bare.request("push/test", #"{"id":"phone"}"#)?["error"]
        #expect(error?["error"]?.text == "unsupported")
        #expect(error?["message"]?.text?.hasPrefix("`push.apns` or `push.fcm` is not set up here") == true)
    }
}
