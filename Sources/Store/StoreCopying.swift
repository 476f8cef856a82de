import Records

/// A store whose rows can be copied into a store of another engine. While it is open nobody else writes to it.
public protocol CopyableStore: DurableStore {
    /// Gives all rows, some hundred in memory at a time: documents before what belongs to them, and before records.
    ///
    /// - Throws: ``StoreError``, or what `visit` threw.
    func eachRow(_ visit: (StoredRow) throws -> Void) throws
    /// Whether it has no records and no documents: names, counters and filters do not count, a daemon writes them at its first start.
    var isEmpty: Bool { get throws(StoreError) }
    /// Writes rows into an empty store, in place of its names, counters and filters.
    ///
    /// - Parameter source: Calls its argument with each row.
    /// - Throws: What `source` threw, or ``StoreError``; ``StoreError/other(_:)`` where it is not empty.
    func fill(_ source: ((StoredRow) throws -> Void) throws -> Void) throws
}

/// How many rows of each table were copied.
public struct CopyTally: Sendable, Equatable {
    public private(set) var tables: [String: Int] = [:]
    public private(set) var total = 0

    /// Copies everything of a store into an empty one.
    ///
    /// - Parameter progress: Called every thousand rows.
    public init(copying source: any CopyableStore, to target: any CopyableStore, progress: (Int) -> Void = { _ in }) throws {
        var tally = CopyTally()
        try target.fill { write in
            try source.eachRow { row in
                try write(row)
                tally.tables[row.table, default: 0] += 1
                tally.total += 1
                if tally.total % 1000 == 0 { progress(tally.total) }
            }
        }
        self = tally
    }

    private init() {}
}
