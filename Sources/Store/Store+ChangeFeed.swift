import GRDB
import Records

// The change feed: which revision each object has, what documents hold, and in which order they changed.

extension Store {
    /// Parameter: the dataset.
    static let documentsOfDataset = [
        "DELETE FROM leaf WHERE document IN (SELECT row FROM document WHERE dataset = ?)",
        "DELETE FROM ancestor WHERE document IN (SELECT row FROM document WHERE dataset = ?)",
        "DELETE FROM document WHERE dataset = ?",
    ]

    // MARK: What changes

    /// Enters what a put means for the feed; must come before the put itself.
    ///
    /// - Returns: The row of a new document that is found through its place only.
    static func enter(_ entry: FeedEntry, in dataset: String, _ db: Database, _ places: PlaceRows) throws -> Int64? {
        guard case .object(let type, let id, let revision, let owner, let reader) = entry else { return nil }
        let key = DocumentName(dataset, type.rawValue, id)
        let place = key.isPlace ? try places.row(dataset, id, db) : nil
        let known = try row(of: key, db, place: place)
        guard let update = FeedRules.entering(revision, owner: owner, reader: reader, over: known?.revision) else { return nil }
        if let known {
            try write(update, to: known.row, of: dataset, db)
            return nil
        }
        let isFoundByPlace = key.isPlace && place == nil
        try db.run(
            """
            INSERT INTO document (dataset, type, id, seq, revision, deleted, owner, reader, byPlace) \
            VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)
            """, dataset, key.type, id, try nextSeq(of: dataset, db), revision, owner, reader ?? "", isFoundByPlace)
        return isFoundByPlace ? db.lastInsertedRowID : nil
    }

    /// Enters that an object is gone; must come before what removes it.
    static func bury(_ type: DocumentType, _ id: String, in dataset: String, _ db: Database, _ places: PlaceRows) throws {
        guard let known = try row(of: DocumentName(dataset, type.rawValue, id), db, places) else { return }
        var losers: [String] = []
        try db.rows("SELECT revision FROM leaf WHERE document = ? AND deleted = 0", known.row) { losers.append($0.text(0)) }
        guard let update = FeedRules.burying(known.revision, losers: losers) else { return }
        try write(update, to: known.row, of: dataset, db)
    }

    private static func write(_ update: DocumentUpdate, to row: Int64, of dataset: String, _ db: Database) throws {
        if let parent = update.parent { try addAncestor(parent, of: update.revision, in: row, db) }
        for link in update.buried {
            try db.run("DELETE FROM leaf WHERE document = ? AND revision = ?", row, link.parent)
            try db.run("INSERT OR REPLACE INTO leaf VALUES (?, ?, 1, x'')", row, link.child)
            try addAncestor(link.parent, of: link.child, in: row, db)
        }
        let seq = try nextSeq(of: dataset, db)
        let rest = "seq = ?2, revision = ?3, deleted = ?4, buriedAt = NULL, content = NULL"
        if let people = update.people {
            try db.run(
                "UPDATE document SET \(rest), owner = ?5, reader = ?6 WHERE row = ?1", row, seq, update.revision,
                update.isDeleted,
                people.owner, people.reader ?? "")
        } else {
            try db.run("UPDATE document SET \(rest) WHERE row = ?1", row, seq, update.revision, update.isDeleted)
        }
    }

    /// A document with all its leaves, as a push left it.
    static func put(_ record: DocumentRecord, _ db: Database, _ places: PlaceRows) throws {
        guard let winner = record.leaves.first else { return }
        let key = DocumentName(record.dataset, record.type, record.id)
        let known = try row(of: key, db, places)
        let contents = try record.leaves.map { leaf -> [UInt8] in
            if let content = leaf.content { return content }
            guard let known else { return [] }
            return try storedContent(of: leaf.revision.text, in: known, db)
        }
        let content = record.content(ofWinner: contents[0])
        let seq = try nextSeq(of: record.dataset, db)
        let row: Int64
        if let known {
            row = known.row
            try db.run("DELETE FROM leaf WHERE document = ?", row)
            try db.run(
                """
                UPDATE document SET seq = ?2, revision = ?3, deleted = ?4, owner = ?5, reader = ?6, buriedAt = NULL, content = ?7 \
                WHERE row = ?1
                """, row, seq, winner.revision.text, winner.isDeleted, record.owner, record.reader ?? "", content)
        } else {
            try db.run(
                """
                INSERT INTO document (dataset, type, id, seq, revision, deleted, owner, reader, content) \
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """, record.dataset, record.type, record.id, seq, winner.revision.text, winner.isDeleted, record.owner,
                record.reader ?? "", content)
            row = db.lastInsertedRowID
        }
        for (leaf, content) in zip(record.leaves, contents).dropFirst() {
            try db.run("INSERT INTO leaf VALUES (?, ?, ?, ?)", row, leaf.revision.text, leaf.isDeleted, content)
        }
        for link in record.links { try addAncestor(link.parent, of: link.child, in: row, db) }
        let parents = Set(record.links.map(\.parent))
        for revision in record.ancestors where !parents.contains(revision) { try addAncestor(revision, of: "", in: row, db) }
    }

