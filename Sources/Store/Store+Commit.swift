import GRDB
import Records

extension Store {
    /// Writes the changes in order, in one transaction. When it throws, none of them was kept.
    public func commit(_ changes: [DurableChange]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        let forgets = changes.contains { if case .forget = $0 { true } else { false } }
        if forgets { try access { try $0.execute(sql: "PRAGMA secure_delete = ON") } }
        defer { if forgets { _ = try? access { try $0.execute(sql: "PRAGMA secure_delete = \(Self.usualDeletion)") } } }
        try transact { db in
            var highest: [NumberSequence: Int64] = [:]
            for change in changes {
                try Self.clear(beforehand: change, db, places)
                try apply(change, &highest, db)
            }
            // Kept apart from the rows, so that a deletion does not give them free.
            let sql = "INSERT INTO counter VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = max(value, ?2)"
            for (counter, number) in highest { try db.run(sql, counter.rawValue, number) }
            if forgets { logIsToBeCut = true }
        }
        cutLog()
    }

    /// Writes the log back where what was forgotten is in it. Where somebody reads it just then, the next commit tries again.
    private func cutLog() {
        _ = try? access { db in
            guard logIsToBeCut else { return }
            log.wait()
            try db.checkpoint(.truncate)
            logIsToBeCut = false
        }
    }

    /// One transaction, with the rows of places that it changes.
    func transact(_ body: (Database) throws -> Void) throws(StoreError) {
        try access { db in
            places.begin()
            do {
                try db.inTransaction(.immediate) {
                    try body(db)
                    return .commit
                }
            } catch {
                places.rollBack()
                throw error
            }
            log.committed(db)
        }
    }

    private func apply(_ change: DurableChange, _ highest: inout [NumberSequence: Int64], _ db: Database) throws {
        switch change {
        case .put(let record):
            if let counter = record.kind.statements.counter { highest[counter] = max(highest[counter] ?? 0, record.number) }
            try put(record, db)
        case .delete(let key): try delete(key, db)
        case .forget(let key):
            for sql in key.kind.statements.forgetting { try db.run(sql, fields: key.fields) }
        case .amend(let amendment): try amend(amendment, db)
        case .expire(let kind, let instant): try Self.expire(kind.row, before: instant, keeping: repliesMax, db)
        case .putDocument(let record): try Self.put(record, db, places)
        case .countDocuments: break
        case .forgetTombstones(let instant, let now): try Self.forgetTombstones(before: instant, at: now, db)
        case .putFilters(let broker, let filters): try Self.putFilters(filters, broker: broker, db)
        }
    }

    private func put(_ record: any DurableRecord, _ db: Database) throws {
        let statements = record.kind.statements
        let document = try record.feedEntry.flatMap { try Self.enter($0, in: record.dataset, db, places) }
        if !statements.replacement.isEmpty {
            let key = record.key
            for sql in statements.replacement { try db.run(sql, key.text(0), key.text(key.fields.count > 1 ? 1 : 0)) }
        }
        if statements.endsDataset { try deleteDataset(record.dataset, db) }
        if statements.isFoundInMemory, let place = record as? PlaceRecord {
            return try Self.put(place, document: document, db, places)
        }
        try db.write(record, statements)
    }

    private func delete(_ key: RecordKey, _ db: Database) throws {
        let statements = key.kind.statements
        if let type = key.kind.row.document, let dataset = key.dataset {
            for attachment in statements.attachments {
                var ids: [String] = []
                try db.rows(attachment.ids, fields: key.fields) { ids.append($0.text(0)) }
                for id in ids { try Self.bury(attachment.type, id, in: dataset, db, places) }
            }
            try Self.bury(type, key.id, in: dataset, db, places)
        }
        for sql in statements.deletion { try db.run(sql, fields: key.fields) }
        if statements.isFoundInMemory { return try Self.deletePlace(key.text(0), key.id, db, places) }
        try db.run(statements.delete, fields: key.fields)
        try clean(key, db)
    }

