import Records
import Store

extension PostgresStore {
    /// Gives everything back, or what belongs to one dataset, some hundred rows in memory at a time, as ``DurableStore`` says.
    public func restore(dataset: String?, repliesSince: Int64, _ visit: (DurableChange) throws -> Void) throws {
        try reading.passing { try restore(dataset: dataset, repliesSince: repliesSince, $0, visit) }
    }

    /// - Parameter begun: Called before anything is given back, in the state of the store that all of it is of.
    func restore(
        dataset: String?, repliesSince: Int64, _ connection: Connection, begun: () throws -> Void = {},
        _ visit: (DurableChange) throws -> Void
    ) throws {
        try connection.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try begun()
        let scope = try scope(dataset, connection)
        for kind in Kind.allCases where dataset == nil || kind.row.isRestoredWithDataset {
            let row = kind.row
            try Self.page(Self.selection(row, scope, repliesMax), [scope.value], connection) { columns in
                if let ageing = row.ageing, columns.integer(Int32(row.index(of: ageing.column))) < repliesSince { return }
                try visit(.put(try Self.record(kind, columns)))
            }
        }
        let ours = DocumentType.allCases.map { Field.text($0.rawValue).literal }.joined(separator: ", ")
        let counted = "SELECT dataset, owner, count(*) FROM document WHERE type NOT IN (\(ours)) AND \(Self.isKept)"
        let inScope = "\(counted) AND \(scope.condition("dataset")) GROUP BY dataset, owner"
        try Self.page(inScope, [scope.value], connection) {
            try visit(.countDocuments(dataset: $0.text(0), owner: $0.optionalText(1), Int($0.number(2))))
        }
        if dataset == nil {
            for (broker, filters) in try filters(connection) { try visit(.putFilters(broker: broker, filters)) }
        }
        try connection.send("COMMIT")
        try connection.finish()
    }

    /// What is read at a time.
    private struct Scope {
        let value: Value
        let isShard: Bool

        /// Of the column that names the dataset. Parameter: the value.
        func condition(_ column: String) -> String {
            isShard ? "\(column) = ANY ($1::bytea[])" : "($1::bytea IS NULL OR \(column) = $1)"
        }
    }

    /// Of a part of the store, the datasets that are its own: those that there are, that there were, and that keys are of.
    private func scope(_ dataset: String?, _ connection: Connection) throws -> Scope {
        guard let shard, dataset == nil else { return Scope(value: .text(dataset), isShard: false) }
        try connection.rows(
            "SELECT id FROM dataset UNION SELECT id FROM \"deletedDataset\" UNION SELECT dataset FROM \"accessKey\""
        ) { shard.note($0.text(0)) }
        return Scope(value: .fields(shard.datasets), isShard: true)
    }

    /// All rows of a kind in the order of a restore. Parameter: the value of the scope.
    private static func selection(_ row: KindRow, _ scope: Scope, _ repliesMax: Int64) -> String {
        let statements = row.kind.statements
        let dataset = scope.condition(Statements.quoted(row.datasetColumn))
        let scope = row.kind == .place ? "\(dataset) AND \(isKept)" : dataset
        let order = row.columns[0] == "number" ? "number" : "position"
        guard let ageing = row.ageing else { return "\(statements.select) WHERE \(scope) ORDER BY \(order)" }
        let owner = Statements.quoted(ageing.owner)
        let age = "row_number() OVER (PARTITION BY dataset, \(owner) ORDER BY position DESC) AS age"
        let kept = "SELECT position FROM (SELECT position, \(age) FROM \(Statements.quoted(row.name)) WHERE \(scope)) AS aged"
        return "\(statements.select) WHERE position IN (\(kept) WHERE age <= \(repliesMax)) ORDER BY \(order)"
    }

    private static let pageRows = 500

    /// Gives the rows of a statement, some hundred in memory at a time.
    static func page(
        _ sql: String, _ values: [Value], _ connection: Connection, _ visit: (Columns) throws -> Void
    ) throws {
        try connection.send("DECLARE page NO SCROLL CURSOR FOR \(sql)", values)
        try connection.rows(repeating: "FETCH \(pageRows) FROM page", whileThereAre: pageRows, visit: visit)
        try connection.send("CLOSE page")
    }

    private func filters(_ connection: Connection) throws -> [(broker: String, filters: [String])] {
        var all: [(broker: String, filters: [String])] = []
        try connection.rows("SELECT broker, filter FROM filter ORDER BY broker, position") { row in
            let broker = row.text(0)
            if all.last.map({ $0.broker.hasSameBytes(as: broker) }) != true { all.append((broker, [])) }
            all[all.count - 1].filters.append(row.text(1))
        }
        return all
    }

