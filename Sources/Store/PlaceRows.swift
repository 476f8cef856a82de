import GRDB
import Records

/// In which row of the database each place is, and which datasets' places are still to be removed there.
///
/// An index of ids on the disk would cost two pages for each place, as ids come in any order, where the place itself is a quarter of
/// a kilobyte at the end of the table. So the index is in memory, about ten bytes for each place, and is made anew at each start from
/// the rows, which are read anyway.
///
/// Follows each transaction: what it changed goes back where the transaction does. Touched only while the connection is used.
final class PlaceRows {
    private var datasets: [String: RowIndex] = [:]
    /// Places of a deleted dataset up to this number go at once.
    var atOnce = 2000
    /// The rows were read.
    private var isKnown = false
    /// Deleted datasets with rows that nobody reads any more.
    private(set) var pendingPurge: Set<String> = []
    /// The last row that ``Store/purgeSome(looking:)`` looked at.
    var sweptThrough: Int64 = 0

    /// What the transaction changed, in order.
    private var changes: [Change] = []
    private var former: (pendingPurge: Set<String>, sweptThrough: Int64)?

    private enum Change {
        case entered(dataset: String, hash: UInt64, row: Int64)
        case removed(dataset: String, hash: UInt64, row: Int64)
        case dropped(dataset: String, RowIndex)
    }

    // MARK: Rows

    func count(of dataset: String) -> Int { datasets[dataset]?.count ?? 0 }

    func rows(of dataset: String) -> [Int64] { datasets[dataset]?.rows ?? [] }

    /// The row of a place; nil: there is none.
    func row(_ dataset: String, _ id: String, _ db: Database) throws -> Int64? {
        try know(db)
        return try datasets[dataset]?.find(RowIndex.hash(id)) { row in
            var isIt = false
            try db.rows("SELECT id FROM place WHERE row = ?", row) { isIt = $0.text(0).utf8.elementsEqual(id.utf8) }
            return isIt
        }
    }

    func enter(_ row: Int64, _ dataset: String, _ id: String) throws {
        guard row <= RowIndex.rowMax else { throw StoreError.full }
        let hash = RowIndex.hash(id)
        datasets[dataset, default: RowIndex()].insert(row, hash: hash)
        changes.append(.entered(dataset: dataset, hash: hash, row: row))
    }

    func remove(_ row: Int64, _ dataset: String, _ id: String) {
        let hash = RowIndex.hash(id)
        datasets[dataset]?.remove(row, hash: hash)
        changes.append(.removed(dataset: dataset, hash: hash, row: row))
    }

    func drop(_ dataset: String) {
        if let index = datasets.removeValue(forKey: dataset) { changes.append(.dropped(dataset: dataset, index)) }
    }

    // MARK: Reading

    /// Reads which places there are, where that is not known yet.
    func know(_ db: Database) throws {
        guard !isKnown else { return }
        try read { body in
            try db.rows("SELECT row, dataset, id FROM place") { try body($0.int64(0), $0.text(1), $0.text(2)) }
        }
    }

    /// Takes in all places while somebody reads them anyway.
    ///
    /// - Parameter each: Calls its argument with row, dataset and id of each place whose dataset is not pending purge.
    func read(_ each: ((_ row: Int64, _ dataset: String, _ id: String) throws -> Void) throws -> Void) throws {
        guard !isKnown else { return try each { _, _, _ in } }
        datasets = [:]
        try each { row, dataset, id in
            guard pendingPurge.isEmpty || !pendingPurge.contains(dataset) else { return }
            guard row <= RowIndex.rowMax else { throw StoreError.corrupt }
            datasets[dataset, default: RowIndex()].insert(row, hash: RowIndex.hash(id))
        }
        isKnown = true
    }

    // MARK: Datasets pending purge

    func readPendingPurge(_ db: Database) throws {
        var names: Set<String> = []
        try db.rows("SELECT dataset FROM condemned") { names.insert($0.text(0)) }
        pendingPurge = names
    }

    func markForPurge(_ dataset: String) {
        drop(dataset)
        pendingPurge.insert(dataset)
        // Rows that were looked at may be of this one.
        sweptThrough = 0
    }

    func endPurge(_ dataset: String) { pendingPurge.remove(dataset) }

    // MARK: Transactions

    func begin() {
        changes.removeAll(keepingCapacity: changes.count < 100_000)
        former = (pendingPurge, sweptThrough)
    }

    func rollBack() {
        for change in changes.reversed() {
            switch change {
            case .entered(let dataset, let hash, let row): datasets[dataset]?.remove(row, hash: hash)
            case .removed(let dataset, let hash, let row): datasets[dataset, default: RowIndex()].insert(row, hash: hash)
            case .dropped(let dataset, let index): datasets[dataset] = index
            }
        }
        changes.removeAll()
        if let former { (pendingPurge, sweptThrough) = former }
    }
}
