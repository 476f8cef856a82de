import GRDB
import Records

extension Store {
    /// Gives everything back, one row in memory at a time.
    ///
    /// Kinds come in the order of their table, then counts of documents and filters (one change for each broker). What has a
    /// number comes by it, replies oldest first (the newest 10,000 of each client); else there is no order within a kind.
    ///
    /// A match is still to be delivered has its body; one that was delivered has an **empty body**: the reader
    /// needs to know which there are, and reads a body when it is asked for it. A match to be delivered may be of a device that is gone.
    ///
    /// - Parameters:
    ///   - dataset: Gives back what belongs to this dataset only, without filters, categories and places, and does not wait for a write.
    ///   - repliesSince: Older replies are left out; milliseconds since 1970.
    ///   - visit: Must not use the store; an error it throws ends the restore and is passed on as it is.
    /// - Throws: ``StoreError``, or what `visit` threw.
    public func restore(
        dataset: String? = nil, repliesSince: Int64 = .min, _ visit: (DurableChange) throws -> Void
    ) throws {
        do {
            if let dataset {
                try snapshot { try restoreRows($0, of: dataset, since: repliesSince, visit) }
            } else {
                try placeSnapshot { db, places in
                    try restoreRows(db, of: nil, since: repliesSince, visit)
                    // The pages of a whole database were read: give the memory back.
                    db.releaseMemory()
                }
            }
        } catch let failure as DatabaseError {
            throw StoreError(failure)
        }
    }

    private func restoreRows(
        _ db: Database, of dataset: String?, since: Int64, _ visit: (DurableChange) throws -> Void
    ) throws {
        for kind in Kind.allCases where dataset == nil || kind.row.isRestoredWithDataset {
            let row = kind.row
            if row.isFoundInMemory {
                try Self.restorePlaces(db, places, visit)
            } else if let ageing = row.ageing {
                try restoreAgeing(row, ageing, db, of: dataset, since: since, visit)
            } else {
                try Self.each(row, db, of: dataset) { try visit(.put($1)) }
            }
        }
        try Self.restoreDocumentCounts(db, of: dataset, visit)
        if dataset == nil { try Self.restoreFilters(db, visit) }
    }

    /// The plan of each statement is fixed when it is compiled, so all and one are two statements.
    private static func each(
        _ row: KindRow, _ db: Database, of dataset: String?, _ visit: (Columns, any DurableRecord) throws -> Void
    ) throws {
        let statements = row.kind.statements
        let type = row.type
        try db.rows("\(statements.select) WHERE \(dataset == nil ? "?1 IS NULL" : statements.scope)\(statements.order)", dataset)
        {
            var reader = RowReader($0)
            try visit($0, try type.init(from: &reader))
        }
    }

    private func restoreAgeing(
        _ row: KindRow, _ ageing: KindRow.Ageing, _ db: Database, of dataset: String?, since: Int64,
        _ visit: (DurableChange) throws -> Void
    ) throws {
        // What an owner has too much of are its oldest, which come first.
        var surplus: [[String]: Int64] = [:]
        for owner in try Self.surplus(row, ageing, of: dataset, keeping: repliesMax, db) {
            surplus[[owner.dataset, owner.owner]] = owner.count
        }
        let (owner, at) = (Int32(row.index(of: ageing.owner)), Int32(row.index(of: ageing.column)))
        try Self.each(row, db, of: dataset) { columns, record in
            if !surplus.isEmpty {
                let key = [record.dataset, columns.text(owner)]
                if let left = surplus[key] {
                    surplus[key] = left > 1 ? left - 1 : nil
                    return
                }
            }
            if columns.int64(at) >= since { try visit(.put(record)) }
        }
    }

    private static func restoreFilters(_ db: Database, _ visit: (DurableChange) throws -> Void) throws {
        var broker: String?
        var filters: [String] = []
        try db.rows("SELECT broker, filter FROM filter ORDER BY broker, position") { row in
            let next = row.text(0)
            if let known = broker, known != next {
                try visit(.putFilters(broker: known, filters))
                filters = []
            }
            broker = next
            filters.append(row.text(1))
        }
        if let broker { try visit(.putFilters(broker: broker, filters)) }
    }
}

// MARK: Single records

extension Store {
    /// What is durable of each key, in the order asked: the record, or the change that removes it from memory where there is none.
    /// All that is there below a key with fewer fields than its kind has.
    public func records(_ keys: [RecordKey]) throws(StoreError) -> [DurableChange] {
        do {
            return try placeSnapshot { db, places in try keys.flatMap { try Self.records($0, db, places) } }
        } catch {
            throw StoreError(error)
        }
    }

    private static func records(_ key: RecordKey, _ db: Database, _ places: PlaceRows) throws -> [DurableChange] {
        let row = key.kind.row
        var found: [DurableChange] = []
        let visit = { (columns: Columns) in
            var reader = RowReader(columns)
            found.append(.put(try row.type.init(from: &reader)))
        }
        if row.isFoundInMemory {
            if let place = try places.row(key.text(0), key.id, db) {
                try db.rows("\(row.kind.statements.select) WHERE row = ?", place, visit: visit)
            }
        } else if key.fields.count < row.keyCount {
            let condition = KindStatements.condition(row, fields: key.fields.count)
            try db.rows("\(row.kind.statements.select) WHERE \(condition)", fields: key.fields, visit: visit)
            return found
        } else {
            try db.rows(row.kind.statements.selectOne, fields: key.fields, visit: visit)
        }
        return found.isEmpty ? [.delete(key)] : found
    }

    /// The newest matches of a device, as ``MatchRecord/page(of:after:limit:)`` says.
    public func matches(
        dataset: String, deviceId: String, after: String? = nil, limit: Int = 100
    ) throws(StoreError) -> [MatchRecord]? {
        try read { db in
            var newest: [(number: Int64, id: String)] = []
            let sql =
                "SELECT number, id FROM match WHERE dataset = ? AND deviceId = ? AND listed = 1 ORDER BY number DESC LIMIT ?"
            try db.rows(sql, dataset, deviceId, MatchRecord.listedMax) { newest.append(($0.int64(0), $0.text(1))) }
            return try MatchRecord.page(of: newest, after: after, limit: limit)?.compactMap { try Self.match($0, db) }
        }
    }

    /// One match of a dataset while its device lists it; nil where there is none.
    public func match(dataset: String, id: String) throws(StoreError) -> MatchRecord? {
        try read { db in
            var number: Int64?
            try db.rows("SELECT number FROM match WHERE dataset = ? AND id = ? AND listed = 1", dataset, id) {
                number = $0.int64(0)
            }
            return try number.flatMap { try Self.match($0, db) }
        }
    }

    private static func match(_ number: Int64, _ db: Database) throws -> MatchRecord? {
        var match: MatchRecord?
        try db.rows(Kind.match.statements.selectOne, number) {
            var reader = RowReader($0)
            match = try MatchRecord(from: &reader)
        }
        return match
    }
}
