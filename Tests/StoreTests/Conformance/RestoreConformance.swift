import SeededRandom
import Testing

@testable import Records
@testable import Store

@Suite("Every store: what is given back")
struct RestoreConformance {
    @Test(
        "Of a client's replies the newest 10,000 come back, none older than asked, and the others leave the disk",
        arguments: Subject.allCases)
    func repliesAreBounded(_ subject: Subject) throws {
        try subject.withStore { store in
            let replies = (0..<10_050).map { number in
                ReplyRecord(dataset: "city", client: "busy", requestId: "r\(number)", at: Int64(number), body: [1])
            }
            try store.commit(replies.map { .putReply($0) })
            try store.commit([.putReply(ReplyRecord(dataset: "city", client: "calm", requestId: "r", at: 7, body: [2]))])
            var known: [ReplyRecord] = []
            try store.restore { if case .putReply(let reply) = $0 { known.append(reply) } }
            #expect(known.count == 10_001)
            #expect(known.first?.requestId == "r50")
            known = []
            try store.restore(dataset: nil, repliesSince: 10_000) { if case .putReply(let reply) = $0 { known.append(reply) } }
            #expect(known.map(\.at) == Array(10_000..<10_050))
        }
    }

    @Test("As many replies of a client are kept as the configuration says", arguments: Subject.allCases, [0, 1, 20, 50])
    func configuredReplies(_ subject: Subject, _ most: Int) throws {
        try subject.withStore(repliesMax: most) { store in
            let replies = (0..<30).map { number in
                ReplyRecord(dataset: "city", client: "busy", requestId: "r\(number)", at: Int64(number), body: [1])
            }
            try store.commit(replies.map { .putReply($0) })
            try store.commit([.forgetReplies(before: 0)])
            var known: [String] = []
            try store.restore { if case .putReply(let reply) = $0 { known.append(reply.requestId) } }
            #expect(known == replies.suffix(most).map(\.requestId))
        }
    }

    @Test("Numbers are not given twice, also when what had them is gone", arguments: Subject.allCases)
    func numbersOnlyRise(_ subject: Subject) throws {
        try subject.withStore { store in
            let before = (try store.highestMatchNumber, try store.highestLiveNumber)
            #expect(before == (0, 0))
            try store.commit([
                .putLiveState(
                    LiveStateRecord(dataset: "city", topic: "t", timestamp: 1, receivedAt: 1, number: 41, payload: nil)),
                .putMatch(
                    MatchRecord(
                        number: 7, dataset: "city", id: "m", deviceId: "d", subscriptionId: "s", publicationId: "p", owner: nil,
                        createdAt: 1, body: [], pending: false)),
            ])
            try store.commit([.deleteDataset(id: "city", at: 2)])
            let after = (try store.highestMatchNumber, try store.highestLiveNumber)
            #expect(after == (7, 41))
        }
    }

    @Test("An error of the visitor ends the restore and is passed on", arguments: Subject.allCases)
    func visitorError(_ subject: Subject) throws {
        struct Enough: Error {}
        try subject.withStore { store in
            try store.commit([.putDataset(DatasetRecord(id: "city", createdAt: 1, updatedAt: 1, revision: "1-a"))])
            #expect(throws: Enough.self) { try store.restore { _ in throw Enough() } }
            // The store is as usable as before.
            #expect(try store.restored().datasets.count == 1)
        }
    }

    @Test("Names that only look equal are two names", arguments: Subject.allCases)
    func namesAreBytes(_ subject: Subject) throws {
        try subject.withStore { store in
            let states = ["\u{E9}", "e\u{301}"].map {
                LiveStateRecord(dataset: "city", topic: $0, timestamp: 1, receivedAt: 1, number: 1, payload: [])
            }
            let changes = states.map { DurableChange.putLiveState($0) }
            #expect(changes.coalesced().count == 2)
            try store.commit(changes)
            var count = 0
            try store.restore { _ in count += 1 }
            #expect(count == 2)
        }
    }

    @Test("A restore of one dataset gives its own, and no other's", arguments: Subject.allCases)
    func restoreOfOne(_ subject: Subject) throws {
        try subject.withStore { store in
            var history = RandomHistory(seed: SplitMix64.seed())
            for _ in 0..<60 {
                // Deletions of whole datasets would leave little to tell apart.
                try store.commit(history.batch(upTo: 25).filter { if case .deleteDataset = $0 { false } else { true } })
            }
            let all = try store.restored()
            for name in ["city", "park"] {
                let one = try store.restored(name)
                var expected = Snapshot()
                expected.datasets = all.datasets.filter { $0.key == name }
                expected.deletedDatasets = all.deletedDatasets.filter { $0.key == name }
                expected.structure = all.structure.filter { $0.key.dataset == name }
                expected.devices = all.devices.filter { $0.key.dataset == name }
                expected.publications = all.publications.filter { $0.key.dataset == name }
                expected.subscriptions = all.subscriptions.filter { $0.key.dataset == name }
                expected.pairs = all.pairs.filter { $0.key.dataset == name }
                expected.visits = all.visits.filter { $0.key.dataset == name }
                // Memory takes back by itself what was refused of places.
                expected.circumstances = all.circumstances.filter { $0.key.dataset == name }
                expected.held = all.held.filter { $0.key.dataset == name }
                expected.placeVisits = all.placeVisits.filter { $0.key.dataset == name }
                expected.stays = all.stays.filter { $0.key.dataset == name }
                expected.incidents = all.incidents.filter { $0.dataset == name }
                expected.liveStates = all.liveStates.filter { $0.key.dataset == name }
                expected.liveSubscriptions = all.liveSubscriptions.filter { $0.key.dataset == name }
                expected.monitors = all.monitors.filter { $0.key.dataset == name }
                expected.matches = all.matches.filter { $0.dataset == name }
                expected.replies = all.replies.filter { $0.dataset == name }
                #expect(one.difference(from: expected) == [])
            }
            #expect(Set(all.devices.keys.map(\.dataset)).count > 1)
        }
    }
}
