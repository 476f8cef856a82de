import Records
import Store

extension PostgresStore: CopyableStore {
    /// Opens a store that must be there already.
    public static func existing(_ address: PostgresAddress) throws(StoreError) -> PostgresStore {
        do {
            let connection = try Connection(url: address.url)
            var isThere = false
            try connection.rows("SELECT 1 FROM pg_tables WHERE schemaname = 'geomatch' AND tablename = 'metadata'") { _ in
                isThere = true
            }
            guard isThere else { throw StoreError.other("there is no store in this database") }
        } catch {
            throw StoreError(postgres: error)
        }
        return try PostgresStore(address, repliesMax: 10_000)
    }

    // MARK: Out of it

    public func eachRow(_ visit: (StoredRow) throws -> Void) throws {
        try reading.passing { connection in
            try connection.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try Self.eachName(connection, visit)
            try Self.eachDocument(connection, visit)
            for kind in Kind.allCases { try Self.eachRecord(kind, connection, visit) }
            try connection.send("COMMIT")
            try connection.finish()
        }
    }

    private static func eachName(_ connection: Connection, _ visit: (StoredRow) throws -> Void) throws {
        try page("SELECT key, value FROM metadata WHERE key <> $1", [.text("version")], connection) {
            try visit(.named(key: $0.text(0), value: $0.text(1)))
        }
        try page("SELECT name, value FROM counter", [], connection) {
            try visit(.counter(name: $0.text(0), value: $0.number(1)))
        }
        try page("SELECT broker, position, filter FROM filter ORDER BY broker, position", [], connection) {
            // Here they count from 1.
            try visit(.filter(broker: $0.text(0), position: $0.number(1) - 1, filter: $0.text(2)))
        }
    }

    private static func eachDocument(_ connection: Connection, _ visit: (StoredRow) throws -> Void) throws {
        try page("SELECT dataset, last, purged FROM feed", [], connection) {
            try visit(.feed(dataset: $0.text(0), last: $0.number(1), purgedThrough: $0.number(2)))
        }
        let columns = "dataset, type, id, seq, revision, deleted, owner, reader, buried, content"
        try page("SELECT \(columns) FROM document WHERE \(isKept)", [], connection) {
            try visit(
                .document(
                    StoredDocument(
                        $0.documentName, seq: $0.number(3), revision: $0.text(4), isDeleted: $0.flag(5),
                        owner: $0.optionalText(6), reader: $0.optionalText(7), buriedAt: $0.isNull(8) ? nil : $0.number(8),
                        content: $0.optionalBytes(9))))
        }
        try page("SELECT dataset, type, id, revision, deleted, content FROM leaf WHERE \(isKept)", [], connection) {
            try visit(.leaf(of: $0.documentName, revision: $0.text(3), isDeleted: $0.flag(4), content: $0.bytes(5)))
        }
        let ancestors = "SELECT dataset, type, id, generation, revision, child FROM ancestor"
        try page("\(ancestors) WHERE \(isKept)", [], connection) {
            try visit(.ancestor(of: $0.documentName, generation: $0.number(3), revision: $0.text(4), child: $0.text(5)))
        }
    }

    private static func eachRecord(_ kind: Kind, _ connection: Connection, _ visit: (StoredRow) throws -> Void) throws {
        let row = kind.row
        let listed = row.owed == nil ? nil : Int32(row.columns.count)
        let order = row.columns[0] == "number" ? "number" : "position"
        let kept = kind == .place ? " WHERE \(isKept)" : ""
        try page("\(kind.statements.selectWhole)\(kept) ORDER BY \(order)", [], connection) { columns in
            let isListed = listed.map { columns.integer($0) == 1 } ?? true
            try visit(.record(try record(kind, columns), isListed: isListed))
        }
    }

    // MARK: Into it

    public var isEmpty: Bool {
        get throws(StoreError) { try writing.use { try Self.isEmpty($0) } }
    }

    private static func isEmpty(_ connection: Connection) throws -> Bool {
        let tables = ["document"] + Kind.allCases.map { Statements.quoted($0.row.name) }
        return try tables.allSatisfy { table in
            var isEmpty = true
            try connection.rows("SELECT 1 FROM \(table) LIMIT 1") { _ in isEmpty = false }
            return isEmpty
        }
    }

    /// One transaction: where it throws, nothing was written.
    public func fill(_ source: ((StoredRow) throws -> Void) throws -> Void) throws {
        try writing.passing { connection in
            try connection.send("BEGIN")
            guard try Self.isEmpty(connection) else { throw StoreError.other("it is not empty") }
            try connection.send("DELETE FROM metadata WHERE key <> $1", [.text("version")])
            for table in ["counter", "filter"] { try connection.send("DELETE FROM \(table)") }
            try source { try Self.write($0, connection) }
            try connection.send("COMMIT")
            try connection.finish()
        }
    }

    private static func write(_ row: StoredRow, _ connection: Connection) throws {
        switch row {
        case .named(let key, let value): try connection.send("INSERT INTO metadata VALUES ($1, $2)", [.text(key), .text(value)])
        case .counter(let name, let value):
            try connection.send("INSERT INTO counter VALUES ($1, $2)", [.text(name), .number(value)])
        case .filter(let broker, let position, let filter):
            try connection.send("INSERT INTO filter VALUES ($1, $2, $3)", [.text(broker), .number(position + 1), .text(filter)])
        case .feed(let dataset, let last, let purged):
            try connection.send("INSERT INTO feed VALUES ($1, $2, $3)", [.text(dataset), .number(last), .number(purged)])
        case .document(let row):
            try connection.send(
                """
                INSERT INTO document (dataset, type, id, seq, revision, deleted, owner, reader, buried, content) \
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                """,
                row.name.values + [
                    .number(row.seq), .text(row.revision), .flag(row.isDeleted), .text(row.owner), .text(row.reader),
                    .optionalNumber(row.buriedAt), .bytes(row.content),
                ])
        case .leaf(let name, let revision, let isDeleted, let content):
            try connection.send(
                "INSERT INTO leaf VALUES ($1, $2, $3, $4, $5, $6)",
                name.values + [.text(revision), .flag(isDeleted), .bytes(content)])
        case .ancestor(let name, let generation, let revision, let child):
            try connection.send(
                "INSERT INTO ancestor VALUES ($1, $2, $3, $4, $5, $6)",
                name.values + [.number(generation), .text(revision), .text(child)])
        case .record(let record, let isListed):
            var fields = FieldCollector()
            record.write(to: &fields)
            try connection.send(record.kind.statements.put, fields.fields.map { .field($0) })
            if !isListed { try connection.send(record.kind.statements.delete, record.key.fields.map { .field($0) }) }
        }
    }
}

extension DocumentName {
    fileprivate var values: [Value] { [.text(dataset), .text(type), .text(id)] }
}

extension Columns {
    /// Of the first three columns.
    fileprivate var documentName: DocumentName { DocumentName(text(0), text(1), text(2)) }
}
