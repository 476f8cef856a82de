import PostgresServer
import SeededRandom
import Testing

@testable import PostgresStore
@testable import Records
@testable import Store

@Suite("A store that is copied into one of another engine")
struct StoreCopyTests {
    /// A store of each engine, of which the second and third are empty.
    private func withStores(_ body: (_ first: Store, PostgresStore, _ last: Store) throws -> Void) throws {
        try withScratch { first in
            try PostgresServer.shared.get().withStore { postgres in
                try withScratch { last in try body(try first.store(), postgres, try last.store()) }
            }
        }
    }

    /// All rows in an order that does not depend on the engine.
    private func rows(_ store: any CopyableStore) throws -> [String] {
        var rows: [String] = []
        try store.eachRow { rows.append("\($0)") }
        return rows.sorted()
    }

    @Test("A row of every kind arrives as it was, and comes back as it was")
    func everyKind() throws {
        try withStores { first, postgres, last in
            try first.commit(EveryKind.changes)
            try first.setMetadata("storeId", "a")
            try postgres.setMetadata("storeId", "of a start by mistake")
            let there = try CopyTally(copying: first, to: postgres)
            let back = try CopyTally(copying: postgres, to: last)
            #expect(there == back)
            let before = try rows(first)
            #expect(there.total == before.count && before.count > 60)
            for kind in Kind.allCases { #expect(there.tables[kind.row.name] != nil, "\(kind)") }
            #expect(try rows(postgres) == before)
            #expect(try rows(last) == before)
            #expect(try last.metadata("storeId") == "a")
            #expect(try postgres.highestMatchNumber == first.highestMatchNumber)
        }
    }

    @Test("A copy goes on as its original does, over random histories, also of what was being deleted")
    func goesOn() throws {
        var history = RandomHistory(seed: SplitMix64.seed())
        try withStores { first, postgres, last in
            first.places.atOnce = 0
            for _ in 0..<60 { try first.commit(history.batch(upTo: 25)) }
            _ = try CopyTally(copying: first, to: postgres)
            postgres.purge.atOnce = 0
            try expectSame(first, postgres)
            for _ in 0..<30 {
                let batch = history.batch(upTo: 25)
                try first.commit(batch)
                try postgres.commit(batch)
            }
            try expectSame(first, postgres)
            _ = try CopyTally(copying: postgres, to: last)
            try expectSame(postgres, last)
            for _ in 0..<30 {
                let batch = history.batch(upTo: 25)
                try first.commit(batch)
                try last.commit(batch)
            }
            while try last.purgeSome(looking: 100) {}
            try expectSame(first, last)
        }
    }

    private func expectSame(_ one: any DurableStore, _ other: any DurableStore) throws {
        #expect(try one.restored().difference(from: other.restored()) == [])
        #expect(try one.highestMatchNumber == other.highestMatchNumber)
        #expect(try one.highestLiveNumber == other.highestLiveNumber)
        for dataset in ["city", "park"] {
            for reader in [nil, "a"] {
                let query = FeedQuery(dataset: dataset, since: 0, limit: 1000, bytes: 1 << 20, reader: reader)
                let (page, same) = (try one.feedPage(query), try other.feedPage(query))
                #expect(page == same, "\(dataset)")
                let lookups = page.rows.map {
                    DocumentLookup(dataset: dataset, type: $0.type, id: $0.id, revisions: [$0.revision])
                }
                #expect(try one.documents(lookups) == other.documents(lookups))
            }
            for device in 0..<6 {
                let matches = try one.matches(dataset: dataset, deviceId: "d\(device)")
                #expect(try other.matches(dataset: dataset, deviceId: "d\(device)") == matches)
            }
        }
    }

    @Test("A store with anything in it is no target, and stays as it was")
    func notEmpty() throws {
        try withStores { first, postgres, last in
            try first.commit(EveryKind.changes)
            let device = DurableChange.put(
                DeviceRecord(dataset: "c", id: "mine", type: .pin, createdAt: 1, updatedAt: 1, revision: "1-a"))
            for target in [postgres, last] as [any CopyableStore] {
                #expect(try target.isEmpty)
                try target.commit([device])
                #expect(try !target.isEmpty)
                #expect(throws: StoreError.other("it is not empty")) { try CopyTally(copying: first, to: target) }
                #expect(try target.restored().devices.map(\.id) == ["mine"])
            }
        }
    }

    @Test("A source that fails half way leaves a PostgreSQL target empty, as if nothing had been")
    func failsHalfWay() throws {
        struct Gone: Error {}
        try withStores { first, postgres, _ in
            try first.commit(EveryKind.changes)
            #expect(throws: Gone.self) {
                try postgres.fill { write in
                    var count = 0
                    try first.eachRow { row in
                        try write(row)
                        count += 1
                        if count == 40 { throw Gone() }
                    }
                }
            }
            #expect(try postgres.isEmpty)
            _ = try CopyTally(copying: first, to: postgres)
            #expect(try rows(postgres) == rows(first))
        }
    }
}
