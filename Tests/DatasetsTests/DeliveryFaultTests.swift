import SeededRandom
import Testing
import Wire

@testable import Datasets
@testable import Records

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

        /// What the latest steps made durable, or were refused.
        var recent: [String] = []

        init(_ random: SplitMix64) { self.random = random }

        func begin() {
            if recent.count > 8 { recent.removeFirst() }
            recent.append("")
        }

        func note(_ text: String) { recent[recent.count - 1] += text + "; " }

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
        for number in 1...3 { create(run, publication: number, duration: 600) }
        for index in 0..<250 {
            step(run)
            collect(run)
            // Nothing is deleted and made again within the millisecond of its last match.
            harness.now += 1
            guard isBalanced(run, "step \(index)") else { return }
        }
        drain(run)
        guard isBalanced(run, "the end") else { return }
        #expect(harness.hub.outbox.pending.isEmpty && harness.store.pendingMatches.isEmpty)
        #expect(harness.hub.outbox.inflight == 0 && harness.hub.outbox.posts.inflight == 0)
        var ids: [Int64: String] = [:]
        var debts = 0
        for case .put(let record as MatchRecord) in harness.changes where record.pending {
            #expect(ids.updateValue(record.id, forKey: record.number) ?? record.id == record.id)
            // Webhooks give up after an hour; the broker never does.
            let hooks = harness.now - record.createdAt < PendingDelivery.givesUpAfterMilliseconds ? record.pushers : []
            for target in ["match"] + hooks + record.pushers.filter({ $0.hasPrefix("mqtt:") }) {
                debts += 1
                #expect(run.settled.contains(Debt(id: record.id, target: target)))
            }
        }
        #expect(debts > 20 && Set(ids.values).count == ids.count)
    }

    private func step(_ run: Run) {
        let harness = run.harness
        run.begin()
        let device = "m\(Int.random(in: 0..<4, using: &run.random))"
        switch Int.random(in: 0..<100, using: &run.random) {
        case 0..<35:
            run.note("move")
            harness.move(device, metres: run.pick([0, 1, 30, 60, 90, 150]))
        case 35..<43:
            run.note("request")
            _ = harness.request(
                "subscription/create",
                #"{"id":"s\#(run.pick([1, 2, 3]))","deviceId":"\#(device)","topic":"t","range":50,"duration":\#(run.pick([0, 5, 600]))\#(run.pick(Self.options))}"#,
                client: run.pick(["alice", "bob"]))
        case 43..<50: create(run, publication: run.pick([1, 2, 3, 4]), duration: run.pick([0, 5, 600]))
        case 50..<53:
            run.note("delete s")
            _ = harness.request("subscription/delete", #"{"id":"s\#(run.pick([1, 2, 3]))"}"#, client: "admin")
        case 53..<55:
            run.note("delete p")
            _ = harness.request("publication/delete", #"{"id":"p\#(run.pick([1, 2, 3, 4]))"}"#, client: "admin")
        case 55..<57:
            run.note("request")
            _ = harness.request(
                "subscription/update", #"{"id":"s\#(run.pick([1, 2, 3]))"\#(run.pick(Self.options))}"#, client: "admin")
        case 57:
            run.note("delete device")
            _ = harness.request("device/delete", #"{"id":"\#(device)"}"#, client: "admin")
        case 58:
            run.note("forget device")
            _ = harness.request("device/forget", #"{"id":"\#(device)"}"#, client: "admin")
        case 59: harness.send("d/-/-/-/-/\(device)/position", "")
        case 60..<75: answerBroker(run)
        case 75..<88: answerPost(run)
        case 88: harness.loseBroker()
        case 89..<91:
            run.unanswered.removeAll()
            harness.connect()
        case 91:
            run.note("full")
            harness.isDiskFull = true
        case 92..<94:
            run.note("heal")
            harness.heal()
        case 94..<96: restart(run)
        default: harness.advance(milliseconds: run.pick([100, 1000, 5000]))
        }
    }

    private func create(_ run: Run, publication number: Int, duration: Int) {
        let device = run.pick(["m0", "m1", "m2", "m3"])
        _ = run.harness.request(
            "publication/create",
            #"{"id":"p\#(number)","deviceId":"\#(device)","topic":"t","range":50,"duration":\#(duration)}"#)
    }

    /// A kill forgets what was never durable; a disk that is full is another's matter then.
    private func restart(_ run: Run) {
        run.note("restart")
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
        run.note("broker answers")
        let message = run.unanswered.remove(at: Int.random(in: 0..<run.unanswered.count, using: &run.random))
        let target = message.topic.contains("/match/") ? "match" : "mqtt:\(message.topic)"
        run.settled.insert(Debt(id: message.json?["id"]?.text ?? "", target: target))
        run.harness.acknowledge(message.token, reason: run.pick([0, 0, 0, 16, 135]))
    }

    private func answerPost(_ run: Run) {
        guard !run.harness.posts.isEmpty else { return }
        run.note("webhook answers")
        let post = run.pick(run.harness.posts)
        let outcome: PostOutcome = run.pick([
            .taken(status: 200), .taken(status: 204), .refused(reason: "no"), .failed(reason: "no", retryAfter: nil),
            .failed(reason: "later", retryAfter: 3000),
        ])
        if case .failed = outcome {} else { run.settled.insert(Debt(id: post.matchID, target: post.url.text)) }
        run.harness.answer(post, outcome)
    }

    private func drain(_ run: Run) {
        let harness = run.harness
        run.begin()
        harness.heal()
        // Nothing meets any more.
        for number in 1...4 {
            collect(run)
            _ = harness.request("publication/delete", #"{"id":"p\#(number)"}"#, client: "admin")
        }
        collect(run)
        run.unanswered.removeAll()
        harness.connect()
        for _ in 0..<200 where !harness.hub.outbox.pending.isEmpty {
            collect(run)
            while !run.unanswered.isEmpty {
                answerBroker(run)
                collect(run)
            }
            for post in harness.posts {
                run.settled.insert(Debt(id: post.matchID, target: post.url.text))
                harness.answer(post)
            }
            harness.advance(milliseconds: 5000, step: 2500)
        }
        harness.advance(milliseconds: 100)
    }

    /// What is counted is what is under way, for each subscription and in all.
    private func isBalanced(_ run: Run, _ place: String) -> Bool {
        let hub = run.harness.hub
        let parcels = hub.outbox.pending.values
        var wrong: [String] = []
        for dataset in hub.orderedDatasets {
            let counters = dataset.counters
            if counters.matches.matched != counters.matches.delivered + counters.matches.expired + counters.matches.dropped
                + counters.matches.pending
            {
                wrong.append("\(counters)")
            }
            if counters.matches.pending != parcels.filter({ $0.account === dataset.matchAccount }).count {
                wrong.append("pending \(counters.matches.pending)")
            }
            for id in dataset.geomatching.subscriptions.keys {
                guard let subscription = dataset.geomatching.subscriptions[id] else { continue }
                let waiting = parcels.filter { $0.source === subscription }.count
                if subscription.record.delivery.pending != Int64(waiting) {
                    wrong.append("\(id): \(subscription.record.delivery), \(waiting) wait")
                }
            }
        }
        guard !wrong.isEmpty else { return true }
        Issue.record("\(place): \(wrong), after \(run.recent)")
        return false
    }
}
