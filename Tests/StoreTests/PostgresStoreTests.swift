import Foundation
import Geodesy
import Places
import PostgresServer
import Testing

@testable import PostgresStore
@testable import Records
@testable import Store

@Suite("The PostgreSQL store")
struct PostgresStoreTests {
    private func dataset(_ name: String) -> DurableChange {
        .put(DatasetRecord(id: name, createdAt: 1, updatedAt: 1, revision: "1-a"))
    }

    private func place(_ dataset: String, _ number: Int, name: String = "house") -> DurableChange {
        .put(
            PlaceRecord(
                dataset: dataset,
                place: Place(
                    id: "p\(number)", name: name, geometry: .point(latitude: 43, longitude: 7), owner: "o", revision: "1-aa")))
    }

    private func count(_ tables: [String], in store: PostgresStore) throws -> [Int64] {
        let connection = try PostgresServer.shared.get().connection(store.schema)
        return try tables.map { table in
            var count: Int64 = -1
            try connection.rows("SELECT count(*) FROM \(table)") { count = $0.number(0) }
            return count
        }
    }

    /// The same store as after a kill.
    private func again(_ store: PostgresStore) throws -> PostgresStore {
        store.close()
        return try PostgresStore(url: PostgresServer.shared.get().url, schema: store.schema)
    }

    // MARK: Large datasets

    @Test("A dataset with a great many documents is gone at once for callers, and from the tables piece by piece")
    func pendingPurge() throws {
        try PostgresServer.shared.get().withStore { first in
            first.purge.atOnce = 10
            try first.commit([dataset("city"), dataset("park")] + (0..<7).map { place("park", $0) })
            try first.commit((0..<100).map { place("city", $0) })
            try first.commit([.deleteDataset(id: "city", at: 9)])
            try expectNothing(of: "city", in: first)
            #expect(try first.purgeSome(looking: 30))
            let second = try again(first)
            defer { second.close() }
            #expect(try second.hasPendingPurge)
            try expectNothing(of: "city", in: second)
            var pieces = 0
            while try second.purgeSome(looking: 30) { pieces += 1 }
            #expect(pieces >= 3)
            #expect(try !second.hasPendingPurge)
            #expect(try count(["place", "document", "leaf", "ancestor", "condemned"], in: second) == [7, 7, 0, 0, 0])
        }
    }

    private func expectNothing(of name: String, in store: PostgresStore) throws {
        #expect(try store.hasPendingPurge)
        let known = try store.restored()
        #expect(known.places.count == 7 && known.places.allSatisfy { $0.dataset != name })
        let page = try store.feedPage(FeedQuery(dataset: name, since: 0, limit: 10, bytes: 1 << 20, reader: nil))
        #expect(page.rows.isEmpty && page.last == 0)
        #expect(try store.records([.place(dataset: name, id: "p1")]) == [.deletePlace(dataset: name, id: "p1")])
        #expect(try store.documents([DocumentLookup(dataset: name, type: "place", id: "p1", revisions: [])])[0] == nil)
    }

    @Test("A dataset made anew while the former one still goes has nothing of that", arguments: [false, true])
    func madeAnew(inOneTransaction: Bool) throws {
        try PostgresServer.shared.get().withStore { store in
            store.purge.atOnce = 10
            try store.commit((0..<100).map { place("city", $0, name: "old") })
            let (end, begin): (DurableChange, [DurableChange]) = (
                .deleteDataset(id: "city", at: 9), [dataset("city"), place("city", 5, name: "new")]
            )
            if inOneTransaction {
                try store.commit([end] + begin)
            } else {
                try store.commit([end])
                _ = try store.purgeSome(looking: 30)
                try store.commit(begin)
            }
            #expect(try !store.hasPendingPurge)
            #expect(try store.restored().places.map(\.place.name) == ["new"])
            let page = try store.feedPage(FeedQuery(dataset: "city", since: 0, limit: 100, bytes: 1 << 20, reader: nil))
            #expect(page.rows.map(\.id) == ["p5"] && page.last == 1)
        }
    }

    @Test("A deletion that was not committed leaves nothing to be removed")
    func deletionTakenBack() throws {
        try PostgresServer.shared.get().withStore { store in
            store.purge.atOnce = 10
            try store.commit([dataset("city")] + (0..<100).map { place("city", $0) })
            try store.poison()
            #expect(throws: StoreError.self) { try store.commit([.deleteDataset(id: "city", at: 9), .poison]) }
            #expect(try store.restored().places.count == 100)
            #expect(try !store.purgeSome(looking: 30) && !store.hasPendingPurge)
            #expect(try store.restored().places.count == 100)
        }
    }

    // MARK: Servers that refuse

    @Test("A server that became read-only cannot be reached until one can be written; nothing that was sent meanwhile is kept")
    func readOnly() throws {
        let server = try PostgresServer()
        try server.withStore { store in
            try store.commit([dataset("before")])
            let administrator = try Connection(url: server.url)
            try administrator.send("ALTER DATABASE postgres SET default_transaction_read_only TO on")
            try administrator.send(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres' AND pid <> pg_backend_pid()")
            try administrator.finish()
            for _ in 0..<2 {
                do throws(StoreError) {
                    try store.commit([dataset("refused")])
                    Issue.record("a read-only server was written")
                } catch {
                    #expect(error.isUnreachable, "\(error)")
                }
            }
            try administrator.send("ALTER DATABASE postgres RESET default_transaction_read_only")
            try administrator.finish()
            // A try that comes right behind one that failed is not made.
            let deadline = Date.now + 20
            while (try? store.commit([dataset("after")])) == nil, Date.now < deadline { usleep(50_000) }
            let known = try store.restored().datasets
            #expect(known["before"] != nil && known["after"] != nil && known["refused"] == nil)
        }
    }

    @Test("A user who may not write is refused as such, and the store is written again once he may")
    func permissions() throws {
        let server = try PostgresServer.shared.get()
        let role = "r" + UUID().uuidString.lowercased().replacing("-", with: "")
        let administrator = try server.connection("test \(role)")
        try administrator.send("CREATE ROLE \(role) LOGIN")
        try administrator.send("GRANT CREATE ON DATABASE postgres TO \(role)")
        try administrator.finish()
        let store = try PostgresStore(url: server.url.replacing("postgres:secret", with: role), schema: "test \(role)")
        try administrator.send("REVOKE INSERT ON dataset FROM \(role)")
        try administrator.finish()
        var refusal: StoreError?
        do throws(StoreError) { try store.commit([dataset("city")]) } catch { refusal = error }
        if case .unwritable? = refusal {} else { Issue.record("\(String(describing: refusal))") }
        try administrator.send("GRANT INSERT ON dataset TO \(role)")
        try administrator.finish()
        try store.commit([dataset("city")])
        store.close()
        try administrator.send("DROP OWNED BY \(role)")
        try administrator.send("DROP ROLE \(role)")
        try administrator.finish()
    }
}
