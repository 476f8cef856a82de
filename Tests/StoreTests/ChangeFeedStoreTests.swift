import GRDB
import Testing

@testable import Store
@testable import Records

@Suite("The change feed in the store")
struct ChangeFeedStoreTests {
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
                    .put(
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
