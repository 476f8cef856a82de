import Datasets
import GRDB
import SeededRandom
import Testing

@testable import Store
@testable import Records

@Suite("Store")
struct StoreHistoryTests {
    /// - Parameter atOnce: Beyond so many places, those of a deleted dataset go piece by piece.
    @Test("A restart gives back exactly what was committed, over random histories", arguments: [2000, 0])
    func restartIsReplay(atOnce: Int) throws {
        let seed = SplitMix64.seed()
        for run in 0..<(atOnce == 0 ? 8 : 4) {
            try withScratch { scratch in
                var history = RandomHistory(seed: seed &+ UInt64(run))
                var twin = TwinStore()
                var store = try scratch.store()
                for step in 0..<120 {
                    let batch = history.batch(upTo: 25)
                    store.places.atOnce = atOnce
                    try store.commit(batch)
                    twin.apply(batch)
                    if step % 3 == 0 { _ = try store.removeDebris(looking: 1 + step % 5) }
                    guard step % 10 == 9 else { continue }
                    // Once closed in order, once simply let go of.
                    if step % 20 == 9 { try store.close() }
                    store = try scratch.store()
                    try #require(try store.restored().difference(from: twin.snapshot) == [], "run \(run), step \(step)")
                    try #require(try store.highestMatchNumber == twin.highestMatchNumber)
                    try #require(try store.highestLiveNumber == twin.highestLiveNumber)
                    for dataset in ["city", "park"] {
                        for device in 0..<6 {
                            let known = twin.matches(dataset: dataset, deviceId: "d\(device)")
                            try #require(try store.matches(dataset: dataset, deviceId: "d\(device)") == known)
                        }
                    }
                }
            }
        }
    }

    @Test("What later changes replace in one transaction may be left out")
    func coalescingChangesNothing() throws {
        var history = RandomHistory(seed: SplitMix64.seed())
        var leftOut = 0
        for _ in 0..<300 {
            let batch = history.batch(upTo: 120)
            let shorter = batch.coalesced()
            leftOut += batch.count - shorter.count
            var whole = TwinStore()
            whole.apply(batch)
            var coalesced = TwinStore()
            coalesced.apply(shorter)
            try #require(whole.snapshot == coalesced.snapshot)
        }
        #expect(leftOut > 100)
    }

    @Test("A restore of one dataset gives its own, and no other's")
    func restoreOfOne() throws {
        try withScratch { scratch in
            var history = RandomHistory(seed: SplitMix64.seed())
            let store = try scratch.store()
            for _ in 0..<60 {
                // Deletions of whole datasets would leave little to tell apart.
                try store.commit(history.batch(upTo: 25).filter { if case .deleteDataset = $0 { false } else { true } })
            }
            let all = try store.restored()
            for name in ["city", "park"] {
                var one = TwinStore.Snapshot()
                try store.restore(dataset: name) { try one.take($0) }
                var expected = TwinStore.Snapshot()
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

    @Test("Of a client's replies the newest 10,000 come back, none older than asked, and the others leave the disk")
    func repliesAreBounded() throws {
        try withScratch { scratch in
            let store = try scratch.store()
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
            try store.restore(repliesSince: 10_000) { if case .putReply(let reply) = $0 { known.append(reply) } }
            #expect(known.map(\.at) == Array(10_000..<10_050))
            try store.commit([.forgetReplies(before: 0)])
            let count = try store.queue.inDatabase { try Int.fetchOne($0, sql: "SELECT count(*) FROM reply") }
            #expect(count == 10_001)
        }
    }

    @Test("As many replies of a client are kept as the configuration says", arguments: [0, 1, 20, 50])
    func configuredReplies(_ most: Int) throws {
        try withScratch { scratch in
            var store = try scratch.store(repliesMax: most)
            let replies = (0..<30).map { number in
                ReplyRecord(dataset: "city", client: "busy", requestId: "r\(number)", at: Int64(number), body: [1])
            }
            try store.commit(replies.map { .putReply($0) })
            try store.commit([.forgetReplies(before: 0)])
            try store.close()
            store = try scratch.store(repliesMax: most)
            var known: [String] = []
            try store.restore { if case .putReply(let reply) = $0 { known.append(reply.requestId) } }
            #expect(known == replies.suffix(most).map(\.requestId))
        }
    }

    @Test("Numbers are not given twice, also when what had them is gone")
    func numbersOnlyRise() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            #expect(try store.highestMatchNumber == 0)
            #expect(try store.highestLiveNumber == 0)
            try store.commit([
                .putLiveState(
                    LiveStateRecord(dataset: "city", topic: "t", timestamp: 1, receivedAt: 1, number: 41, payload: nil)),
                .putMatch(
                    MatchRecord(
                        number: 7, dataset: "city", id: "m", deviceId: "d", subscriptionId: "s", publicationId: "p", owner: nil,
                        createdAt: 1, body: [], pending: false)),
            ])
            try store.commit([.deleteDataset(id: "city", at: 2)])
            #expect(try store.highestMatchNumber == 7)
            #expect(try store.highestLiveNumber == 41)
        }
    }

    @Test("Metadata is kept, replaced and removed")
    func metadata() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            #expect(try store.metadata("storeId") == nil)
            try store.setMetadata("storeId", "a")
            try store.setMetadata("storeId", "b")
            try store.setMetadata("clean", "1")
            try store.close()
            let again = try scratch.store()
            #expect(try again.metadata("storeId") == "b")
            try again.setMetadata("clean", nil)
            #expect(try again.metadata("clean") == nil)
        }
    }

    @Test("An error of the visitor ends the restore and is passed on")
    func visitorError() throws {
        struct Enough: Error {}
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit([.putDataset(DatasetRecord(id: "city", createdAt: 1, updatedAt: 1, revision: "1-a"))])
            #expect(throws: Enough.self) { try store.restore { _ in throw Enough() } }
            // The store is as usable as before.
            #expect(try store.restored().datasets.count == 1)
        }
    }

    @Test("A number that SQLite cannot hold comes back as none, and the others as what they were")
    func notANumber() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit([
                .putPair(
                    PairRecord(
                        dataset: "city", subscriptionId: "s", publicationId: "p", lastMatchAt: 1, publicationLatitude: .nan,
                        publicationLongitude: .infinity, subscriptionLatitude: -0.0, subscriptionLongitude: 1e-300))
            ])
            let pair = try #require(try store.restored().pairs.values.first)
            #expect(pair.publicationLatitude == nil)
            #expect(pair.publicationLongitude == .infinity)
            #expect(pair.subscriptionLatitude == 0)
            #expect(pair.subscriptionLongitude == 1e-300)
        }
    }

    @Test("Names that only look equal are two names")
    func namesAreBytes() throws {
        try withScratch { scratch in
            let store = try scratch.store()
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

    @Test(
        "Deletions find what they delete by an index",
        arguments: Store.deviceCascade + Store.datasetCascade + Store.documentsOfDataset)
    func deletionsAreIndexed(_ sql: String) throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let plan = try store.queue.inDatabase { db in
                try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: sql.contains("?2") ? ["a", "b"] : ["a"])
                    .map { $0["detail"] as String }
            }
            #expect(!plan.isEmpty)
            #expect(!plan.contains { $0.contains("SCAN") }, "\(plan)")
        }
    }
}
