import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Overload")
struct FairnessTests {
    /// Two clients whose subscriptions meet one publication with every movement.
    private func twoClients(_ adjust: (inout HubConfiguration) -> Void) -> HubHarness {
        let harness = HubHarness(adjust)
        _ = harness.request(
            "device/create", #"{"deviceType":"PinDevice","id":"pin","location":{"latitude":43.73,"longitude":7.42}}"#)
        harness.send("d/-/-/-/-/phone/position", #"{"lat":50,"lon":7.42}"#)
        _ = harness.request(
            "publication/create", #"{"id":"p","deviceId":"pin","topic":"coffee","range":50,"duration":3600}"#)
        for (client, count) in [("alice", 5), ("bob", 1)] {
            for index in 0..<count {
                _ = harness.request(
                    "subscription/create",
                    #"{"id":"\#(client)\#(index)","deviceId":"phone","topic":"coffee","range":50,"duration":3600,"matchTTL":0}"#,
                    client: client)
            }
        }
        harness.published.removeAll()
        return harness
    }

    private func clients(_ harness: HubHarness) -> [String] {
        harness.matches.map { String($0.topic.split(separator: "/")[2]) }
    }

    @Test("One client's backlog does not delay another: they take turns")
    func turns() {
        let harness = twoClients { $0.limits.inflightMatches = 4 }
        harness.loseBroker()
        for _ in 0..<10 { harness.move(metres: 1) }
        harness.connect()
        #expect(clients(harness) == ["alice", "bob", "alice", "bob"])
        for _ in 0..<20 { harness.matches.forEach { harness.acknowledge($0.token) } }
        #expect(clients(harness).filter { $0 == "bob" }.count == 10)
        // Each client's own come in order.
        let numbers = harness.matches.filter { $0.topic.contains("alice") }.map(\.token)
        #expect(numbers == numbers.sorted() && numbers.count == 50)
    }

    @Test("A client over its maximum of waiting matches loses its own only, and is notified")
    func clientMaximum() {
        let harness = twoClients { $0.limits.pendingMatchesPerClient = 20 }
        for _ in 0..<10 { harness.move(metres: 1) }
        func delivery(_ id: String) -> Delivery? { harness.hub.datasets["d"]?.geomatching.subscriptions[id]?.record.delivery }
        #expect(delivery("bob0")?.dropped == 0 && delivery("bob0")?.pending == 10)
        let alice = (0..<5).compactMap { delivery("alice\($0)") }
        #expect(alice.map(\.matched) == [10, 10, 10, 10, 10])
        #expect(alice.map(\.dropped).reduce(0, +) == 30 && alice.map(\.pending).reduce(0, +) == 20)
        #expect(alice.allSatisfy { $0.lastError?.contains("20 matches of the client wait") == true })
        #expect(harness.diagnostics("delivery", client: "alice").contains { $0["error"] == "dropped" })
        harness.advance(milliseconds: 1000)
        #expect(harness.notices.contains("matches dropped count=30 dataset=d"))
        harness.matches.forEach { harness.acknowledge($0.token) }
        harness.move(metres: 1)
        #expect(delivery("alice0")?.matched == 11 && delivery("alice0")?.pending == 1)
    }

    @Test("What a subscription has too many partners for counts as dropped, and is reported")
    func crowd() {
        let harness = HubHarness { $0.limits.partnersPerSubscription = 3 }
        harness.acknowledges = true
        harness.makePair("", #","matchTTL":5"#)
        for index in 0..<4 {
            _ = harness.request(
                "publication/create",
                #"{"id":"q\#(index)","deviceId":"pin","topic":"coffee","range":50,"duration":3600}"#)
        }
        harness.published.removeAll()
        harness.move(metres: 1)
        let delivery = harness.hub.datasets["d"]?.geomatching.subscriptions["s"]?.record.delivery
        #expect(delivery?.matched == 5 && delivery?.delivered == 3 && delivery?.dropped == 2)
        #expect(delivery?.lastError?.contains("3 partners") == true)
        #expect(
            harness.counters.matches.matched == 5 && harness.counters.matches.dropped == 2
                && harness.counters.matches.pending == 0)
        #expect(harness.diagnostics("overload", client: "alice").first?["count"] == 2)
        #expect(harness.diagnostics("overload", client: "alice").first?["topic"] == "geomatch/d/alice/match/phone/s")
        harness.advance(milliseconds: 1000)
        #expect(harness.notices.contains("matches dropped count=2 dataset=d"))
        harness.restart(killed: true)
        #expect(harness.hub.datasets["d"]?.geomatching.subscriptions["s"]?.record.delivery.dropped == 2)
    }

    @Test("Live updates do not wait for all that the store has answered: what does not fit into a slice comes with the next turn")
    func manyAnswers() {
        let harness = HubHarness()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice"}"#)
        harness.isDiskSlow = true
        for client in 0..<10 { harness.send("geomatch/d/c\(client)/request/changes/get", #"{"since":0}"#) }
        harness.log.work()
        harness.published.removeAll()
        func replies() -> [String] { harness.published.map(\.topic).filter { $0.hasSuffix("/reply") } }
        let wakes = harness.wakes
        harness.clockStep = 1
        harness.core.woken()
        #expect(1..<10 ~= replies().count && harness.wakes > wakes)
        // One that is answered while some are left: nobody calls but who was asked to.
        harness.send("geomatch/d/late/request/changes/get", #"{"since":0}"#)
        harness.log.work()
        harness.send("d/-/-/-/-/phone/position", #"{"lat":50,"lon":7.42}"#)
        #expect(harness.published.last?.topic == "live/d/-/-/-/-/phone/position")
        var taken = wakes
        while taken < harness.wakes {
            taken += 1
            harness.core.woken()
        }
        #expect(replies() == (0..<10).map { "geomatch/d/c\($0)/reply" } + ["geomatch/d/late/reply"])
    }
}
