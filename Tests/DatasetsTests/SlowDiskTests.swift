import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("A slow disk")
struct SlowDiskTests {
    private static let note = #"{"docs":[{"id":"n","type":"note","revision":"1-0123456789abcdef0123456789abcdef"}]}"#

    private func post(_ harness: HubHarness, _ request: String, _ parameters: String, client: String = "alice") {
        harness.send("geomatch/d/\(client)/request/\(request)", parameters)
    }

    private func position(_ harness: HubHarness, _ id: String, _ latitude: Double) {
        harness.send("d/-/-/-/-/\(id)/position", #"{"lat":\#(latitude),"lon":0}"#)
    }

    @Test("leaves the news of a new live subscription in order, with another request behind it")
    func newsInOrder() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        post(harness, "live/subscribe", #"{"criteria":"d/#","id":"l"}"#)
        post(harness, "device/create", #"{"id":"y","deviceType":"MobileDevice"}"#)
        position(harness, "x", 1)
        harness.published.removeAll()
        harness.writeNext()
        position(harness, "x", 2)
        harness.isDiskSlow = false
        let reported = harness.published.filter { $0.topic.hasPrefix("geomatch/d/alice/live") }
        #expect(reported.compactMap { $0.json?["properties"]?["latitude"]?.number } == [1, 2])
    }

    @Test("keeps the order of a push, a deletion and an update of what was deleted")
    func updatesWaitForPushes() {
        let harness = HubHarness()
        _ = harness.result("device/create", #"{"id":"x","deviceType":"MobileDevice"}"#)
        harness.isDiskSlow = true
        post(harness, "changes/push", Self.note)
        post(harness, "device/delete", #"{"id":"x"}"#)
        position(harness, "x", 1)
        #expect(harness.hub.datasets["d"]?.devices["x"]?.positionTopic == nil)
        harness.isDiskSlow = false
        #expect(harness.payloads("geomatch/d/alice/reply").count == 2)
        #expect(harness.hub.datasets["d"]?.devices["x"]?.positionTopic != nil)
    }

    @Test("lets nothing outlive a dataset that is deleted and created again")
    func deletion() {
        let harness = HubHarness()
        position(harness, "x", 1)
        harness.isDiskSlow = true
        post(harness, "dataset/delete", "{}", client: "admin")
        harness.advance(milliseconds: 9000)
        post(harness, "dataset/create", "{}", client: "admin")
        harness.isDiskSlow = false
        harness.restart()
        #expect(harness.hub.datasets["d"]?.liveTopicCount == 0)
    }

    @Test("that refuses after a push was judged gives that back, too")
    func pushBeforeRefusal() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        post(harness, "changes/push", Self.note, client: "bob")
        harness.writeNext(isNotified: false)
        harness.isDiskFull = true
        harness.send("geomatch/d/alice/request/dataset/list", "{}")
        harness.send("geomatch/e/alice/request/device/create", #"{"id":"y","deviceType":"MobileDevice"}"#)
        harness.isDiskSlow = false
        #expect(harness.takeReply(client: "bob")?["error"]?.refusal == "internal")
        #expect(harness.hub.datasets["d"]?.feed.documentCount == 0 && harness.hub.datasets["e"] == nil)
        harness.heal()
        #expect(harness.refusal("changes/push", Self.note, client: "bob") == nil)
        #expect(harness.hub.datasets["d"]?.feed.documentCount == 1)
    }

    @Test("that refuses leaves no move remembered, however long it does")
    func movesForgotten() {
        let harness = HubHarness()
        harness.makePair()
        harness.isDiskFull = true
        #expect(harness.refusal("device/update", #"{"id":"phone","name":"n"}"#) == "internal")
        #expect(harness.refusal("device/update", #"{"id":"phone","name":"n"}"#) == "internal")
        for metre in 1...10 { harness.move(metres: Double(metre)) }
        #expect(harness.hub.live.recentMoves.isEmpty)
    }

    @Test("that refuses, and is read meanwhile, leaves no move of another dataset remembered")
    func movesForgottenWhileLoading() {
        let harness = HubHarness()
        harness.makePair()
        _ = harness.result("dataset/create", client: "admin", dataset: "e")
        harness.isDiskSlow = true
        harness.isDiskFull = true
        post(harness, "device/update", #"{"id":"phone","name":"n"}"#)
        while harness.hub.datasets["d"]?.isLoading != true { harness.writeNext() }
        harness.send("e/-/-/-/-/x/position", #"{"lat":1,"lon":0}"#)
        harness.isDiskSlow = false
        #expect(harness.takeReply()?["error"]?.refusal == "internal")
        for metre in 1...10 { harness.move(metres: Double(metre)) }
        #expect(harness.hub.live.recentMoves.isEmpty)
    }

    @Test("answers a client that follows the changes when that is durable, and with internal where it cannot be")
    func following() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        post(harness, "changes/follow", "{}")
        harness.writeNext()
        #expect(harness.takeReply() == nil)
        harness.isDiskSlow = false
        #expect(harness.takeReply()?["result"] != nil)
        harness.isDiskFull = true
        #expect(harness.refusal("changes/unfollow") == "internal")
        harness.heal()
        #expect(harness.hub.followers["d", "alice"] != nil)
    }

    @Test("keeps a client's thousand questions waiting, and answers them all when it is back")
    func questions() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        for _ in 0..<1000 { post(harness, "changes/get", "{}") }
        #expect(harness.payloads("geomatch/d/alice/reply").isEmpty)
        harness.isDiskSlow = false
        #expect(harness.payloads("geomatch/d/alice/reply").count == 1000)
    }
}
