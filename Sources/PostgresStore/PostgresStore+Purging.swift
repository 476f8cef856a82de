import Records
import Store
import Synchronization

// Datasets with a great many documents are removed in pieces, as those of a SQLite store are: a deletion marks them, in the transaction
// that removes all the rest of the dataset. From then on nothing of their places and documents is read. A caller that
// creates the dataset again before all of them are gone waits until they are.

extension PostgresStore {
    /// Of rows that have a dataset and may be of one that is pending purge.
    static let isKept = "dataset NOT IN (SELECT dataset FROM condemned)"

    public var hasPendingPurge: Bool {
        get throws(StoreError) {
            if let isEmpty = purge.isKnownEmpty { return !isEmpty }
            return try changing { _ in purge.isKnownEmpty == false }
        }
    }

    public func purgeSome(looking count: Int) throws(StoreError) -> Bool {
        guard purge.isKnownEmpty != true else { return false }
        return try changing { try purge.remove(count, $0) }
    }
}

/// Which deleted datasets have rows that nobody reads any more.
///
/// Read where it is not known: at first, and behind a transaction of which nobody knows what became.
final class PendingPurge: Sendable {
    private struct State {
        var pendingPurge: Set<Field>?
        /// Documents of a deleted dataset up to this number go at once.
        var atOnce = 2000
    }

    private let state = Mutex(State())
    private static let tables = ["leaf", "ancestor", "document", "place"]

    /// Whether there are none; nil: nobody knows.
    var isKnownEmpty: Bool? { state.withLock { $0.pendingPurge?.isEmpty } }

    var atOnce: Int {
        get { state.withLock { $0.atOnce } }
        set { state.withLock { $0.atOnce = newValue } }
    }

    /// - Parameter shard: Whose datasets count; nil: all.
    func know(_ connection: Connection, of shard: PostgresShard?) throws {
        guard isKnownEmpty == nil else { return }
        var pendingPurge: Set<Field> = []
        try connection.rows("SELECT dataset FROM condemned") { row in
            let dataset = row.text(0)
            if shard?.has(dataset) != false { pendingPurge.insert(.text(dataset)) }
        }
        state.withLock { $0.pendingPurge = pendingPurge }
    }

    func forget() { state.withLock { $0.pendingPurge = nil } }

    /// Removes the places and documents of a dataset, or leaves them to ``remove(_:_:)`` where they are too many.
    func delete(_ dataset: String, _ connection: Connection) throws {
        guard !contains(dataset) else { return }
        var count: Int64 = 0
        try connection.rows(
            "SELECT count(*) FROM (SELECT 1 FROM document WHERE dataset = $1 LIMIT $2) AS counted",
            [.text(dataset), .number(Int64(atOnce) + 1)]
        ) { count = $0.number(0) }
        guard count > atOnce else { return try removeAll(of: dataset, connection) }
        try connection.send("INSERT INTO condemned VALUES ($1)", [.text(dataset)])
        state.withLock { _ = $0.pendingPurge?.insert(.text(dataset)) }
    }

    /// Makes room for what becomes part of a name that is pending purge again: all of the former dataset goes, in this transaction.
    func clear(beforehand change: DurableChange, _ connection: Connection) throws {
        guard isKnownEmpty == false, let dataset = change.dataset, contains(dataset), change.revivesDataset else { return }
        try removeAll(of: dataset, connection)
        try connection.send("DELETE FROM condemned WHERE dataset = $1", [.text(dataset)])
        state.withLock { _ = $0.pendingPurge?.remove(.text(dataset)) }
    }

    /// - Returns: Whether there is more.
    func remove(_ count: Int, _ connection: Connection) throws -> Bool {
        guard let dataset = state.withLock({ $0.pendingPurge?.first }) else { return false }
        var left = Int64(count)
        for table in Self.tables {
            // In the order of the index: rows that went before are not looked at again.
            try connection.rows(
                """
                WITH gone AS (DELETE FROM \(table) WHERE ctid = ANY (ARRAY(SELECT ctid FROM \(table) WHERE dataset = $1 \
                ORDER BY \(table == "place" ? "dataset, id" : "dataset, type, id") LIMIT $2)) RETURNING 1) SELECT count(*) FROM gone
                """, [.field(dataset), .number(left)]
            ) { left -= $0.number(0) }
            if left == 0 { return true }
        }
        try connection.send("DELETE FROM condemned WHERE dataset = $1", [.field(dataset)])
        state.withLock { _ = $0.pendingPurge?.remove(dataset) }
        return isKnownEmpty == false
    }

    private func removeAll(of dataset: String, _ connection: Connection) throws {
        for table in Self.tables { try connection.send("DELETE FROM \(table) WHERE dataset = $1", [.text(dataset)]) }
    }

    private func contains(_ dataset: String) -> Bool { state.withLock { $0.pendingPurge?.contains(.text(dataset)) == true } }
}
