import Records
import Store

extension PostgresStore {
    /// Writes the changes in order, in one transaction. When it throws, none of them was kept, or the connection was lost and nobody knows:
    /// written again they come to the same.
    public func commit(_ changes: [DurableChange]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try changing(by: changes) { connection in
            var transaction = Transaction(connection, repliesMax: repliesMax, purge, shard: shard)
            for change in changes { try purge.clear(beforehand: change, connection) }
            try transaction.feed.lookUp(changes)
            for change in changes { try transaction.apply(change) }
            try transaction.end()
        }
    }

    /// One transaction, which may mark datasets for purging, or remove what is left of them.
    ///
    /// - Parameter changes: Those that it writes, as far as memory knows of them.
    func changing<Value>(
        by changes: [DurableChange] = [], _ body: (Connection) throws -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try writing.use { connection in
                try connection.send("BEGIN")
                try purge.know(connection, of: shard)
                let value = try body(connection)
                try shard?.count(changes, connection)
                try shard?.checkFence(connection)
                try connection.send("COMMIT")
                try connection.finish()
                return value
            }
        } catch {
            purge.forget()
            throw error
        }
    }
}

/// Changes on their way into the tables.
struct Transaction {
    private let connection: Connection
    private let repliesMax: Int64
    private let purge: PendingPurge
    private let shard: PostgresShard?
    var feed: FeedTransaction
    private var highest: [NumberSequence: Int64] = [:]
    /// Puts of one kind that follow each other and are still to be sent, together: thousands of places cost half so.
    private var rows: (kind: Kind, keys: Set<[Field]>, fields: [[Field]])?

    private static let rowsMax = 500

    init(_ connection: Connection, repliesMax: Int64, _ purge: PendingPurge, shard: PostgresShard?) {
        self.connection = connection
        self.repliesMax = repliesMax
        self.purge = purge
        self.shard = shard
        feed = FeedTransaction(connection, shard: shard)
    }

    mutating func apply(_ change: DurableChange) throws {
        if case .put = change {} else { try sendRows() }
        // Also of what this transaction has deleted.
        try purge.clear(beforehand: change, connection)
        switch change {
        case .put(let record): try put(record)
        case .delete(let key): try delete(key)
        case .forget(let key): try remove(key.kind.statements.forgetting, key.text(0), key.id)
        case .amend(let amendment): try amend(amendment)
        case .expire(let kind, let instant): try expire(kind.row, before: instant)
        case .putDocument(let record): try feed.put(record)
        case .countDocuments: break
        case .forgetTombstones(let instant, let now): try feed.forgetTombstones(before: instant, at: now)
        case .putFilters(let broker, let filters): try putFilters(filters, broker: broker)
        }
    }

    /// Writes what was counted.
    mutating func end() throws {
        try sendRows()
        try feed.end()
        let sql = "INSERT INTO counter VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = greatest(counter.value, $2)"
        for (counter, number) in highest {
            try connection.send(sql, [.text(counter.name(in: shard?.number)), .number(number)])
        }
    }

    private mutating func put(_ record: any DurableRecord) throws {
        let row = record.kind.row
        if let counter = row.counter { highest[counter] = max(highest[counter] ?? 0, record.number) }
        if let entry = record.feedEntry { try feed.enter(entry, in: record.dataset) }
        let key = record.key
        if key.kind == .dataset || row.endsDataset { shard?.note(record.dataset) }
        if key.kind == .dataset, let shard, !shard.has(record.dataset) {
            throw StoreError.other("a dataset of another shard was to be written")
        }
        let statements = record.kind.statements
        let isFollowing = rows?.kind == record.kind && rows?.keys.contains(key.fields) == false
        if !isFollowing || !statements.replacement.isEmpty || row.endsDataset { try sendRows() }
        try remove(statements.replacement, record.dataset, key.text(key.fields.count > 1 ? 1 : 0))
        if row.endsDataset { try deleteDataset(record.dataset) }
        var fields = FieldCollector()
        record.write(to: &fields)
        if rows == nil { rows = (record.kind, [], []) }
        rows?.keys.insert(key.fields)
        rows?.fields.append(fields.fields)
        if let count = rows?.fields.count, count >= Self.rowsMax { try sendRows() }
    }