    static func record(_ kind: Kind, _ columns: Columns) throws -> any DurableRecord {
        var reader = RowReader(columns)
        return try kind.row.type.init(from: &reader)
    }

    // MARK: Single records

    public func records(_ keys: [RecordKey]) throws(StoreError) -> [DurableChange] {
        try read { connection in try keys.flatMap { try Self.records($0, connection) } }
    }

    private static func records(_ key: RecordKey, _ connection: Connection) throws -> [DurableChange] {
        let (row, statements) = (key.kind.row, key.kind.statements)
        let isPart = key.fields.count < row.keyCount
        var sql =
            isPart
            ? "\(statements.select) WHERE \(Statements.condition(row, fields: key.fields.count)) ORDER BY position"
            : statements.selectOne
        if key.kind == .place, !isPart { sql += " AND \(isKept)" }
        var found: [DurableChange] = []
        try connection.rows(sql, key.fields.map { .field($0) }) { found.append(.put(try record(key.kind, $0))) }
        return found.isEmpty && !isPart ? [.delete(key)] : found
    }

    private static let listed = "dataset = $1 AND listed = \(Field.integer(1).literal)"

    public func matches(dataset: String, deviceId: String, after: String?, limit: Int) throws(StoreError) -> [MatchRecord]? {
        try read { connection in
            var newest: [(number: Int64, id: String)] = []
            try connection.rows(
                "SELECT number, id FROM match WHERE \(Self.listed) AND \"deviceId\" = $2 ORDER BY number DESC LIMIT $3",
                [.text(dataset), .text(deviceId), .number(Int64(MatchRecord.listedMax))]
            ) { newest.append(($0.integer(0), $0.text(1))) }
            return try MatchRecord.page(of: newest, after: after, limit: limit)?.compactMap { try Self.match($0, connection) }
        }
    }

    public func match(dataset: String, id: String) throws(StoreError) -> MatchRecord? {
        try read { connection in
            var number: Int64?
            try connection.rows("SELECT number FROM match WHERE \(Self.listed) AND id = $2", [.text(dataset), .text(id)]) {
                number = $0.integer(0)
            }
            return try number.flatMap { try Self.match($0, connection) }
        }
    }

    private static func match(_ number: Int64, _ connection: Connection) throws -> MatchRecord? {
        var match: MatchRecord?
        try connection.rows(Kind.match.statements.selectOne, [.field(.integer(number))]) {
            match = try record(.match, $0) as? MatchRecord
        }
        return match
    }

    // MARK: The feed

    public func feedPage(_ query: FeedQuery) throws(StoreError) -> FeedPage {
        try read { connection in
            var page = FeedPage(last: 0, purgedThrough: 0, rows: [], isPart: false)
            try connection.rows("SELECT last, purged FROM feed WHERE dataset = $1", [.text(query.dataset)]) {
                (page.last, page.purgedThrough) = ($0.number(0), $0.number(1))
            }
            if let end = query.countsSharedUnlessAt, end != page.last {
                page.sharedCount = try Self.count(
                    of: query.dataset, query.reader == nil ? "" : "AND reader IS NULL", [], connection)
            }
            if query.countsOwn, let reader = query.reader {
                page.ownCount = try Self.count(of: query.dataset, "AND reader = $2", [.text(reader)], connection)
            }
            let (limit, isAll) = Int64(clamping: query.limit).addingReportingOverflow(1)
            var rows: [(row: FeedRow, hasLosers: Bool)] = []
            try connection.rows(
                """
                SELECT seq, type, id, revision, deleted, CASE WHEN \(Self.bytesBefore) < $5 THEN content END, \
                EXISTS (SELECT 1 FROM leaf WHERE leaf.dataset = $1 AND leaf.type = document.type AND leaf.id = document.id) \
                FROM document WHERE dataset = $1 AND seq > $2 AND \(Self.visible("$3")) AND \(Self.isKept) ORDER BY seq LIMIT $4
                """,
                [
                    .text(query.dataset), .number(query.since), .text(query.reader), .number(isAll ? .max : limit),
                    .number(Int64(query.bytes)),
                ]
            ) { row in rows.append((FeedRow(row), row.flag(6))) }
            var bytes = 0
            for (row, hasLosers) in rows {
                var row = row
                if hasLosers {
                    row.losers = try Self.losers([.text(query.dataset), .text(row.type), .text(row.id)], connection) { _, _ in nil
                    }
                }
                page.add(row, within: query, &bytes)
                if page.isPart { break }
            }
            return page
        }
    }

    /// What the rows before come to, as ``FeedPage/add(_:within:_:)`` counts it: what a page has no room for is not read.
    private static let bytesBefore = """
        coalesce(sum(coalesce(octet_length(content), 400) + octet_length(id) - 1) \
        OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
        """

