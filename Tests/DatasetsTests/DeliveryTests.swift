import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("The delivery of matches")
struct DeliveryTests {
    private func delivery(_ harness: HubHarness, _ id: String = "s") -> [String: Double] {
        let delivery = harness.result("subscription/get", #"{"id":"\#(id)"}"#)?["delivery"]
        var counters: [String: Double] = [:]
        for key in delivery?.keys ?? [] { counters[key] = delivery?[key]?.number }
        let sum = ["delivered", "expired", "dropped", "pending"].compactMap { counters[$0] }.reduce(0, +)
        #expect(counters["matched"] == sum)
        let status = harness.counters.matches
        #expect(status.matched == status.delivered + status.expired + status.dropped + status.pending)
        return counters
    }

    private func matching(_ adjust: (inout HubConfiguration) -> Void = { _ in }, count: Int) -> (
        HubHarness, [HubHarness.Published]
    ) {
        let harness = HubHarness(adjust)
        harness.makePair("", #","matchTTL":0"#)
        harness.published.removeAll()
        for _ in 0..<count { harness.move(metres: 1) }
        return (harness, harness.matches)
    }

    @Test("is pending until the broker took it, and dropped when it refuses for good")
    func counters() {
        let (harness, matches) = matching(count: 3)
        #expect(delivery(harness)["pending"] == 3)
        harness.acknowledge(matches[1].token)
        harness.acknowledge(matches[0].token, reason: 0x10)
        #expect(delivery(harness)["delivered"] == 2)
        harness.acknowledge(matches[2].token, reason: 0x87)
        #expect(delivery(harness)["dropped"] == 1 && delivery(harness)["pending"] == 0)
        harness.acknowledge(matches[2].token)
        #expect(delivery(harness)["delivered"] == 2)
        #expect(harness.result("subscription/get", #"{"id":"s"}"#)?["delivery"]?["lastError"]?.text?.contains("135") == true)
        #expect(delivery(harness)["lastMatchAt"] == Double(harness.now))
        #expect(
            harness.counters.matches.matched == 3 && harness.counters.matches.delivered == 2
                && harness.counters.matches.dropped == 1)
        let before = delivery(harness)
        harness.restart(killed: true)
        #expect(delivery(harness) == before)
        #expect(harness.matches.isEmpty)
    }

    @Test("goes on with the same id after a restart, and what was delivered is not repeated", arguments: [true, false])
    func restart(killed: Bool) {
        let (harness, matches) = matching(count: 3)
        harness.acknowledge(matches[1].token)
        harness.restart(killed: killed)
        #expect(harness.matches.map(\.payload) == [matches[0].payload, matches[2].payload])
        #expect(harness.matches.map(\.topic) == [matches[0].topic, matches[2].topic])
        for match in harness.matches { harness.acknowledge(match.token) }
        #expect(delivery(harness)["delivered"] == 3 && delivery(harness)["retried"] == 2)
        harness.restart(killed: killed)
        #expect(harness.matches.isEmpty && harness.store.pendingMatches.isEmpty)
    }

    @Test("waits for the broker, in order")
    func broker() {
        let (harness, _) = matching(count: 0)
        harness.loseBroker()
        for metres in 1...3 { harness.move(metres: Double(metres)) }
        #expect(harness.matches.isEmpty)
        harness.connect()
        #expect(harness.matches.compactMap { $0.json?["distance"]?.number?.rounded() } == [1, 2, 3])
        harness.core.returned(harness.matches[1].token)
        harness.core.returned(harness.matches[0].token)
        let sent = harness.matches
        harness.published.removeAll()
        // Returned ones were never sent; the third was, and its acknowledgement may be lost with the connection.
        harness.connect()
        #expect(harness.matches == sent)
        #expect(delivery(harness)["pending"] == 3 && delivery(harness)["retried"] == 1)
        for match in sent { harness.acknowledge(match.token) }
        harness.connect()
        #expect(harness.matches.isEmpty)
        #expect(delivery(harness)["delivered"] == 3 && delivery(harness)["retried"] == 1)
    }

    @Test("keeps a window of unacknowledged matches")
    func window() {
        let (harness, matches) = matching({ $0.limits.inflightMatches = 2 }, count: 5)
        #expect(matches.count == 2)
        harness.acknowledge(matches[1].token)
        #expect(harness.matches.count == 3)
        for _ in 0..<4 { harness.matches.forEach { harness.acknowledge($0.token) } }
        #expect(harness.matches.count == 5 && harness.hub.outbox.inflight == 0)
    }

    @Test("over the maximum of waiting ones is dropped, counted and listed all the same")
    func maximum() {
        let (harness, matches) = matching({ $0.limits.pendingMatches = 2 }, count: 5)
        #expect(matches.count == 2)
        #expect(delivery(harness)["dropped"] == 3 && delivery(harness)["pending"] == 2)
        #expect(harness.result("match/list", #"{"deviceId":"phone"}"#)?["matches"]?.elements.count == 5)
        harness.advance(milliseconds: 1000)
        #expect(harness.notices.filter { $0 == "matches dropped count=3 dataset=d" }.count == 1)
        matches.forEach { harness.acknowledge($0.token) }
        harness.move(metres: 1)
        #expect(harness.matches.count == 1)
        #expect(delivery(harness)["delivered"] == 2)
    }

    @Test("of a subscription that is gone counts for no other of the same id")
    func sameId() {
        let (harness, matches) = matching(count: 2)
        _ = harness.request("subscription/delete", #"{"id":"s"}"#)
        _ = harness.request("subscription/create", #"{"id":"s","deviceId":"phone","topic":"tea","range":50,"duration":3600}"#)
        harness.acknowledge(matches[0].token)
        #expect(delivery(harness)["matched"] == 0 && delivery(harness)["delivered"] == 0)
        harness.advance(milliseconds: 5)
        harness.restart(killed: true)
        #expect(harness.matches.count == 1)
        harness.matches.forEach { harness.acknowledge($0.token) }
        #expect(delivery(harness)["delivered"] == 0 && harness.store.pendingMatches.isEmpty)
    }

    @Test("is owed although the device is deleted", arguments: [true, false])
    func deletedDevice(restarts: Bool) {
        let (harness, matches) = matching(count: 2)
        _ = harness.request("device/delete", #"{"id":"phone"}"#)
        if restarts {
            harness.restart(killed: true)
            #expect(harness.matches.map(\.payload) == matches.map(\.payload))
        }
        for match in restarts ? harness.matches : matches { harness.acknowledge(match.token) }
        #expect(harness.store.pendingMatches.isEmpty && harness.counters.matches.pending == 0)
    }

    @Test("and its counters become durable together")
    func together() {
        let (harness, matches) = matching(count: 1)
        let known = harness.changes.count
        harness.core.delivered(matches[0].token, refusal: nil)
        // Killed here, the match is delivered again and the counters say so.
        #expect(harness.changes.count == known)
        harness.end()
        // Nor is it a commit of its own: the next tick has it.
        #expect(harness.changes.count == known)
        harness.advance(milliseconds: Hub.tickMilliseconds)
        let changes = harness.changes[known...]
        #expect(changes.contains(.matchCompleted(number: DeliveryToken(raw: matches[0].token).number)))
        #expect(
            changes.contains {
                if case .amend(let counters as DeliveryAmendment) = $0 { counters.delivery.delivered == 1 } else { false }
            })
    }

    @Test("and its counters become durable with the next change, before a tick")
    func ridesAlong() {
        let (harness, matches) = matching(count: 1)
        harness.recordsAtOnce = false
        let known = harness.changes.count
        harness.acknowledge(matches[0].token)
        #expect(harness.changes.count == known)
        harness.move(metres: 2)
        #expect(harness.changes[known...].contains(.matchCompleted(number: DeliveryToken(raw: matches[0].token).number)))
        harness.restart(killed: true)
        #expect(harness.matches.count == 1 && harness.matches.first?.payload != matches[0].payload)
        #expect(delivery(harness)["matched"] == 2 && delivery(harness)["delivered"] == 1)
    }

    @Test("that was not recorded before a kill is repeated with the same id, and counted once")
    func repeated() {
        let (harness, matches) = matching(count: 2)
        harness.recordsAtOnce = false
        harness.acknowledge(matches[0].token)
        #expect(harness.counters.matches.delivered == 1)
        harness.restart(killed: true)
        #expect(harness.matches.map(\.payload) == matches.map(\.payload))
        for match in harness.matches { harness.acknowledge(match.token) }
        #expect(delivery(harness)["delivered"] == 2 && delivery(harness)["matched"] == 2)
    }

    @Test("that left the newest hundred is forgotten when the broker has it")
    func outdated() {
        let (harness, matches) = matching(count: 150)
        #expect(harness.result("match/list", #"{"deviceId":"phone"}"#)?["matches"]?.elements.count == 100)
        harness.restart(killed: true)
        #expect(harness.matches.count == 150)
        for match in harness.matches { harness.acknowledge(match.token) }
        #expect(harness.refusal("match/get", #"{"id":"\#(matches[49].json?["id"]?.text ?? "")"}"#) == "notFound id")
        #expect(harness.result("match/list", #"{"deviceId":"phone"}"#)?["matches"]?.elements.count == 100)
        #expect(harness.hub.outbox.outdated.isEmpty && delivery(harness)["delivered"] == 150)
    }

    @Test("The status message has the figures of the contract, is published when they change, and every ten seconds at most")
    func status() {
        let (harness, _) = matching(count: 1)
        harness.published.removeAll()
        harness.advance(milliseconds: 2000)
        #expect(harness.payloads("geomatch/d/status").count == 1)
        let status = harness.published.first { $0.topic == "geomatch/d/status" }
        #expect(status?.retain == true && status?.qos == 1)
        #expect(
            status?.json?.keys == [
                "dataset", "at", "updates", "requests", "matches", "devices", "publications", "subscriptions",
                "liveSubscriptions",
                "circumstances", "places", "daemon",
            ])
        #expect(
            status?.json?["daemon"]?.keys == [
                "requestP50", "requestP99", "commitP50", "commitP99", "requestsWaiting", "updatesWaiting", "changesWaiting",
                "messagesWaiting", "storeWritable", "brokerConnections",
            ])
        #expect(status?.json?["daemon"]?["storeWritable"] == true && status?.json?["daemon"]?["brokerConnections"] == 1)
        #expect(status?.json?["updates"] == ["received": 1, "accepted": 1, "refused": 0, "late": 0, "skewed": 0, "conflated": 0])
        #expect(status?.json?["requests"] == ["received": 4, "failed": 0])
        #expect(
            status?.json?["matches"] == ["matched": 1, "delivered": 0, "retried": 0, "expired": 0, "dropped": 0, "pending": 1])
        #expect(status?.json?["devices"] == 2 && status?.json?["publications"] == 1)
        harness.move(metres: 2)
        harness.advance(milliseconds: 7_000)
        #expect(harness.payloads("geomatch/d/status").count == 1)
        harness.advance(milliseconds: 3_000)
        #expect(harness.payloads("geomatch/d/status").count == 2)
        harness.advance(milliseconds: 60_000)
        #expect(harness.payloads("geomatch/d/status").count == 2)
        harness.hub.repeatStatus()
        harness.advance(milliseconds: 1_000)
        #expect(harness.payloads("geomatch/d/status").count == 3)
    }
}
