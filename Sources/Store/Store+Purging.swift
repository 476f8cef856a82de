import GRDB
import Records

// Datasets with a great many places are removed in pieces. A deletion marks them, in the transaction that removes all the rest of the
// dataset: from then on nothing of them is read. Their places and documents go afterwards, a few thousand at a time, also behind a
// crash. A client that creates the dataset anew before that waits until all of them are gone.

extension Store {
    public var hasPendingPurge: Bool {
        get throws(StoreError) { try access { _ in !places.pendingPurge.isEmpty } }
    }

    public func purgeSome(looking count: Int = 2000) throws(StoreError) -> Bool {
        var hasMore = false
        try transact { db in
            for dataset in places.pendingPurge.sorted() {
                guard try removeDocuments(of: dataset, count, db) == 0 else {
                    hasMore = true
                    return
                }
            }
            guard !places.pendingPurge.isEmpty else { return }
            hasMore = try removePlaces(count, db)
        }
        return hasMore
    }

    /// - Returns: How many were removed.
    private func removeDocuments(of dataset: String, _ count: Int, _ db: Database) throws -> Int {
        var rows: [Int64] = []
        try db.rows("SELECT row FROM document WHERE dataset = ? ORDER BY seq LIMIT ?", dataset, count) {
            rows.append($0.int64(0))
        }
        for row in rows {
            try db.run("DELETE FROM leaf WHERE document = ?", row)
            try db.run("DELETE FROM ancestor WHERE document = ?", row)
            try db.run("DELETE FROM document WHERE row = ?", row)
        }
        return rows.count
    }

    /// Goes through the places of all datasets by row: there is no index of datasets, which would cost more at each import.
    ///
    /// - Returns: Whether there is more.
    private func removePlaces(_ count: Int, _ db: Database) throws -> Bool {
        var purged: [Int64] = []
        var lookedAt = 0
        try db.rows("SELECT row, dataset FROM place WHERE row > ? ORDER BY row LIMIT ?", places.sweptThrough, count) { row in
            lookedAt += 1
            places.sweptThrough = row.int64(0)
            if places.pendingPurge.contains(row.text(1)) { purged.append(row.int64(0)) }
        }
        for row in purged { try db.run("DELETE FROM place WHERE row = ?", row) }
        guard lookedAt < count else { return true }
        for dataset in places.pendingPurge { try forget(purged: dataset, db) }
        return false
    }

    private func forget(purged dataset: String, _ db: Database) throws {
        try db.run("DELETE FROM condemned WHERE dataset = ?", dataset)
        places.endPurge(dataset)
    }

    // MARK: As part of other transactions

    /// Removes the places and documents of a dataset, or leaves them to ``purgeSome(looking:)`` where they are too many.
    static func deletePlaces(of dataset: String, _ db: Database, _ places: PlaceRows) throws {
        try places.know(db)
        guard places.count(of: dataset) <= places.atOnce else {
            try db.run("INSERT OR IGNORE INTO condemned VALUES (?)", dataset)
            places.markForPurge(dataset)
            return
        }
        for row in places.rows(of: dataset).sorted() { try db.run("DELETE FROM place WHERE row = ?", row) }
        places.drop(dataset)
        // Where an earlier dataset of this name is pending purge, its documents are.
        guard !places.pendingPurge.contains(dataset) else { return }
        for sql in documentsOfDataset { try db.run(sql, dataset) }
    }

    /// Makes room for what becomes part of a name that is pending purge again: all of the former dataset goes, in this transaction.
    static func clear(beforehand change: DurableChange, _ db: Database, _ places: PlaceRows) throws {
        guard !places.pendingPurge.isEmpty, let dataset = change.dataset, places.pendingPurge.contains(dataset),
            change.revivesDataset
        else { return }
        try places.know(db)
        try db.run("DELETE FROM place WHERE dataset = ?", dataset)
        for sql in documentsOfDataset { try db.run(sql, dataset) }
        try db.run("DELETE FROM condemned WHERE dataset = ?", dataset)
        places.endPurge(dataset)
    }
}