    private static func storedContent(of revision: String, in known: KnownRow, _ db: Database) throws -> [UInt8] {
        var content: [UInt8] = []
        if known.revision.text.hasSameBytes(as: revision) {
            try db.rows("SELECT content FROM document WHERE row = ?", known.row) { content = $0.bytes(0) }
        } else {
            try db.rows("SELECT content FROM leaf WHERE document = ? AND revision = ?", known.row, revision) {
                content = $0.bytes(0)
            }
        }
        return content
    }

    /// Forgets tombstones that were dated before an instant, and dates those that are not.
    static func forgetTombstones(before instant: Int64, at now: Int64, _ db: Database) throws {
        let old = "SELECT row FROM document WHERE deleted = 1 AND buriedAt < ?"
        var purged: [(dataset: String, seq: Int64)] = []
        try db.rows("SELECT dataset, max(seq) FROM document WHERE deleted = 1 AND buriedAt < ? GROUP BY dataset", instant) {
            purged.append(($0.text(0), $0.int64(1)))
        }
        for (dataset, seq) in purged {
            try db.run("UPDATE feed SET purgedThrough = max(purgedThrough, ?2) WHERE dataset = ?1", dataset, seq)
        }
        if !purged.isEmpty {
            try db.run("DELETE FROM leaf WHERE document IN (\(old))", instant)
            try db.run("DELETE FROM ancestor WHERE document IN (\(old))", instant)
            try db.run("DELETE FROM document WHERE deleted = 1 AND buriedAt < ?", instant)
        }
        try db.run("UPDATE document SET buriedAt = ? WHERE deleted = 1 AND buriedAt IS NULL", now)
    }

    // MARK: Parts

    struct KnownRow {
        let row: Int64
        let revision: KnownRevision
    }

    /// What is known of a document; nil: there is none.
    static func row(of key: DocumentName, _ db: Database, _ places: PlaceRows) throws -> KnownRow? {
        try row(of: key, db, place: key.isPlace ? try places.row(key.dataset, key.id, db) : nil)
    }

    /// - Parameter place: The row of the place that the document is.
    private static func row(of key: DocumentName, _ db: Database, place: Int64?) throws -> KnownRow? {
        var known: KnownRow?
        let take = { (row: Columns) in
            known = KnownRow(row: row.int64(0), revision: KnownRevision(row.text(1), isDeleted: row.flag(2)))
        }
        if let place {
            // A document that was purged may have left its row to another one.
            let sql = """
                SELECT row, revision, deleted FROM document WHERE row = (SELECT document FROM place WHERE row = ?) AND dataset = ? \
                AND type = ? AND id = ? AND byPlace = 1
                """
            try db.rows(sql, place, key.dataset, key.type, key.id, visit: take)
        }
        guard known == nil else { return known }
        let sql = "SELECT row, revision, deleted FROM document WHERE dataset = ? AND type = ? AND id = ? AND byPlace = 0"
        try db.rows(sql, key.dataset, key.type, key.id, visit: take)
        return known
    }

    private static func nextSeq(of dataset: String, _ db: Database) throws -> Int64 {
        var seq: Int64 = 0
        try db.rows(
            "INSERT INTO feed VALUES (?, 1, 0) ON CONFLICT (dataset) DO UPDATE SET last = last + 1 RETURNING last", dataset
        ) { seq = $0.int64(0) }
        return seq
    }

    /// - Parameter child: Empty where it is not known.
    private static func addAncestor(_ revision: String, of child: String, in row: Int64, _ db: Database) throws {
        try db.run(
            "INSERT OR IGNORE INTO ancestor VALUES (?, ?, ?, ?)", row, RevisionID(revision)?.generation ?? 0, revision, child)
        guard let generation = FeedRules.forgottenGenerations(adding: revision) else { return }
        try db.run("DELETE FROM ancestor WHERE document = ? AND generation < ?", row, generation)
    }
}
