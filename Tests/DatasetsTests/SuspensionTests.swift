import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("A suspended dataset")
struct SuspensionTests {
    /// Of ours, so that everything waits for it.
    private static let pin =
        #"{"docs":[{"id":"n","type":"device","deviceType":"MobileDevice","revision":"1-0123456789abcdef0123456789abcdef"}]}"#
    private static let note = #"{"docs":[{"id":"n","type":"note","revision":"1-0123456789abcdef0123456789abcdef"}]}"#

    private func post(_ harness: HubHarness, _ request: String, _ parameters: String, client: String = "alice") {
        harness.send("geomatch/d/\(client)/request/\(request)", parameters)
    }

    private func position(_ harness: HubHarness, _ id: String, _ latitude: Double) {
        harness.send("d/-/-/-/-/\(id)/position", #"{"lat":\#(latitude),"lon":0}"#)
    }

    /// One that waits for what a slow store knows of a pushed document.
    private func suspended(_ adjust: (inout HubConfiguration) -> Void = { _ in }) -> HubHarness {
        let harness = HubHarness(adjust)
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        post(harness, "changes/push", Self.pin, client: "bob")
        return harness
    }

    private func replies(_ harness: HubHarness) -> [JSONValue] {
        harness.payloads("geomatch/d/alice/reply").compactMap { try? JSONValue.parse($0) }
    }

    @Test("Beyond the bound an update was dropped of any topic: only an older one of the same topic is")
    func conflation() {
        let harness = suspended { $0.limits.waitingUpdates = 2 }
        for (id, latitude) in [("x", 1.0), ("y", 2), ("z", 3), ("x", 4), ("z", 5)] { position(harness, id, latitude) }
        harness.isDiskSlow = false
        for (id, latitude) in [("x", 4.0), ("y", 2), ("z", 5)] {
            #expect(harness.result("device/get", #"{"id":"\#(id)"}"#)?["location"]?["latitude"]?.number == latitude)
        }
        #expect(harness.counters.updates.conflated == 2 && harness.counters.updates.received == 5)
    }

    @Test("A newer update stands behind the requests that came before it")
    func newerStandsBehind() {
        let harness = HubHarness { $0.limits.waitingUpdates = 1 }
        _ = harness.result("device/create", #"{"id":"x","deviceType":"MobileDevice"}"#)
        harness.isDiskSlow = true
        post(harness, "changes/push", Self.pin, client: "bob")
        position(harness, "x", 1)
        post(harness, "device/delete", #"{"id":"x"}"#)
        position(harness, "x", 2)
        harness.isDiskSlow = false
        #expect(replies(harness).count == 1)
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["location"]?["latitude"]?.number == 2)
    }

    @Test("Waiting requests had no bound: what is beyond it is refused at once and not remembered")
    func requestBound() {
        let harness = suspended { $0.limits.waitingRequests = 2 }
        for id in 1...3 {
            post(harness, "device/create", #"{"requestId":"\#(id)","id":"x\#(id)","deviceType":"MobileDevice"}"#)
        }
        #expect(replies(harness).map { $0["requestId"]?.text } == ["3"])
        #expect(replies(harness).first?["error"]?.refusal == "limit")
        harness.isDiskSlow = false
        #expect(replies(harness).count == 3)
        let again = harness.request("device/create", #"{"requestId":"3","id":"x3","deviceType":"MobileDevice"}"#)
        #expect(again?["result"] != nil)
    }

    @Test("A request that was refused as too many waited had failed without having come, and was in no series")
    func refusedAreCounted() {
        let harness = suspended { $0.limits.waitingRequests = 1 }
        for _ in 1...3 { post(harness, "device/get", #"{"id":"x"}"#) }
        harness.isDiskSlow = false
        let figures = harness.hub.figures.first { $0.dataset == "d" }?.requests ?? []
        #expect(figures.first { $0.request == "device/get" && $0.outcome == "limit" }?.count == 2)
        #expect(figures.reduce(0) { $0 + $1.count } == harness.counters.requests.received)
        #expect(figures.filter { $0.outcome != "ok" }.reduce(0) { $0 + $1.count } == harness.counters.requests.failed)
    }

    @Test("All that waited was handled in one turn: it goes on in slices, in order, with what comes meanwhile behind it")
    func slices() {
        let harness = suspended()
        for number in 0..<2500 { position(harness, "x", Double(number) / 100) }
        while harness.hub.datasets["d"]?.suspension != nil { harness.writeNext() }
        #expect(harness.hub.isResuming && harness.counters.updates.received < 2500)
        position(harness, "x", 50)
        post(harness, "device/get", #"{"id":"x"}"#)
        #expect(replies(harness).isEmpty)
        harness.isDiskSlow = false
        #expect(replies(harness).first?["result"]?["location"]?["latitude"]?.number == 50)
        #expect(harness.counters.updates.accepted == 2501 && harness.counters.updates.late == 0)
        #expect(harness.hub.isResuming == false && harness.hub.datasets["d"]?.isSuspended == false)
    }

    @Test("One whose turn had not come was open: what came in went before what waited")
    func turns() {
        let harness = suspended()
        harness.send("geomatch/e/admin/request/dataset/create", "{}")
        harness.send("geomatch/e/carl/request/changes/push", Self.pin)
        for number in 0..<2500 { position(harness, "x", Double(number) / 100) }
        harness.send("e/-/-/-/-/y/position", #"{"lat":1,"lon":0}"#)
        let hub = harness.hub
        var turn = Turn(at: harness.now, seed: (1, 2))
        for name in ["d", "e"] {
            hub.datasets[name]?.suspension = nil
            hub.resume(name, &turn)
        }
        // The other has used what is handled in a turn.
        #expect(hub.isResuming && hub.datasets["e"]?.isSuspended == true)
        hub.continueWaiting(&turn)
        #expect(!hub.isResuming && hub.datasets["e"]?.isSuspended == false)
    }

    @Test("A push of notes kept everybody's updates and requests waiting: others pass it until something must wait")
    func notesKeepNobodyWaiting() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        func create(_ id: String, _ client: String) {
            post(harness, "device/create", #"{"id":"\#(id)","deviceType":"MobileDevice"}"#, client: client)
        }
        post(harness, "changes/push", Self.note, client: "bob")
        position(harness, "x", 1)
        create("a", "alice")
        #expect(harness.hub.datasets["d"]?.devices.count == 2 && harness.counters.updates.accepted == 1)
        // Its client's own requests keep their order, and all that is behind one of them.
        create("b", "bob")
        position(harness, "x", 2)
        create("c", "alice")
        #expect(harness.hub.datasets["d"]?.devices.count == 2 && harness.counters.updates.accepted == 1)
        harness.isDiskSlow = false
        #expect(harness.hub.datasets["d"]?.devices.count == 4 && harness.counters.updates.accepted == 2)
        let names = harness.payloads("geomatch/d/bob/reply").compactMap { try? JSONValue.parse($0)["request"]?.text }
        #expect(names == ["changes/push", "device/create"])
    }

    @Test(
        "Neither another push, nor a question about documents, nor the deletion of its dataset passes a push of notes",
        arguments: ["changes/push", "changes/get", "dataset/delete"])
    func pushesKeepTheirOrder(_ request: String) {
        let harness = HubHarness()
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        post(harness, "changes/push", Self.note, client: "bob")
        post(harness, request, request == "changes/push" ? Self.note : "{}", client: "admin")
        position(harness, "x", 1)
        #expect(harness.hub.datasets["d"]?.isPushing == true && harness.counters.updates.accepted == 0)
        harness.isDiskSlow = false
        let replies = harness.published.filter { $0.topic.hasSuffix("/reply") }.map(\.topic)
        #expect(replies.suffix(2) == ["geomatch/d/bob/reply", "geomatch/d/admin/reply"])
    }

    @Test("What came after a dataset was loaded again passed what had waited for that, beside a push of notes")
    func loadedAgain() {
        let harness = HubHarness()
        _ = harness.result("device/create", #"{"id":"x","deviceType":"MobileDevice"}"#)
        harness.isDiskSlow = true
        post(harness, "changes/push", Self.note, client: "bob")
        let dataset = harness.hub.datasets["d"]
        #expect(dataset?.letsOthersPass == true)
        dataset?.isLoading = true
        position(harness, "x", 1)
        dataset?.isLoading = false
        position(harness, "x", 2)
        #expect(harness.counters.updates.accepted == 0)
        harness.isDiskSlow = false
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["location"]?["latitude"]?.number == 2)
        #expect(harness.counters.updates.accepted == 2 && harness.counters.updates.late == 0)
    }

    @Test("A push of an object of ours beside notes keeps everything waiting, and so does one that waited itself")
    func objectsKeepEverythingWaiting() {
        let harness = suspended()
        position(harness, "x", 1)
        post(harness, "changes/push", Self.note, client: "carl")
        position(harness, "x", 2)
        #expect(harness.counters.updates.accepted == 0)
        while harness.counters.updates.accepted == 0 { harness.writeNext() }
        // The first push is over, the second waits for the store, and the newer update with it.
        #expect(harness.counters.updates.accepted == 1 && harness.hub.datasets["d"]?.isPushing == true)
        position(harness, "x", 3)
        #expect(harness.counters.updates.accepted == 1)
        harness.isDiskSlow = false
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["location"]?["latitude"]?.number == 3)
    }

    @Test("A live state that was kept somewhere was adopted past what waited")
    func adoption() {
        let harness = suspended()
        harness.now += 1000
        position(harness, "x", 1)
        let topic = "d/-/-/-/-/x/position"
        let kept =
            #"{"topic":"\#(topic)","domainType":"position","itemId":"x","timestamp":\#(harness.now - 500),"receivedAt":\#(harness.now - 500),"properties":{"latitude":7.0,"longitude":0.0}}"#
        harness.adopt("live/" + topic, kept)
        #expect(harness.hub.liveStates.count == 0)
        harness.isDiskSlow = false
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["location"]?["latitude"]?.number == 1)
    }

    @Test("A push that was asked about in an outage might have been judged by what is old: it gets internal")
    func pushInOutage() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        position(harness, "x", 1)
        post(harness, "changes/push", Self.pin)
        #expect(replies(harness).isEmpty)
        harness.isDiskFull = true
        harness.isDiskSlow = false
        harness.core.begin()
        harness.end()
        #expect(replies(harness).map { $0["error"]?.refusal } == ["internal"])
        #expect(harness.hub.datasets["d"]?.isSuspended == false)
        harness.heal()
        #expect(harness.refusal("changes/push", Self.pin) == nil)
    }

    @Test("A handle that was given again within a commit began another live subscription")
    func liveHandles() throws {
        let dataset = Dataset(DatasetRecord(id: "d", createdAt: 0, updatedAt: 0, revision: ""))
        func subscription(_ id: Int) throws -> LiveSubscription {
            try LiveSubscription(
                LiveSubscriptionRecord(
                    dataset: "d", client: "c", id: "\(id)", criteria: "d/#", condition: nil, within: nil, lease: 1, leaseUntil: 1,
                    createdAt: 0, number: 0), in: dataset, LiveView(showsOwnOnly: false, showsPrivate: false))
        }
        var handles = LiveSubscriptionHandles()
        let first = try subscription(0)
        handles.insert(first)
        handles.remove(first)
        for id in 1...64 {
            let other = try subscription(id)
            handles.insert(other)
            handles.remove(other)
        }
        let again = try subscription(99)
        handles.insert(again)
        #expect(again.handle == first.handle && again.serial != first.serial)
    }
}

@Suite("What waits for a dataset, without a hub")
struct WaitingInputsTests {
    private func update(_ topic: String, _ payload: String = "{}") -> WaitingInputs.Update {
        WaitingInputs.Update(topic: topic, payload: Array(payload.utf8))
    }

    @Test("goes on in order, for each dataset alone, and only those that are ready")
    func order() {
        var waiting = WaitingInputs(limits: HubLimits())
        for dataset in ["a", "b"] { for topic in ["1", "2"] { _ = waiting.append(update(dataset + topic), to: dataset, at: 0) } }
        #expect(waiting.beginNext() == nil)
        waiting.makeReady("b")
        waiting.makeReady("nobody")
        #expect(waiting.beginNext() == "b" && waiting.isWaiting("a") && !waiting.isWaiting("b"))
        var topics: [String] = []
        while case .update(let update)? = waiting.next()?.content { topics.append(update.topic) }
        #expect(topics == ["b1", "b2"])
        #expect(!waiting.end(isReady: true) && !waiting.hasReady && waiting.isWaiting("a"))
    }

    @Test("is bounded by the topics there may be, however often they are published")
    func bounds() {
        var limits = HubLimits()
        limits.waitingUpdates = 10
        limits.liveTopics = 20
        var waiting = WaitingInputs(limits: limits)
        for round in 0..<1000 {
            for topic in 0..<20 { _ = waiting.append(update("\(topic)", "\(round)"), to: "d", at: 0) }
        }
        guard case .refused = waiting.append(update("20"), to: "d", at: 0) else {
            Issue.record("no bound")
            return
        }
        waiting.makeReady("d")
        _ = waiting.beginNext()
        var payloads: [String] = []
        while case .update(let update)? = waiting.next()?.content {
            payloads.append(String(decoding: update.payload, as: UTF8.self))
        }
        #expect(payloads == Array(repeating: "999", count: 20))
    }

    @Test("is bounded in bytes: beyond, an update only takes the place of an older one of its topic")
    func bytes() {
        var limits = HubLimits()
        limits.waitingUpdateBytes = 100_000
        var waiting = WaitingInputs(limits: limits)
        let long = String(repeating: "x", count: 9000)
        var refused = 0
        for topic in 0..<100 {
            if case .refused = waiting.append(update("\(topic)", long), to: "d", at: 0) { refused += 1 }
        }
        #expect(refused == 90)
        guard case .replaces = waiting.append(update("3", long), to: "d", at: 0),
            case .refused = waiting.append(update("50", long), to: "d", at: 0),
            case .refused = waiting.append(update("3", long + long), to: "d", at: 0)
        else {
            Issue.record("no bound")
            return
        }
        waiting.makeReady("d")
        _ = waiting.beginNext()
        var topics: [String] = []
        while case .update(let update)? = waiting.next()?.content { topics.append(update.topic) }
        #expect(topics == ["0", "1", "2", "4", "5", "6", "7", "8", "9", "3"])
        guard case .waits = waiting.append(update("50", long), to: "d", at: 0) else {
            Issue.record("room is not given back")
            return
        }
    }
}
