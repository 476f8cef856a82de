import Testing
import Wire

@testable import Datasets

@Suite("Several objects in one request")
struct ItemsTests {
    private func items(_ result: JSONValue?) -> [String] {
        (result?["items"]?.elements ?? []).map { $0["error"]?.refusal ?? $0["id"]?.text ?? "?" }
    }

    @Test("What can be done is done, each element answered in its place")
    func partial() {
        let harness = HubHarness()
        harness.makePair()
        let devices = harness.result(
            "device/create",
            #"""
            {"items":[{"deviceType":"MobileDevice","id":"a"},{"deviceType":"PinDevice","id":"b"},5,{"deviceType":"MobileDevice","id":"a"},
            {"deviceType":"MobileDevice","id":"phone"},{"deviceType":"PinDevice","id":"c","location":{"lat":1,"lon":2},"requestId":7}]}
            """#)
        #expect(devices?.keys == ["items"])
        #expect(items(devices) == ["a", "invalid location", "invalid items", "conflict id", "conflict id", "c"])
        #expect(devices?["items"]?.elements[5]["location"]?["latitude"]?.number == 1)
        #expect(
            devices?["items"]?.elements[1]["error"]?.keys == ["code", "error", "message", "field"])
        let publications = harness.result(
            "publication/create",
            #"""
            {"items":[{"id":"q","deviceId":"phone","topic":"tea","range":5,"duration":60},
            {"id":"q","deviceId":"phone","topic":"tea","range":5,"duration":60},
            {"deviceId":"nobody","topic":"tea","range":5,"duration":60},{"deviceId":"phone","topic":"tea","range":0,"duration":60}]}
            """#)
        #expect(items(publications) == ["q", "conflict id", "notFound deviceId", "invalid range"])
        let subscriptions = harness.result(
            "subscription/create",
            #"""
            {"items":[{"id":"r","deviceId":"c","topic":"tea","range":5,"duration":60},
            {"id":"t","deviceId":"c","topic":"tea","range":5,"duration":60,"selector":"a = = 1"}]}
            """#)
        #expect(items(subscriptions) == ["r", "invalid selector"])
        #expect(subscriptions?["items"]?.elements[1]["error"]?["position"]?.number == 4)
        #expect(subscriptions?["items"]?.elements[0]["delivery"] != nil)
        harness.restart(killed: true)
        #expect(items(harness.result("device/list")?["devices"].map { ["items": $0] }) == ["a", "c", "phone", "pin"])
        #expect(harness.result("subscription/get", #"{"id":"r"}"#) == subscriptions?["items"]?.elements[0])
    }

    @Test("Elements match each other and what is there, one after the other")
    func matching() {
        let harness = HubHarness()
        harness.makePair()
        harness.move(metres: 1)
        harness.published.removeAll()
        _ = harness.result(
            "publication/create",
            #"""
            {"items":[{"deviceId":"pin","topic":"coffee","range":5,"duration":60},{"deviceId":"pin","topic":"coffee","range":5,"duration":0},
            {"deviceId":"pin","topic":"tea","range":5,"duration":60}]}
            """#)
        #expect(harness.matches.count == 2)
        #expect(harness.hub.datasets["d"]?.geomatching.publications.count == 3)
    }

    @Test(
        "items that are none are refused as a whole",
        arguments: [
            #"{"items":[]}"#, #"{"items":{}}"#, #"{"items":5}"#, #"{"items":"x"}"#,
            #"{"items":[{"deviceType":"MobileDevice"}],"deviceType":"MobileDevice"}"#,
            #"{"items":[{"deviceType":"MobileDevice"}],"x":null}"#,
            #"{"items":[\#(Array(repeating: #"{"deviceType":"MobileDevice"}"#, count: 1001).joined(separator: ","))]}"#,
        ])
    func wrong(_ payload: String) {
        let harness = HubHarness()
        for name in ["device/create", "publication/create", "subscription/create"] {
            #expect(harness.refusal(name, payload) == "invalid items")
        }
        #expect(harness.hub.datasets.isEmpty)
    }

    @Test("Other requests know no items")
    func elsewhere() {
        let harness = HubHarness()
        harness.makePair()
        #expect(harness.refusal("device/update", #"{"items":[{"id":"pin"}]}"#) == "invalid items")
    }

    @Test("The same requestId gets the same reply, and nothing is made twice", arguments: [false, true])
    func replay(_ restarts: Bool) {
        let harness = HubHarness()
        let payload = #"{"requestId":"1","items":[{"deviceType":"MobileDevice"},{"deviceType":"PinDevice"}]}"#
        let first = harness.request("device/create", payload)
        if restarts { harness.restart(killed: true) }
        #expect(first != nil && harness.request("device/create", payload) == first)
        #expect(harness.result("device/list")?["devices"]?.elements.count == 1)
    }

    @Test("A first one creates its dataset, unless nothing of it can be made")
    func createsDataset() {
        let harness = HubHarness()
        let nothing = #"{"items":[{"deviceId":"x","topic":"t","range":1,"duration":1},7]}"#
        #expect(items(harness.result("subscription/create", nothing)) == ["notFound deviceId", "invalid items"])
        #expect(harness.hub.datasets.isEmpty && harness.changes.isEmpty && harness.notices.isEmpty)
        #expect(
            items(harness.result("device/create", #"{"items":[7,{"deviceType":"MobileDevice","id":"a"}]}"#)) == [
                "invalid items", "a",
            ])
        #expect(harness.hub.datasetNames == ["d"])
        #expect(harness.counters.requests.received == 1)
    }

    @Test("A store that refuses refuses the whole, and memory is as before")
    func refused() {
        let harness = HubHarness()
        harness.makePair()
        harness.move(metres: 1)
        let before = harness.result("subscription/get", #"{"id":"s"}"#)
        harness.isDiskFull = true
        let payload = #"""
            {"items":[{"id":"q","deviceId":"pin","topic":"coffee","range":5,"duration":60},{"id":"q","deviceId":"pin"},
            {"id":"r","deviceId":"pin","topic":"coffee","range":5,"duration":60}]}
            """#
        #expect(harness.refusal("publication/create", payload) == "internal")
        #expect(harness.matches.isEmpty)
        #expect(harness.result("publication/list", #"{"deviceId":"pin"}"#)?["publications"]?.elements.count == 1)
        #expect(harness.result("subscription/get", #"{"id":"s"}"#) == before)
        harness.heal()
        #expect(items(harness.result("publication/create", payload)) == ["q", "invalid topic", "r"])
        #expect(harness.matches.count == 2)
    }

    @Test("A thousand are made at once, and a reply stops growing at a megabyte")
    func many() {
        let harness = HubHarness()
        let devices = (0..<1000).map { #"{"deviceType":"MobileDevice","id":"d\#($0)"}"# }.joined(separator: ",")
        #expect(items(harness.result("device/create", #"{"items":[\#(devices)]}"#)) == (0..<1000).map { "d\($0)" })
        // Each element answers with far more than was sent: a hint for each comparison that can never be true.
        let selector = (1...14).map { "'a'<\($0)" }.joined(separator: " OR ")
        let elements = Array(
            repeating: #"{"deviceId":"d1","topic":"t","range":1,"duration":1,"selector":"\#(selector)"}"#, count: 1000)
        let result = harness.request("subscription/create", #"{"items":[\#(elements.joined(separator: ","))]}"#)
        let answered = items(result?["result"])
        #expect(answered.count == 1000)
        let full = answered.filter { $0 == "tooLarge items" }
        #expect(!full.isEmpty && full.count < 1000)
        #expect((result?.serialised().count ?? 0) < 2 << 20)
    }
}
