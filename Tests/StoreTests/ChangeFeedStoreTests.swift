import Datasets
import GRDB
import MemoryStore
import SeededRandom
import Testing

@testable import Store
@testable import Records

@Suite("The change feed in the store")
struct ChangeFeedStoreTests {
    @Test("Over random histories, restarts included, it says what a store in memory says")
    func twin() throws {
        let seed = SplitMix64.seed()
        for run in 0..<3 {
            try withScratch { scratch in
                var random = SplitMix64(seed: seed &+ UInt64(run))
                var history = RandomHistory(seed: seed &+ UInt64(run))
                var twin = MemoryStore()
                var store = try scratch.store()
                for step in 0..<80 {
                    let batch = (history.batch(upTo: 12) + documents(&random, at: Int64(step))).shuffled(using: &random)
                    try store.commit(batch)
                    for change in batch { twin.apply(change) }
                    if step % 20 == 19 { store = try scratch.store() }
                    try compare(store, twin, &random, "run \(run), step \(step)")
                }
            }
        }
    }

    private func documents(_ random: inout SplitMix64, at instant: Int64) -> [DurableChange] {
        var changes: [DurableChange] = []
        for _ in 0..<random.below(4) {
            let leaves = (0..<(1 + random.below(3))).compactMap { index in
                RevisionID("\(1 + random.below(9))-\(index)").map {
                    DocumentLeaf(revision: $0, isDeleted: random.chance(30), content: random.chance(70) ? Array("{}".utf8) : nil)
                }
            }
            changes.append(
                .putDocument(
                    DocumentRecord(
                        dataset: "city", type: random.pick(["note", "device"]), id: "d\(random.below(6))",
                        owner: random.chance(50) ? "client" : nil, reader: random.chance(50) ? "client" : nil,
                        leaves: leaves.sorted { $0.wins(over: $1) }, ancestors: ["1-p\(random.below(4))"])))
        }
        if random.chance(10) { changes.append(.forgetTombstones(before: instant - 5, at: instant)) }
        let follower = FollowerRecord(
            dataset: "city", client: random.pick(["a", "b"]), since: instant, lease: 3600, leaseUntil: instant + 9)
        if random.chance(20) { changes.append(.putFollower(follower)) }
        if random.chance(10) { changes.append(.deleteFollower(dataset: "city", client: "a")) }
        return changes
    }

