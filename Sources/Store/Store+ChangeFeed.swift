import GRDB
import Records

// The change feed: which revision each object has, what documents hold, and in which order they changed.

extension Store {
    /// Objects of ours have their content in their own tables. `reader` is empty where everybody may see a row. A tombstone is dated by
    /// the first housekeeping behind it. What an earlier version stored enters the feed in the order in which it was made.
    static func registerChangeFeed(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("change feed") { db in
            try db.execute(sql: changeFeed)
        }
    }

    private static let changeFeed = """
        CREATE TABLE feed (
            dataset TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL, purgedThrough INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE document (
            row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL,
            revision TEXT NOT NULL, deleted INTEGER NOT NULL, owner TEXT, reader TEXT NOT NULL, buriedAt INTEGER, content BLOB
        ) STRICT;
        CREATE UNIQUE INDEX documentByKey ON document (dataset, type, id);
        CREATE INDEX documentBySeq ON document (dataset, seq);
        CREATE INDEX documentByReader ON document (dataset, reader, seq);
        CREATE INDEX documentTombstone ON document (buriedAt) WHERE deleted = 1;
        CREATE TABLE leaf (
            document INTEGER NOT NULL, revision TEXT NOT NULL, deleted INTEGER NOT NULL, content BLOB NOT NULL,
            PRIMARY KEY (document, revision)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE ancestor (
            document INTEGER NOT NULL, generation INTEGER NOT NULL, revision TEXT NOT NULL,
            PRIMARY KEY (document, generation, revision)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE follower (
            dataset TEXT NOT NULL, client TEXT NOT NULL, since INTEGER NOT NULL, lease REAL, leaseUntil INTEGER NOT NULL,
            PRIMARY KEY (dataset, client)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO document (dataset, type, id, seq, revision, deleted, owner, reader)
            SELECT dataset, type, id, row_number() OVER (PARTITION BY dataset ORDER BY createdAt, type, id), revision, 0, owner, reader
            FROM (
                SELECT dataset, 'device' AS type, id, createdAt, revision, owner,
                    CASE type WHEN 'IBeaconDevice' THEN '' ELSE coalesce(owner, '') END AS reader FROM device
                UNION ALL
                SELECT dataset, 'publication', id, createdAt, revision, owner, coalesce(owner, '') FROM publication
                UNION ALL
                SELECT dataset, 'subscription', id, createdAt, revision, owner, coalesce(owner, '') FROM subscription
            );
        INSERT INTO feed SELECT dataset, max(seq), 0 FROM document GROUP BY dataset;
        """

    /// Parameter: the dataset.
    static let changeFeedOfDataset = [
        "DELETE FROM feed WHERE dataset = ?",
        "DELETE FROM follower WHERE dataset = ?",
    ]

    /// Parameter: the dataset.
    static let documentsOfDataset = [
        "DELETE FROM leaf WHERE document IN (SELECT row FROM document WHERE dataset = ?)",
        "DELETE FROM ancestor WHERE document IN (SELECT row FROM document WHERE dataset = ?)",
        "DELETE FROM document WHERE dataset = ?",
    ]

    // MARK: What changes

    /// Enters what a change means for the feed; must come before the change itself, which may take along what it names.
    ///
    /// - Returns: The row of a new document that is found through its place only.
    static func enter(_ change: DurableChange, _ db: Database, _ places: PlaceRows) throws -> Int64? {
        guard let entry = change.feedEntry, let dataset = change.dataset else { return nil }
        switch entry {
        case .object(let type, let id, let revision, let owner, let reader):
            return try enter(Entered(dataset, type.rawValue, id), revision, owner, reader ?? "", db, places)
        case .burial(let type, let id):
            if type == .device { try buryAttachments(of: id, in: dataset, db, places) }
            try bury(Entered(dataset, type.rawValue, id), db, places)
            return nil
        }
    }

    private static func enter(
        _ key: Entered, _ revision: String, _ owner: String?, _ reader: String, _ db: Database, _ places: PlaceRows
    ) throws -> Int64? {
        // What has no revision of its own is in no feed.
        guard RevisionID(revision) != nil else { return nil }
        let place = key.isPlace ? try places.row(key.dataset, key.id, db) : nil
        guard let known = try row(of: key, db, place: place) else {
            let isFoundByPlace = key.isPlace && place == nil
            try db.run(
                """
                INSERT INTO document (dataset, type, id, seq, revision, deleted, owner, reader, byPlace) \
                VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)
                """, key.dataset, key.type, key.id, try nextSeq(of: key.dataset, db), revision, owner, reader, isFoundByPlace)
            return isFoundByPlace ? db.lastInsertedRowID : nil
        }
        guard known.isDeleted || !known.revision.utf8.elementsEqual(revision.utf8) else { return nil }
        try addAncestor(known.revision, of: known.row, db)
        try db.run(
            """
            UPDATE document SET seq = ?2, revision = ?3, deleted = 0, owner = ?4, reader = ?5, buriedAt = NULL, content = NULL \
            WHERE row = ?1
            """, known.row, try nextSeq(of: key.dataset, db), revision, owner, reader)
        return nil
    }

