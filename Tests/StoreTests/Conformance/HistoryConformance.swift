import MemoryStore
import PostgresServer
import SeededRandom
import Testing

@testable import Records
@testable import Store

/// A store on disk beside the one in memory, over the same random history.
@Suite("Stores side by side")
struct HistoryConformance {
    @Test(
        "Over random histories, restarts included, SQLite and memory say the same to every question",
        arguments: 0..<3 as Range<UInt64>)
    func sqlite(_ run: UInt64) throws {
        try withScratch { scratch in try compare(run) { try scratch.store() } }
    }

    @Test(
        "Over random histories, restarts included, PostgreSQL and memory say the same to every question",
        arguments: 0..<3 as Range<UInt64>)
    func postgres(_ run: UInt64) throws {
        try PostgresServer.shared.get().withStore { store in
            try compare(run) {
                // What connects anew reads what is there.
                store.close()
                return store
            }
        }
    }

    private func compare(_ run: UInt64, _ open: () throws -> any DurableStore) throws {
        let seed = SplitMix64.seed() &+ run
        var random = SplitMix64(seed: seed)
        var history = RandomHistory(seed: seed)
        var memory = MemoryStore()
        var store = try open()
        for step in 0..<80 {
            let batch = (history.batch(upTo: 12) + documents(&random, at: Int64(step))).shuffled(using: &random)
            try store.commit(batch)
            for change in batch { memory.apply(change) }
            if step % 20 == 19 { store = try open() }
            try compareFeeds(store, memory, &random, "run \(run), step \(step)")
            try compareRecords(store, memory, "run \(run), step \(step)")
            if step % 8 == 7 {
                let difference = try store.restored().difference(from: try Snapshot(memory))
                try #require(difference == [], "run \(run), step \(step)")
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
                        leaves: leaves.sorted { $0.wins(over: $1) }, ancestors: ["1-p\(random.below(4))"],
                        links: leaves.map { RevisionLink($0.revision.text, from: "1-p\(random.below(4))") })))
        }
        if random.chance(10) { changes.append(.forgetTombstones(before: instant - 5, at: instant)) }
        let follower = FollowerRecord(
            dataset: "city", client: random.pick(["a", "b"]), since: instant, lease: 3600, leaseUntil: instant + 9)
        if random.chance(20) { changes.append(.put(follower)) }
        if random.chance(10) { changes.append(.deleteFollower(dataset: "city", client: "a")) }
        return changes
    }

    private func compareFeeds(
        _ store: any DurableStore, _ memory: MemoryStore, _ random: inout SplitMix64, _ comment: Comment
    ) throws {
        for dataset in ["city", "park"] {
            for reader in [nil, "client", "other"] {
                var query = FeedQuery(dataset: dataset, since: 0, limit: .max - 1, bytes: .max, reader: reader)
                try #require(try store.feedPage(query) == memory.feedPage(query), comment)
                query.since = Int64(random.below(60))
                query.limit = 1 + random.below(20)
                query.bytes = 1 + random.below(4000)
                query.countsSharedUnlessAt = Int64(random.below(60))
                query.countsOwn = random.chance(50)
                try #require(try store.feedPage(query) == memory.feedPage(query), comment)
            }
            var lookups: [DocumentLookup] = []
            for (type, prefix) in [
                ("note", "d"), ("device", "d"), ("publication", "p"), ("subscription", "s"), ("place", "x"), ("category", "c"),
                ("circumstance", "w"),
            ] {
                for id in 0..<6 {
                    let revisions = random.chance(50) ? ["1-p0", "1-p1", "2-2", "9-z"] : []
                    var lookup = DocumentLookup(dataset: dataset, type: type, id: "\(prefix)\(id)", revisions: revisions)
                    lookup.wantsLinks = random.chance(50)
                    lookup.reading = random.pick([nil, .leaves, .contents])
                    lookups.append(lookup)
                }
            }
            try #require(try store.documents(lookups) == memory.documents(lookups), comment)
        }
    }

    private func compareRecords(_ store: any DurableStore, _ memory: MemoryStore, _ comment: Comment) throws {
        for dataset in ["city", "park", "\u{E9}"] {
            let keys = (0..<6).flatMap { id -> [RecordKey] in
                [
                    .category(dataset: dataset, id: "c\(id)"), .place(dataset: dataset, id: "x\(id)"),
                    RecordKey(.verification, fields: [.text(dataset), .text("x\(id)"), .integer(167)]),
                    .liveState(dataset: dataset, topic: "t\(id)"),
                    .liveSubscription(dataset: dataset, client: "a", id: "l\(id)"),
                    .follower(dataset: dataset, client: id == 0 ? "a" : "b"),
                ]
            }
            try #require(try store.records(keys) == memory.records(keys), comment)
            for device in 0..<6 {
                let known = memory.matches(dataset: dataset, deviceId: "d\(device)", after: nil)
                try #require(try store.matches(dataset: dataset, deviceId: "d\(device)") == known, comment)
            }
            for number in 1...40 {
                let known = memory.match(dataset: dataset, id: "m\(number)")
                try #require(try store.match(dataset: dataset, id: "m\(number)") == known, comment)
            }
        }
        try #require(try store.highestMatchNumber == memory.highestMatchNumber, comment)
        try #require(try store.highestLiveNumber == memory.highestLiveNumber, comment)
    }
}