    private func compare(
        _ store: Store, _ twin: MemoryStore, _ random: inout SplitMix64, _ comment: Comment
    ) throws {
        for dataset in ["city", "park"] {
            for reader in [nil, "client", "other"] {
                var query = FeedQuery(dataset: dataset, since: 0, limit: .max - 1, bytes: .max, reader: reader)
                let known = try store.feedPage(query)
                guard case .feed(let expected) = twin.finding(.feed(query)) else { return }
                // What goes with a device goes in no stated order: its rows have the same numbers in another order.
                let havePurged = [known.purgedThrough > 0, expected.purgedThrough > 0]
                try #require(known.last == expected.last, comment)
                try #require(havePurged[0] == havePurged[1], comment)
                try #require(known.rows.map(Shown.init).sorted() == expected.rows.map(Shown.init).sorted(), comment)
                query.since = Int64(random.below(60))
                try #require(try store.feedPage(query).rows == known.rows.filter { $0.seq > query.since }, comment)
                try #require(known.rows.map(\.seq) == known.rows.map(\.seq).sorted(), comment)
            }
            var lookups: [DocumentLookup] = []
            for type in ["note", "device", "publication"] {
                for id in 0..<6 {
                    lookups.append(
                        DocumentLookup(dataset: dataset, type: type, id: "d\(id)", revisions: ["1-p0", "1-p1", "2-2", "9-z"]))
                }
            }
            try #require(
                try store.documents(lookups).map { $0?.withoutWinner } == twin.documents(lookups).map { $0?.withoutWinner },
                comment)
        }
        var followers: [FollowerRecord] = []
        try store.restore { if case .putFollower(let record) = $0 { followers.append(record) } }
        let expected = twin.restored().compactMap { if case .putFollower(let record) = $0 { record } else { nil } }
        try #require(followers.map(\.client).sorted() == expected.map(\.client).sorted(), comment)
    }

    /// A row without its number.
    private struct Shown: Comparable {
        var text: String

        init(_ row: FeedRow) {
            text = "\(row.type) \(row.id) \(row.revision) \(row.isDeleted) \(row.conflicts) \(row.content ?? [])"
        }

        static func < (left: Self, right: Self) -> Bool { left.text < right.text }
    }

    @Test("A page is read by its limits, and one of a reader from the rows it may see")
    func pages() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let content = [UInt8](repeating: 0x20, count: 1000)
            for index in 0..<100 {
                try store.commit([
                    .putDocument(
                        DocumentRecord(
                            dataset: "city", type: "note", id: "n\(index)", owner: "c",
                            reader: index % 4 == 0 ? nil : "r\(index % 4)",
                            leaves: [DocumentLeaf(revision: try #require(RevisionID("1-a")), isDeleted: false, content: content)],
                            ancestors: []))
                ])
            }
            func page(_ since: Int64, _ limit: Int, _ bytes: Int, _ reader: String?) throws -> FeedPage {
                try store.feedPage(FeedQuery(dataset: "city", since: since, limit: limit, bytes: bytes, reader: reader))
            }
            #expect(try page(0, 1000, .max, nil).rows.count == 100)
            #expect(try page(90, 5, .max, nil).rows.map(\.seq) == [91, 92, 93, 94, 95])
            #expect(try page(90, 5, .max, nil).isPart && !(try page(95, 5, .max, nil).isPart))
            #expect(try page(0, 1000, 3500, nil).rows.count == 4)
            #expect(try page(0, 4, .max, "r1").rows.map(\.seq) == [1, 2, 5, 6])
            #expect(try page(0, 4, .max, "stranger").rows.map(\.seq) == [1, 5, 9, 13])
            #expect(try page(97, 4, .max, "stranger").rows.isEmpty)
            #expect(try page(0, 1, .max, "r3").last == 100)
        }
    }

    @Test("What an earlier version stored enters the feed")
    func migration() throws {
        try withScratch { scratch in
            let old = try DatabaseQueue(path: scratch.storePath)
            try Store.migrator.migrate(old, upTo: "structure")
            try old.inDatabase { db in
                for (id, type, owner) in [
                    ("d", "IBeaconDevice", "'c'"), ("e", "MobileDevice", "NULL"), ("f", "PinDevice", "'c'"),
                ] {
                    try db.execute(
                        sql: """
                            INSERT INTO device VALUES
                                ('city', '\(id)', '\(type)', '', '[]', NULL, NULL, NULL, NULL, NULL, \(owner), 1, 2, '3-\(id)')
                            """)
                }
                try db.execute(
                    sql: "INSERT INTO publication VALUES (1, 'city', 'p', 'd', 't', 9, 9, '{}', 'c', 0, 2, '1-p')")
            }
            try old.close()
            let store = try scratch.store()
            func rows(_ reader: String?) throws -> [String] {
                try store.feedPage(FeedQuery(dataset: "city", since: 0, limit: 9, bytes: .max, reader: reader)).rows
                    .map { "\($0.seq) \($0.type) \($0.id) \($0.revision)" }
            }
            #expect(try rows(nil) == ["1 publication p 1-p", "2 device d 3-d", "3 device e 3-e", "4 device f 3-f"])
            #expect(try rows("other") == ["2 device d 3-d", "3 device e 3-e"])
            try store.commit([.deletePublication(dataset: "city", id: "p")])
            let page = try store.feedPage(FeedQuery(dataset: "city", since: 4, limit: 9, bytes: .max, reader: "c"))
            #expect(page.rows.map(\.isDeleted) == [true] && page.last == 5)
        }
    }

    @Test("A revision that was replaced is remembered, but not for ever")
    func ancestors() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            var changes: [DurableChange] = []
            for generation in 1...2600 {
                changes.append(
                    .putDevice(
                        DeviceRecord(
                            dataset: "city", id: "d", type: .mobile, createdAt: 1, updatedAt: 1, revision: "\(generation)-a")))
            }
            try store.commit(changes)
            let found = try store.documents([
                DocumentLookup(dataset: "city", type: "device", id: "d", revisions: ["1-a", "1500-a", "2599-a", "2600-a"])
            ])
            #expect(found.first??.history.ancestors.contains("2599-a") == true)
            #expect(found.first??.history.ancestors.contains("1-a") == false)
            let count = try store.queue.inDatabase { try Int.fetchOne($0, sql: "SELECT count(*) FROM ancestor") ?? 0 }
            #expect((1000...1100).contains(count))
        }
    }
}

extension KnownDocument {
    /// The content of an object of ours is nobody's business here.
    fileprivate var withoutWinner: [String] {
        [owner ?? "-", reader ?? "-", history.ancestors.sorted().joined(separator: ",")]
            + history.leaves.map { "\($0.revision.text) \($0.isDeleted)" }
    }
}
