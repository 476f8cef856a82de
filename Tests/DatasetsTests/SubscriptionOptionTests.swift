import Testing
import Wire

@testable import Datasets

@Suite("Options of subscriptions")
struct SubscriptionOptionTests {
    private static let keys = ["mode", "exitMargin", "dwell", "staleAfter", "accuracy", "floor"]

    private func options(_ object: JSONValue?) -> [JSONValue?] { Self.keys.map { object?[$0] } }

    @Test("Defaults are answered; given ones are kept, in mode once too; null brings each default back; all survive a restart")
    func roundTrip() {
        let harness = HubHarness()
        harness.makePair()
        let defaults: [JSONValue?] = ["once", 10, 0, nil, "centre", "any"]
        func stored() -> [JSONValue?] { options(harness.result("subscription/get", #"{"id":"s"}"#)) }
        #expect(stored() == defaults)
        let given = #""exitMargin":25.5,"dwell":30,"staleAfter":90,"accuracy":"certain","floor":"same""#
        let kept: [JSONValue?] = ["once", 25.5, 30, 90, "certain", "same"]
        #expect(options(harness.result("subscription/update", "{\"id\":\"s\",\(given)}")) == kept)
        #expect(
            options(
                harness.result(
                    "subscription/create",
                    "{\"id\":\"t\",\"deviceId\":\"phone\",\"topic\":\"tea\",\"range\":1,\"duration\":9,\(given)}")) == kept)
        harness.restart(killed: true)
        #expect(stored() == kept)
        _ = harness.request("subscription/update", #"{"id":"s","mode":"visit"}"#)
        harness.restart(killed: true)
        #expect(stored() == ["visit", 25.5, 30, 90, "certain", "same"])
        let nulls = Self.keys.map { "\"\($0)\":null" }.joined(separator: ",")
        #expect(options(harness.result("subscription/update", "{\"id\":\"s\",\(nulls)}")) == defaults)
        #expect(harness.refusal("subscription/update", #"{"id":"s","dwell":1,"floor":"first"}"#) == "invalid floor")
        #expect(stored() == defaults)
    }

    @Test("Likely takes the mode visit: in mode once it is refused, whichever of the two is given")
    func likely() {
        let harness = HubHarness()
        harness.makePair()
        #expect(harness.refusal("subscription/update", #"{"id":"s","accuracy":"likely"}"#) == "invalid accuracy")
        #expect(harness.result("subscription/update", #"{"id":"s","mode":"visit","accuracy":"likely"}"#)?["accuracy"] == "likely")
        harness.restart(killed: true)
        #expect(harness.refusal("subscription/update", #"{"id":"s","mode":"once"}"#) == "invalid mode")
        #expect(harness.result("subscription/update", #"{"id":"s","mode":null,"accuracy":null}"#)?["accuracy"] == "centre")
    }

    @Test("A secret is kept and can be removed, and nothing that goes out ever holds it")
    func secret() {
        let harness = HubHarness()
        harness.makePair("", #","secret":"hushhush","matchTTL":0"#)
        func kept() -> String? { harness.hub.datasets["d"]?.geomatching.subscriptions["s"]?.record.secret }
        #expect(kept() == "hushhush")
        var heard: [String] = harness.published.map(\.payload)
        for request in ["get", "update", "list"] {
            harness.published.removeAll()
            harness.send("geomatch/d/alice/request/subscription/\(request)", #"{"id":"s","deviceId":null}"#)
            harness.send("geomatch/d/alice/request/subscription/\(request)", #"{"deviceId":"phone"}"#)
            heard += harness.published.map(\.payload)
        }
        harness.move(metres: 1)
        harness.advance(milliseconds: 20_000)
        heard += harness.published.map(\.payload)
        #expect(heard.count > 8 && !heard.contains { $0.contains("hushhush") || $0.contains("secret") })
        #expect(!harness.matches.isEmpty && !harness.notices.map { "\($0)" }.joined().contains("hushhush"))
        harness.restart(killed: true)
        #expect(kept() == "hushhush")
        _ = harness.request("subscription/update", #"{"id":"s","secret":null}"#)
        harness.restart(killed: true)
        #expect(harness.hub.datasets["d"]?.geomatching.subscriptions["s"] != nil && kept() == nil)
    }

    @Test("Events of Home Assistant have another version when they are others, and only then")
    func eventVersions() {
        let harness = HubHarness()
        func sources() -> [String] {
            var ids: [String] = []
            harness.hub.forEachEventSubscription(of: "d") { _, subscription, _ in ids.append(subscription) }
            return ids
        }
        func version() -> Int { harness.hub.eventsVersion(of: "d") }
        harness.makePair()
        var known = version()
        #expect(known == 0 && sources().isEmpty)
        func expectNews(_ ids: [String]) {
            #expect(version() != known && sources() == ids)
            known = version()
        }
        _ = harness.request("subscription/update", #"{"id":"s","homeAssistant":true}"#)
        expectNews(["s"])
        _ = harness.request("device/update", #"{"id":"phone","name":"x"}"#)
        harness.move(metres: 1)
        harness.makePair()
        #expect(version() == known)
        _ = harness.request("subscription/update", #"{"id":"s","homeAssistant":false}"#)
        expectNews([])
        _ = harness.request("subscription/update", #"{"id":"s","homeAssistant":true}"#)
        expectNews(["s"])
        _ = harness.request("device/delete", #"{"id":"phone"}"#)
        expectNews([])
    }
}
