import GRDB
import Places
import SeededRandom
import Testing

@testable import Store
@testable import Records

@Suite("Rows of places")
struct PlaceRowsTests {
    @Test("The index finds what a dictionary finds, whatever was entered and removed, also where hashes are alike")
    func twinOfDictionary() {
        var random = SplitMix64.forTest()
        var index = RowIndex()
        var twin: [String: Int64] = [:]
        var keys: [Int64: String] = [:]
        var next: Int64 = 1
        // The few bits that a slot keeps are alike for every key, or for none.
        for mask in [UInt64.max, 3, 0] {
            func hash(_ key: String) -> UInt64 { RowIndex.hash(key) & mask }
            for _ in 0..<(mask == 0 ? 1500 : 6000) {
                let key = "k\(Int.random(in: 0..<500, using: &random))"
                let found = index.find(hash(key)) { keys[$0] == key }
                #expect(found == twin[key])
                if let row = twin[key] {
                    if Bool.random(using: &random) {
                        index.remove(row, hash: hash(key))
                        twin[key] = nil
                    }
                } else if mask != 0 || twin.count < 40 {
                    let row = Bool.random(using: &random) ? next : RowIndex.rowMax - next
                    index.insert(row, hash: hash(key))
                    twin[key] = row
                    keys[row] = key
                    next += 1
                }
            }
            #expect(index.count == twin.count)
            #expect(index.rows.sorted() == twin.values.sorted())
            index = RowIndex()
            twin = [:]
        }
    }

    @Test("What a refused transaction did to places is undone, and the next one knows them as they were")
    func refusedTransaction() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit((0..<50).map { put("city", "p\($0)", name: "first") } + [put("park", "p", name: "tree")])
            let before = try store.restored()
            try store.limitGrowth(pages: 1)
            let tooMuch = (0..<3000).map { put("city", "q\($0)", name: String(repeating: "x", count: 200)) }
            #expect(throws: StoreError.full) {
                try store.commit(
                    [
                        .deletePlace(dataset: "city", id: "p1"), put("city", "p2", name: "second"),
                        .deleteDataset(id: "park", at: 1),
                    ]
                        + tooMuch)
            }
            try store.liftLimit()
            #expect(try store.restored() == before)
            try store.commit([put("city", "p1", name: "third"), put("city", "q1", name: "new"), put("park", "p", name: "lake")])
            let places = try store.restored().places
            #expect(places.count == 52)
            #expect(Set(places.compactMap(\.place.name)) == ["first", "third", "new", "lake"])
            let rows = try store.queue.inDatabase { try Int.fetchOne($0, sql: "SELECT count(*) FROM place") }
            #expect(rows == 52)
        }
    }

    @Test("A place is replaced in its row, and its document with it, whatever came between")
    func replacedInPlace() throws {
        try withScratch { scratch in
            var store = try scratch.store()
            try store.commit([put("city", "p", name: "a", revision: "1-aa")])
            store = try scratch.store()
            try store.commit([put("city", "p", name: "b", revision: "2-bb")])
            try store.commit([.deletePlace(dataset: "city", id: "p")])
            store = try scratch.store()
            try store.commit([put("city", "p", name: "c", revision: "4-cc")])
            try store.commit([put("city", "p", name: "d", revision: "5-dd")])
            let page = try store.feedPage(
                FeedQuery(dataset: "city", since: 0, limit: 100, bytes: 1 << 20, reader: nil))
            #expect(page.rows.map(\.revision) == ["5-dd"])
            #expect(page.rows.map(\.seq) == [5])
            let lookup = DocumentLookup(
                dataset: "city", type: "place", id: "p", revisions: ["1-aa", "2-bb", "4-cc", "5-dd", "9-ff"])
            let known = try #require(try store.documents([lookup])[0])
            #expect(known.history.winner?.revision.text == "5-dd")
            #expect(known.history.ancestors == ["1-aa", "2-bb", "4-cc"])
        }
    }

    @Test("A dataset with a great many places is gone at once for callers, and from the disk piece by piece")
    func pendingPurge() throws {
        try withScratch { scratch in
            var store = try scratch.store()
            store.places.atOnce = 10
            let others = (0..<7).map { put("park", "p\($0)", name: "tree") }
            try store.commit([dataset("city"), dataset("park")] + others)
            try store.commit((0..<100).map { put("city", "p\($0)", name: "house") })
            try store.commit([.deleteDataset(id: "city", at: 9)])
            #expect(try store.hasPendingPurge)
            try expectNothing(of: "city", in: store)
            #expect(try store.purgeSome(looking: 30))
            // As if it had been killed in between.
            store = try scratch.store()
            #expect(try store.hasPendingPurge)
            try expectNothing(of: "city", in: store)
            var pieces = 0
            while try store.purgeSome(looking: 30) { pieces += 1 }
            #expect(pieces >= 3)
            #expect(try !store.hasPendingPurge)
            let left = try store.queue.inDatabase { db in
                try ["place", "document", "leaf", "ancestor", "condemned"].map {
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? -1
                }
            }
            #expect(left == [7, 7, 0, 0, 0])
        }
    }

    @Test("A dataset made anew while the former one still goes has nothing of that", arguments: [false, true])
    func madeAnew(restarts: Bool) throws {
        try withScratch { scratch in
            var store = try scratch.store()
            store.places.atOnce = 10
            try store.commit((0..<100).map { put("city", "p\($0)", name: "old") })
            try store.commit([.deleteDataset(id: "city", at: 9)])
            _ = try store.purgeSome(looking: 30)
            if restarts { store = try scratch.store() }
            try store.commit([dataset("city"), put("city", "p5", name: "new")])
            #expect(try !store.hasPendingPurge)
            #expect(try store.restored().places.map(\.place.name) == ["new"])
            let page = try store.feedPage(FeedQuery(dataset: "city", since: 0, limit: 100, bytes: 1 << 20, reader: nil))
            #expect(page.rows.map(\.id) == ["p5"])
        }
    }

    // MARK: Parts

    private func expectNothing(of name: String, in store: Store) throws {
        let known = try store.restored()
        #expect(known.places.allSatisfy { $0.dataset != name })
        #expect(known.places.count == 7)
        let page = try store.feedPage(FeedQuery(dataset: name, since: 0, limit: 10, bytes: 1 << 20, reader: nil))
        #expect(page.rows.isEmpty)
        #expect(try store.records([.place(dataset: name, id: "p1")]) == [.deletePlace(dataset: name, id: "p1")])
        let lookup = DocumentLookup(dataset: name, type: "place", id: "p1", revisions: [])
        #expect(try store.documents([lookup])[0] == nil)
    }

    private func dataset(_ name: String) -> DurableChange {
        .put(DatasetRecord(id: name, createdAt: 1, updatedAt: 1, revision: "1-a"))
    }

    private func put(_ dataset: String, _ id: String, name: String, revision: String = "1-aa") -> DurableChange {
        .put(
            PlaceRecord(
                dataset: dataset,
                place: Place(
                    id: id, name: name, geometry: .point(latitude: 43, longitude: 7), owner: "o", revision: revision)))
    }
}