    private func amend(_ amendment: any RecordAmendment, _ db: Database) throws {
        guard let sql = amendment.kind.statements.amendments[ObjectIdentifier(type(of: amendment))] else {
            preconditionFailure("\(type(of: amendment)) is missing in the table of kinds")
        }
        let key = amendment.key
        try db.run(sql) { binder in
            for field in key.fields { binder.write(field) }
            amendment.write(to: &binder)
        }
        try clean(key, db)
    }

    private func clean(_ key: RecordKey, _ db: Database) throws {
        guard let cleaning = key.kind.statements.cleaning else { return }
        try db.run(cleaning.row, fields: key.fields)
        if db.changesCount > 0 { try db.run(cleaning.apart, fields: key.fields) }
    }

    /// Everything but the deletion itself.
    private func deleteDataset(_ id: String, _ db: Database) throws {
        try Self.deletePlaces(of: id, db, places)
        for sql in Self.datasetCascade { try db.run(sql, id) }
    }

    /// Parameter: the dataset.
    static let datasetCascade =
        ["DELETE FROM feed WHERE dataset = ?1"]
        + Kind.allCases.map(\.statements).filter { !$0.endsDataset && !$0.isFoundInMemory }.flatMap(\.ofDataset)

    /// Removes the rows that are too old, and the oldest of each owner that has too many.
    ///
    /// The second is done here, where time has passed anyway, and not at each put: until then an owner may have more on disk,
    /// and a restore leaves them out.
    private static func expire(_ row: KindRow, before instant: Int64, keeping most: Int64, _ db: Database) throws {
        guard let ageing = row.ageing else { return }
        try db.run("DELETE FROM \(row.name) WHERE \(ageing.column) < ?", instant)
        for surplus in try surplus(row, ageing, of: nil, keeping: most, db) {
            try db.run(
                """
                DELETE FROM \(row.name) WHERE number IN \
                (SELECT number FROM \(row.name) WHERE dataset = ? AND \(ageing.owner) = ? ORDER BY number LIMIT ?)
                """,
                surplus.dataset, surplus.owner, surplus.count)
        }
    }

    /// The owners with more rows than are kept, and how many more; of one dataset, or of all where it is nil.
    static func surplus(
        _ row: KindRow, _ ageing: KindRow.Ageing, of dataset: String?, keeping most: Int64, _ db: Database
    ) throws -> [(dataset: String, owner: String, count: Int64)] {
        var surplus: [(dataset: String, owner: String, count: Int64)] = []
        let scope = dataset == nil ? "?1 IS NULL" : "dataset = ?1"
        let sql = """
            SELECT dataset, \(ageing.owner), count(*) FROM \(row.name) WHERE \(scope) GROUP BY dataset, \(ageing.owner) \
            HAVING count(*) > ?2
            """
        try db.rows(sql, dataset, most) { row in surplus.append((row.text(0), row.text(1), row.int64(2) - most)) }
        return surplus
    }

    private static func putFilters(_ filters: [String], broker: String, _ db: Database) throws {
        var known: [String] = []
        try db.rows("SELECT filter FROM filter WHERE broker = ? ORDER BY position", broker) { known.append($0.text(0)) }
        // By bytes: two filters that only look equal are two filters.
        let same = zip(known, filters).prefix { $0.hasSameBytes(as: $1) }.count
        if same < known.count {
            try db.run("DELETE FROM filter WHERE broker = ? AND position >= ?", broker, same)
        }
        for position in same..<filters.count {
            try db.run("INSERT INTO filter VALUES (?, ?, ?)", broker, position, filters[position])
        }
    }
}

extension Database {
    /// Writes the rows of a record itself, replacing those of the same key.
    func write(_ record: any DurableRecord, _ statements: KindStatements) throws {
        try run(statements.put, 0..<statements.storedCount) { record.write(to: &$0) }
        guard let putApart = statements.putApart else { return }
        try run(putApart, statements.storedCount..<statements.storedCount + 1) {
            $0.lead(with: record.number)
            record.write(to: &$0)
        }
    }
}