    private mutating func sendRows() throws {
        guard let (kind, _, fields) = rows else { return }
        rows = nil
        if fields.count == 1 { return try connection.send(kind.statements.put, fields[0].map { .field($0) }) }
        let columns = fields[0].indices.map { column in Value.fields(fields.map { $0[column] }) }
        try connection.send(kind.statements.putAll, columns)
    }

    private mutating func delete(_ key: RecordKey) throws {
        let statements = key.kind.statements
        if let type = key.kind.row.document, let dataset = key.dataset {
            for attachment in statements.attachments {
                var ids: [String] = []
                try connection.rows(attachment.ids, [.text(dataset), .text(key.id)]) { ids.append($0.text(0)) }
                for id in ids { try feed.bury(attachment.type, id, in: dataset) }
            }
            try feed.bury(type, key.id, in: dataset)
        }
        try remove(statements.deletion, key.text(0), key.id)
        try connection.send(statements.delete, key.fields.map { .field($0) })
        try clean(key)
    }

    private func remove(_ statements: [String], _ dataset: String, _ id: String) throws {
        for sql in statements { try connection.send(sql, [.text(dataset), .text(id)]) }
    }

    private func amend(_ amendment: any RecordAmendment) throws {
        guard let sql = amendment.kind.statements.amendments[ObjectIdentifier(type(of: amendment))] else {
            preconditionFailure("\(type(of: amendment)) is missing in the table of kinds")
        }
        var fields = FieldCollector()
        amendment.write(to: &fields)
        let key = amendment.key
        try connection.send(sql, (key.fields + fields.fields).map { .field($0) })
        try clean(key)
    }

    private func clean(_ key: RecordKey) throws {
        if let cleaning = key.kind.statements.cleaning { try connection.send(cleaning, key.fields.map { .field($0) }) }
    }

    private mutating func deleteDataset(_ id: String) throws {
        try feed.deleteDataset(id)
        for kind in Kind.allCases where !kind.row.endsDataset && kind != .place {
            try connection.send(kind.statements.ofDataset, [.text(id)])
        }
        try purge.delete(id, connection)
    }

    /// Removes the rows that are too old, and the oldest of each owner that has too many: until then an owner may have more, and a
    /// restore leaves them out.
    private func expire(_ row: KindRow, before instant: Int64) throws {
        guard let ageing = row.ageing else { return }
        let table = Statements.quoted(row.name)
        let scope = shard.scope()
        try connection.send(
            "DELETE FROM \(table) WHERE \(Statements.quoted(ageing.column)) < $1\(scope.and)",
            [.field(.integer(instant))] + scope.values)
        let newest = "row_number() OVER (PARTITION BY dataset, \(Statements.quoted(ageing.owner)) ORDER BY position DESC)"
        try connection.send(
            """
            DELETE FROM \(table) WHERE position IN \
            (SELECT position FROM (SELECT position, \(newest) AS age FROM \(table) WHERE true\(scope.and)) AS aged WHERE age > $1)
            """, [.number(repliesMax)] + scope.values)
    }

    private func putFilters(_ filters: [String], broker: String) throws {
        try connection.send(
            "DELETE FROM filter WHERE broker = $1 AND position >= $2", [.text(broker), .number(Int64(filters.count))])
        try connection.send(
            """
            INSERT INTO filter SELECT $1::bytea, position, filter FROM unnest($2::bytea[]) WITH ORDINALITY AS given (filter, position) \
            ON CONFLICT (broker, position) DO UPDATE SET filter = excluded.filter WHERE filter.filter <> excluded.filter
            """, [.text(broker), .fields(filters.map { .text($0) })])
    }
}
