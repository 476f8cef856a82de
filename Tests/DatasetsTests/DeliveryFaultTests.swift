import SeededRandom
import Testing
import Wire

@testable import Datasets

/// Random movements, requests, kills, restarts, full disks, lost brokers and failing webhooks.
@Suite("Delivery under faults")
struct DeliveryFaultTests {
    /// One target of one match.
    private struct Debt: Hashable {
        var id: String
        var target: String
    }

    private final class Run {
        var random: SplitMix64
        let harness = HubHarness {
            $0.limits.inflightMatches = 5
            $0.limits.pendingMatchesPerClient = 40
            $0.limits.partnersPerSubscription = 3
        }
        /// What some target took or refused, by match and target.
        var settled = Set<Debt>()
        /// Sent over the broker in this life and connection and not answered.
        var unanswered: [HubHarness.Published] = []

        init(_ random: SplitMix64) { self.random = random }

        func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }
    }

    private static let options = [
        #","matchTTL":0"#, #","mode":"visit","exitMargin":0"#,
        #","mode":"visit","dwell":1,"exitMargin":0,"pushers":["http://a.example/x","mqtt:inbox"]"#,
        #","matchTTL":1,"pushers":["https://b.example","http://a.example/y","ws"],"secret":"x""#,
    ]

    @Test(
        "Counters always add up to what is under way, and each target gets each durable match, or it is counted", arguments: 0..<8
    )
    func run(_ number: UInt64) {
        let run = Run(SplitMix64(seed: SplitMix64.seed() &+ number))
        let harness = run.harness
        for device in 0..<4 { harness.send("d/-/-/-/-/m\(device)/position", #"{"lat":43.73,"lon":7.42}"#) }
        for _ in 0..<250 {
            step(run)
            collect(run)
            check(harness)
        }
        drain(run)
        check(harness)
        #expect(harness.hub.outbox.parcels.isEmpty && harness.store.pendingMatches.isEmpty)
        #expect(harness.hub.outbox.lanes.inflight == 0 && harness.hub.outbox.posts.inflight == 0)
        var ids: [Int64: String] = [:]
        var debts = 0
        for case .putMatch(let record) in harness.changes where record.pending {
            #expect(ids.updateValue(record.id, forKey: record.number) ?? record.id == record.id)
            // Webhooks give up after an hour; the broker never does.
            let hooks = harness.now - record.createdAt < Parcel.givesUpAfterMilliseconds ? record.pushers : []
            for target in ["match"] + hooks + record.pushers.filter({ $0.hasPrefix("mqtt:") }) {
                debts += 1
                #expect(run.settled.contains(Debt(id: record.id, target: target)))
            }
        }
        #expect(debts > 50 && Set(ids.values).count == ids.count)
    }

    private func step(_ run: Run) {
        let harness = run.harness
        let device = "m\(Int.random(in: 0..<4, using: &run.random))"
        switch Int.random(in: 0..<100, using: &run.random) {
        case 0..<35: harness.move(device, metres: run.pick([0, 1, 30, 60, 90, 150]))
        case 35..<43:
            _ = harness.request(
                "subscription/create",
                #"{"id":"s\#(run.pick([1, 2, 3]))","deviceId":"\#(device)","topic":"t","range":50,"duration":\#(run.pick([0, 5, 600]))\#(run.pick(Self.options))}"#,
                client: run.pick(["alice", "bob"]))
        case 43..<50:
            _ = harness.request(
                "publication/create",
                #"{"id":"p\#(run.pick([1, 2, 3, 4]))","deviceId":"\#(device)","topic":"t","range":50,"duration":\#(run.pick([0, 5, 600]))}"#
            )
        case 50..<53: _ = harness.request("subscription/delete", #"{"id":"s\#(run.pick([1, 2, 3]))"}"#, client: "admin")
        case 53..<55: _ = harness.request("publication/delete", #"{"id":"p\#(run.pick([1, 2, 3, 4]))"}"#, client: "admin")
        case 55..<57:
            _ = harness.request(
                "subscription/update", #"{"id":"s\#(run.pick([1, 2, 3]))"\#(run.pick(Self.options))}"#, client: "admin")
        case 57: _ = harness.request("device/delete", #"{"id":"\#(device)"}"#, client: "admin")
        case 58: _ = harness.request("device/forget", #"{"id":"\#(device)"}"#, client: "admin")
        case 59: harness.send("d/-/-/-/-/\(device)/position", "")
        case 60..<75: answerBroker(run)
        case 75..<88: answerPost(run)
        case 88: harness.loseBroker()
        case 89..<91:
            run.unanswered.removeAll()
            harness.connect()
        case 91: harness.isDiskFull = true
        case 92..<94: harness.heal()
        case 94..<96: restart(run)
        default: harness.advance(milliseconds: run.pick([100, 1000, 5000]))
        }
    }

    /// A kill forgets what was never durable; a disk that is full is another's matter then.
    private func restart(_ run: Run) {
        run.harness.heal()
        run.unanswered.removeAll()
        run.harness.restart(killed: run.pick([true, false]))
    }

    private func collect(_ run: Run) {
        run.unanswered += run.harness.published.filter { $0.token != 0 }
        run.harness.published.removeAll()
    }

    private func answerBroker(_ run: Run) {
        guard !run.unanswered.isEmpty else { return }
        let message = run.unanswered.remove(at: Int.random(in: 0..<run.unanswered.count, using: &run.random))
        let target = message.topic.contains("/match/") ? "match" : "mqtt:\(message.topic)"
        run.settled.insert(Debt(id: message.json?["id"]?.text ?? "", target: target))
        run.harness.acknowledge(message.token, reason: run.pick([0, 0, 0, 16, 135]))
    }

    private func answerPost(_ run: Run) {
        guard !run.harness.posts.isEmpty else { return }
        let post = run.pick(run.harness.posts)
        let outcome: WebhookOutcome = run.pick([
            .taken(status: 200), .taken(status: 204), .refused(reason: "no"), .failed(reason: "no", retryAfter: nil),
            .failed(reason: "later", retryAfter: 3000),
        ])
        if case .failed = outcome {} else { run.settled.insert(Debt(id: post.matchID, target: post.url.text)) }
        run.harness.answer(post, outcome)
    }

    private func drain(_ run: Run) {
        let harness = run.harness
        harness.heal()
        collect(run)
        run.unanswered.removeAll()
        harness.connect()
        for _ in 0..<300 where !harness.hub.outbox.parcels.isEmpty {
            collect(run)
            while !run.unanswered.isEmpty {
                answerBroker(run)
                collect(run)
            }
            for post in harness.posts {
                run.settled.insert(Debt(id: post.matchID, target: post.url.text))
                harness.answer(post)
            }
            harness.advance(milliseconds: 1000, step: 500)
        }
        harness.advance(milliseconds: 100)
    }

    /// What is counted is what is under way, for each subscription and in all.
    private func check(_ harness: HubHarness) {
        let parcels = harness.hub.outbox.parcels.values
        for dataset in harness.hub.orderedDatasets {
            let counters = dataset.counters
            #expect(counters.matched == counters.delivered + counters.expired + counters.dropped + counters.pending)
            #expect(counters.pending == parcels.filter { $0.dataset === dataset }.count)
            for id in dataset.subscriptions.keys {
                guard let subscription = dataset.subscriptions[id] else { continue }
                #expect(subscription.record.delivery.pending == Int64(parcels.filter { $0.subscription === subscription }.count))
            }
        }
    }
}
