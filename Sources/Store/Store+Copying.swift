import GRDB
import Records

extension Store: CopyableStore {
    // MARK: Out of it

    public func eachRow(_ visit: (StoredRow) throws -> Void) throws {
        do {
            try snapshot { db in
                try Self.eachName(db, visit)
                try Self.eachDocument(db, visit)
                for kind in Kind.allCases { try Self.eachRecord(kind, db, visit) }
            }
        } catch let failure as DatabaseError {
            throw StoreError(failure)
        }
    }

    private static func eachName(_ db: Database, _ visit: (StoredRow) throws -> Void) throws {
        try db.rows("SELECT key, value FROM metadata") { try visit(.named(key: $0.text(0), value: $0.text(1))) }
        try db.rows("SELECT name, value FROM counter") { try visit(.counter(name: $0.text(0), value: $0.int64(1))) }
        try db.rows("SELECT broker, position, filter FROM filter ORDER BY broker, position") {
            try visit(.filter(broker: $0.text(0), position: $0.int64(1), filter: $0.text(2)))
        }
    }

    private static func eachDocument(_ db: Database, _ visit: (StoredRow) throws -> Void) throws {
        try db.rows("SELECT dataset, last, purgedThrough FROM feed") {
            try visit(.feed(dataset: $0.text(0), last: $0.int64(1), purgedThrough: $0.int64(2)))
        }
        let name = "document.dataset, document.type, document.id"
        let kept = "document.dataset NOT IN (SELECT dataset FROM condemned)"
        try db.rows(
            "SELECT \(name), seq, revision, deleted, owner, reader, buriedAt, content FROM document WHERE \(kept) ORDER BY row"
        ) {
            let reader = $0.text(7)
            try visit(
                .document(
                    StoredDocument(
                        $0.documentName, seq: $0.int64(3), revision: $0.text(4), isDeleted: $0.flag(5), owner: $0.optionalText(6),
                        reader: reader.isEmpty ? nil : reader, buriedAt: $0.optionalInt64(8), content: $0.optionalBytes(9))))
        }
        try db.rows(
            """
            SELECT \(name), leaf.revision, leaf.deleted, leaf.content FROM leaf JOIN document ON row = leaf.document WHERE \(kept)
            """
        ) { try visit(.leaf(of: $0.documentName, revision: $0.text(3), isDeleted: $0.flag(4), content: $0.bytes(5))) }
        try db.rows(
            """
            SELECT \(name), generation, ancestor.revision, child FROM ancestor JOIN document ON row = ancestor.document WHERE \(kept)
            """
        ) { try visit(.ancestor(of: $0.documentName, generation: $0.int64(3), revision: $0.text(4), child: $0.text(5))) }
    }

    private static func eachRecord(_ kind: Kind, _ db: Database, _ visit: (StoredRow) throws -> Void) throws {
        let (row, statements) = (kind.row, kind.statements)
        let listed = row.owed == nil ? nil : Int32(row.columns.count)
        let kept = row.isFoundInMemory ? " WHERE dataset NOT IN (SELECT dataset FROM condemned)" : ""
        try db.rows(statements.selectWhole + kept + statements.order) { columns in
            var reader = RowReader(columns)
            try visit(.record(try row.type.init(from: &reader), isListed: listed.map { columns.flag($0) } ?? true))
        }
    }

    // MARK: Into it

    /// One transaction each: a commit syncs the disk, and a transaction of everything would be written twice.
    private static let rowsOfTransaction = 10_000

    public var isEmpty: Bool {
        get throws(StoreError) { try access { try Self.isEmpty($0) } }
    }

    private static func isEmpty(_ db: Database) throws -> Bool {
        let tables = ["document"] + Kind.allCases.map(\.row.name)
        return try tables.allSatisfy { table in
            var isEmpty = true
            try db.rows("SELECT 1 FROM \(table) LIMIT 1") { _ in isEmpty = false }
            return isEmpty
        }
    }

    /// Written some thousand rows at a time: where it throws, the store has a part of them and is of no use.
    public func fill(_ source: ((StoredRow) throws -> Void) throws -> Void) throws {
        do {
            try queue.inDatabase { db in
                try db.beginTransaction(.immediate)
                do {
                    guard try Self.isEmpty(db) else { throw StoreError.other("it is not empty") }
                    for table in ["metadata", "counter", "filter"] { try db.run("DELETE FROM \(table)") }
                    var count = 0
                    try source { row in
                        try Self.write(row, db)
                        count += 1
                        guard count % Self.rowsOfTransaction == 0 else { return }
                        try db.commit()
                        try db.beginTransaction(.immediate)
                    }
                    try db.commit()
                } catch {
                    if db.isInsideTransaction { try? db.rollback() }
                    throw error
                }
            }
        } catch let failure as DatabaseError {
            throw StoreError(failure)
        }
    }

    private static func write(_ row: StoredRow, _ db: Database) throws {
        let document = "(SELECT row FROM document WHERE dataset = ?1 AND type = ?2 AND id = ?3 AND byPlace = 0)"
        switch row {
        case .named(let key, let value): try db.run("INSERT INTO metadata VALUES (?, ?)", key, value)
        case .counter(let name, let value): try db.run("INSERT INTO counter VALUES (?, ?)", name, value)
        case .filter(let broker, let position, let filter):
            try db.run("INSERT INTO filter VALUES (?, ?, ?)", broker, position, filter)
        case .feed(let dataset, let last, let purged): try db.run("INSERT INTO feed VALUES (?, ?, ?)", dataset, last, purged)
        case .document(let row):
            try db.run(
                """
                INSERT INTO document (dataset, type, id, seq, revision, deleted, owner, reader, buriedAt, content) \
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """, row.name.dataset, row.name.type, row.name.id, row.seq, row.revision, row.isDeleted, row.owner,
                row.reader ?? "", row.buriedAt, row.content)
        case .leaf(let name, let revision, let isDeleted, let content):
            try db.run(
                "INSERT INTO leaf VALUES (\(document), ?4, ?5, ?6)", name.dataset, name.type, name.id, revision, isDeleted,
                content)
        case .ancestor(let name, let generation, let revision, let child):
            try db.run(
                "INSERT INTO ancestor VALUES (\(document), ?4, ?5, ?6)", name.dataset, name.type, name.id, generation, revision,
                child)
        case .record(let record, let isListed): try write(record, isListed: isListed, db)
        }
    }

    private static func write(_ record: any DurableRecord, isListed: Bool, _ db: Database) throws {
        let statements = record.kind.statements
        if let place = record as? PlaceRecord { return try insert(place, db) }
        try db.write(record, statements)
        if !isListed { try db.run(statements.delete, fields: record.key.fields) }
    }
}

extension Columns {
    /// Of the first three columns.
    fileprivate var documentName: DocumentName { DocumentName(text(0), text(1), text(2)) }
}
