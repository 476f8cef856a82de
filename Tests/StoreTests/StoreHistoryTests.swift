import GRDB
import MemoryStore
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
                var twin = MemoryStore()
                var store = try scratch.store()
                for step in 0..<120 {
                    let batch = history.batch(upTo: 25)
                    store.places.atOnce = atOnce
                    try store.commit(batch)
                    for change in batch { twin.apply(change) }
                    if step % 3 == 0 { _ = try store.purgeSome(looking: 1 + step % 5) }
                    guard step % 10 == 9 else { continue }
                    // Once closed in order, once simply let go of.
                    if step % 20 == 9 { try store.close() }
                    store = try scratch.store()
                    try #require(try store.restored().difference(from: try Snapshot(twin)) == [], "run \(run), step \(step)")
                    try #require(try store.highestMatchNumber == twin.highestMatchNumber)
                    try #require(try store.highestLiveNumber == twin.highestLiveNumber)
                    for dataset in ["city", "park"] {
                        for device in 0..<6 {
                            let known = twin.matches(dataset: dataset, deviceId: "d\(device)", after: nil)
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
            var whole = MemoryStore()
            for change in batch { whole.apply(change) }
            var coalesced = MemoryStore()
            for change in shorter { coalesced.apply(change) }
            try #require(try Snapshot(whole) == Snapshot(coalesced))
        }
        #expect(leftOut > 100)
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

    @Test("A number that SQLite cannot hold comes back as none, and the others as what they were")
    func notANumber() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit([
                .put(
                    PairRecord(
                        dataset: "city", subscriptionId: "s", publicationId: "p", lastMatchAt: 1, publicationLatitude: .nan,
                        publicationLongitude: .infinity, subscriptionLatitude: -0.0, subscriptionLongitude: 1e-300))
            ])
            let pair = try #require(try store.restored().pairs.first)
            #expect(pair.publicationLatitude == nil)
            #expect(pair.publicationLongitude == .infinity)
            #expect(pair.subscriptionLatitude == 0)
            #expect(pair.subscriptionLongitude == 1e-300)
        }
    }

    @Test(
        "Deletions find what they delete by an index",
        arguments: Set(Kind.allCases.map(\.statements).flatMap { $0.deletion + $0.forgetting + $0.replacement + $0.ofDataset })
            .union(Store.documentsOfDataset).subtracting(Kind.place.statements.ofDataset).sorted())
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

    @Test("Replies that are too many leave the disk with the next housekeeping")
    func surplusReplies() throws {
        try withScratch { scratch in
            let store = try scratch.store(repliesMax: 20)
            let replies = (0..<50).map { number in
                ReplyRecord(dataset: "city", client: "busy", requestId: "r\(number)", at: Int64(number), body: [1])
            }
            try store.commit(replies.map { .put($0) } + [.forgetReplies(before: 0)])
            let count = try store.queue.inDatabase { try Int.fetchOne($0, sql: "SELECT count(*) FROM reply") }
            #expect(count == 20)
        }
    }

    @Test("A match that nobody reads any more leaves nothing behind")
    func matchBodiesGo() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let matches = (1...2 as ClosedRange<Int64>).map { number in
                DurableChange.put(
                    MatchRecord(
                        number: number, dataset: "city", id: "m\(number)", deviceId: "d", subscriptionId: "s", publicationId: "p",
                        owner: nil, createdAt: 1, body: [1], pending: true))
            }
            try store.commit(matches + [.forgetMatch(number: 1), .deleteDevice(dataset: "city", id: "d")])
            try store.commit([.matchCompleted(number: 1), .matchCompleted(number: 2)])
            let count = try store.queue.inDatabase { try Int.fetchOne($0, sql: "SELECT count(*) FROM matchBody") }
            #expect(count == 0)
        }
    }
}
