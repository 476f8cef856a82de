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
            try store.commit(replies.map { .put($0) })
            try store.commit([.put(ReplyRecord(dataset: "city", client: "calm", requestId: "r", at: 7, body: [2]))])
            var known: [ReplyRecord] = []
            try store.restore { if case .put(let reply as ReplyRecord) = $0 { known.append(reply) } }
            #expect(known.count == 10_001)
            #expect(known.first?.requestId == "r50")
            known = []
            try store.restore(dataset: nil, repliesSince: 10_000) {
                if case .put(let reply as ReplyRecord) = $0 { known.append(reply) }
            }
            #expect(known.map(\.at) == Array(10_000..<10_050))
        }
    }

    @Test("As many replies of a client are kept as the configuration says", arguments: Subject.allCases, [0, 1, 20, 50])
    func configuredReplies(_ subject: Subject, _ most: Int) throws {
        try subject.withStore(repliesMax: most) { store in
            let replies = (0..<30).map { number in
                ReplyRecord(dataset: "city", client: "busy", requestId: "r\(number)", at: Int64(number), body: [1])
            }
            try store.commit(replies.map { .put($0) })
            try store.commit([.forgetReplies(before: 0)])
            var known: [String] = []
            try store.restore { if case .put(let reply as ReplyRecord) = $0 { known.append(reply.requestId) } }
            #expect(known == replies.suffix(most).map(\.requestId))
        }
    }

    @Test("Numbers are not given twice, also when what had them is gone", arguments: Subject.allCases)
    func numbersOnlyRise(_ subject: Subject) throws {
        try subject.withStore { store in
            let before = (try store.highestMatchNumber, try store.highestLiveNumber)
            #expect(before == (0, 0))
            try store.commit([
                .put(
                    LiveStateRecord(dataset: "city", topic: "t", timestamp: 1, receivedAt: 1, number: 41, payload: nil)),
                .put(
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
            try store.commit([.put(DatasetRecord(id: "city", createdAt: 1, updatedAt: 1, revision: "1-a"))])
            #expect(throws: Enough.self) { try store.restore { _ in throw Enough() } }
            // The store is as usable as before.
            #expect(try store.restored().datasets.count == 1)
        }
    }

    @Test("A deletion of a dataset is remembered when it is put again, until it is forgotten", arguments: Subject.allCases)
    func deletionIsRemembered(_ subject: Subject) throws {
        try subject.withStore { store in
            func put(_ instant: Int64) throws {
                try store.commit([.put(DatasetRecord(id: "city", createdAt: instant, updatedAt: instant, revision: "1-a"))])
            }
            for instant: Int64 in [1, 3] {
                try put(instant)
                try store.commit([.deleteDataset(id: "city", at: instant + 1)])
                #expect(try store.restored().datasets.isEmpty)
            }
            try put(5)
            let restored = try store.restored()
            #expect(restored.datasets["city"]?.createdAt == 5 && restored.deletedDatasets == ["city": 4])
            try store.commit([.forgetDeletion(ofDataset: "city")])
            let later = try store.restored()
            #expect(later.datasets["city"]?.createdAt == 5 && later.deletedDatasets.isEmpty)
        }
    }

    @Test("Names that only look equal are two names", arguments: Subject.allCases)
    func namesAreBytes(_ subject: Subject) throws {
        try subject.withStore { store in
            let states = ["\u{E9}", "e\u{301}"].map {
                LiveStateRecord(dataset: "city", topic: $0, timestamp: 1, receivedAt: 1, number: 1, payload: [])
            }
            let changes = states.map { DurableChange.put($0) }
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
                try store.commit(
                    history.batch(upTo: 25).filter { if case .put(is DatasetDeletionRecord) = $0 { false } else { true } })
            }
            let all = try store.restored()
            for name in ["city", "park"] {
                // Memory takes back by itself what was refused of places.
                #expect(try store.restored(name).difference(from: all.of(dataset: name)) == [])
            }
            #expect(Set(all.devices.map(\.dataset)).count > 1)
        }
    }
}