    private static func bury(_ key: Entered, _ db: Database, _ places: PlaceRows) throws {
        guard let known = try row(of: key, db, places), !known.isDeleted else { return }
        try addAncestor(known.revision, of: known.row, db)
        var lost: [String] = []
        try db.rows("SELECT revision FROM leaf WHERE document = ?", known.row) { lost.append($0.text(0)) }
        for revision in lost { try addAncestor(revision, of: known.row, db) }
        if !lost.isEmpty { try db.run("DELETE FROM leaf WHERE document = ?", known.row) }
        try db.run(
            "UPDATE document SET seq = ?2, revision = ?3, deleted = 1, buriedAt = NULL, content = NULL WHERE row = ?1",
            known.row, try nextSeq(of: key.dataset, db), RevisionID.ofDeletion(after: known.revision))
    }

    private static func buryAttachments(
        of device: String, in dataset: String, _ db: Database, _ places: PlaceRows
    ) throws {
        for type in [DocumentType.publication, .subscription] {
            var ids: [String] = []
            let sql = "SELECT id FROM \(type.rawValue) WHERE dataset = ? AND deviceId = ? ORDER BY row"
            try db.rows(sql, dataset, device) { ids.append($0.text(0)) }
            for id in ids { try bury(Entered(dataset, type.rawValue, id), db, places) }
        }
    }

    /// A document with all its leaves, as a push left it.
    static func put(_ record: DocumentRecord, _ db: Database, _ places: PlaceRows) throws {
        guard let winner = record.leaves.first else { return }
        let key = Entered(record.dataset, record.type, record.id)
        let known = try row(of: key, db, places)
        let isOurs = DocumentType(rawValue: record.type) != nil
        let contents = try record.leaves.map { leaf -> [UInt8] in
            if let content = leaf.content { return content }
            guard let known else { return [] }
            return try storedContent(of: leaf.revision.text, in: known, db)
        }
        let content = isOurs || winner.isDeleted ? nil : contents[0]
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
        for revision in record.ancestors { try addAncestor(revision, of: row, db) }
    }

    private static func storedContent(of revision: String, in known: KnownRow, _ db: Database) throws -> [UInt8] {
        var content: [UInt8] = []
        if known.revision.utf8.elementsEqual(revision.utf8) {
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

    static func put(_ record: FollowerRecord, _ db: Database) throws {
        try db.run(
            Table.follower.upsert, record.dataset, record.client, record.since, record.lease, record.leaseUntil)
    }

    // MARK: Parts

    /// What names a document.
    struct Entered {
        let dataset: String
        let type: String
        let id: String

        var isPlace: Bool { type == DocumentType.place.rawValue }

        init(_ dataset: String, _ type: String, _ id: String) {
            self.dataset = dataset
            self.type = type
            self.id = id
        }
    }

    struct KnownRow {
        let row: Int64
        let revision: String
        let isDeleted: Bool
    }

    /// What is known of a document; nil: there is none.
    static func row(of key: Entered, _ db: Database, _ places: PlaceRows) throws -> KnownRow? {
        try row(of: key, db, place: key.isPlace ? try places.row(key.dataset, key.id, db) : nil)
    }

    /// - Parameter place: The row of the place that the document is.
    private static func row(of key: Entered, _ db: Database, place: Int64?) throws -> KnownRow? {
        var known: KnownRow?
        let take = { (row: Columns) in known = KnownRow(row: row.int64(0), revision: row.text(1), isDeleted: row.flag(2)) }
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

    /// Generations so far behind are not remembered: one that comes again is a conflict that loses.
    private static let generationsKept: Int64 = 1000

    private static func addAncestor(_ revision: String, of row: Int64, _ db: Database) throws {
        let generation = RevisionID(revision)?.generation ?? 0
        try db.run("INSERT OR IGNORE INTO ancestor VALUES (?, ?, ?)", row, generation, revision)
        guard generation > generationsKept, generation % 64 == 0 else { return }
        try db.run("DELETE FROM ancestor WHERE document = ? AND generation < ?", row, generation - generationsKept)
    }
}