    /// What a reader sees; all where the parameter is nothing.
    private static func visible(_ parameter: String) -> String {
        "(\(parameter)::bytea IS NULL OR reader IS NULL OR reader = \(parameter))"
    }

    private static func count(
        of dataset: String, _ condition: String, _ values: [Value], _ connection: Connection
    ) throws -> FeedCount {
        var count = FeedCount(live: 0, deleted: 0)
        try connection.rows(
            "SELECT deleted, count(*) FROM document WHERE dataset = $1 AND \(isKept) \(condition) GROUP BY deleted",
            [.text(dataset)] + values
        ) { row in
            if row.flag(0) { count.deleted = Int(row.number(1)) } else { count.live = Int(row.number(1)) }
        }
        return count
    }

    private static func losers(
        _ key: [Value], _ connection: Connection, content: (Columns, RevisionID) -> [UInt8]?
    ) throws -> [DocumentLeaf] {
        var losers: [DocumentLeaf] = []
        try connection.rows(
            "SELECT revision, deleted, content FROM leaf WHERE dataset = $1 AND type = $2 AND id = $3 ORDER BY revision", key
        ) { row in
            guard let revision = RevisionID(row.text(0)) else { throw MalformedRevision() }
            losers.append(DocumentLeaf(revision: revision, isDeleted: row.flag(1), content: content(row, revision)))
        }
        return losers.sorted { $0.wins(over: $1) }
    }

    public func documents(_ lookups: [DocumentLookup]) throws(StoreError) -> [KnownDocument?] {
        try read { connection in
            var budget = ContentBudget()
            return try lookups.map { try Self.document($0, connection, &budget) }
        }
    }

    private static func document(
        _ lookup: DocumentLookup, _ connection: Connection, _ budget: inout ContentBudget
    ) throws -> KnownDocument? {
        let key: [Value] = [.text(lookup.dataset), .text(lookup.type), .text(lookup.id)]
        let of = "dataset = $1 AND type = $2 AND id = $3"
        var found: (owner: String?, reader: String?, winner: DocumentLeaf, seq: Int64)?
        let columns = "owner, reader, revision, deleted, seq, content"
        try connection.rows("SELECT \(columns) FROM document WHERE \(of) AND \(isKept)", key) { row in
            guard let revision = RevisionID(row.text(2)) else { throw MalformedRevision() }
            let content = row.content(5, ofWinner: true, revision, lookup, &budget)
            let winner = DocumentLeaf(revision: revision, isDeleted: row.flag(3), content: content)
            found = (row.optionalText(0), row.optionalText(1), winner, row.number(4))
        }
        guard let found else { return nil }
        var ancestors: Set<String> = []
        if !lookup.revisions.isEmpty {
            try connection.rows(
                "SELECT DISTINCT revision FROM ancestor WHERE \(of) AND revision = ANY ($4::bytea[])",
                key + [.fields(lookup.revisions.map { .text($0) })]
            ) { ancestors.insert($0.text(0)) }
        }
        var links: Set<RevisionLink> = []
        if lookup.wantsLinks {
            try connection.rows(
                "SELECT revision, child FROM ancestor WHERE \(of) AND child <> \(Field.text("").literal)", key
            ) { links.insert(RevisionLink($0.text(1), from: $0.text(0))) }
        }
        let losers = try losers(key, connection) { $0.content(2, ofWinner: false, $1, lookup, &budget) }
        return KnownDocument(
            owner: found.owner, reader: found.reader,
            history: DocumentHistory(leaves: [found.winner] + losers, ancestors: ancestors, links: links), seq: found.seq)
    }

    /// Reads in one state of the store, beside the writes.
    private func read<Value>(_ body: (Connection) throws -> Value) throws(StoreError) -> Value {
        try reading.use { connection in
            try connection.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            let value = try body(connection)
            try connection.send("COMMIT")
            try connection.finish()
            return value
        }
    }
}

/// A revision that no program of ours wrote.
struct MalformedRevision: Error {}

extension FeedRow {
    fileprivate init(_ row: Columns) {
        self.init(
            seq: row.number(0), type: row.text(1), id: row.text(2), revision: row.text(3), isDeleted: row.flag(4), losers: [],
            content: row.optionalBytes(5))
    }
}

extension Columns {
    /// What a leaf says, where that is wanted.
    fileprivate func content(
        _ column: Int32, ofWinner isWinner: Bool, _ revision: RevisionID, _ lookup: DocumentLookup, _ budget: inout ContentBudget
    ) -> [UInt8]? {
        guard lookup.wantsContent(of: revision, isWinner: isWinner, within: &budget, count(column)) else { return nil }
        return isWinner ? optionalBytes(column) : bytes(column)
    }
}
