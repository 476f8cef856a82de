import Cluster
import Records
import Store
import Synchronization

/// The part of a store that one node of a cluster serves, for as long as nobody else has taken it.
final class PostgresShard: Sendable {
    let number: Int
    let epoch: Int64
    /// The datasets that it has rows of.
    private let known = Mutex<Set<String>>([])
    /// How many changes were left for the node that follows; nil: none does.
    private let left = Mutex<Int?>(nil)
    /// One that has not taken in so many restores the shard anew.
    private static let leftMax = 1_000_000

    init(_ number: Int, epoch: Int64) {
        self.number = number
        self.epoch = epoch
    }

    /// Another node reads what is written, as it will have the shard.
    var isFollowed: Bool {
        get { left.withLock { $0 != nil } }
        set { left.withLock { $0 = newValue ? $0 ?? 0 : nil } }
    }

    func has(_ dataset: String) -> Bool { Sharding.shard(of: dataset) == number }

    /// A dataset has rows; those of other shards are left out.
    func note(_ dataset: String) {
        guard has(dataset) else { return }
        _ = known.withLock { $0.insert(dataset) }
    }

    var datasets: [Field] { known.withLock { $0.map { .text($0) } } }

    /// Has a transaction count as one that wrote, and leaves what it wrote for who follows.
    func count(_ changes: [DurableChange], _ connection: Connection) throws(StoreError) {
        let count = "INSERT INTO written VALUES ($1, 1) ON CONFLICT (shard) DO UPDATE SET times = written.times + 1"
        let isLeft = left.withLock { left in
            guard let before = left, before < Self.leftMax else { return false }
            left = before + changes.count
            return true
        }
        guard isLeft else { return try connection.send(count, [.number(Int64(number))]) }
        try connection.send(
            "WITH counted AS (\(count) RETURNING times) INSERT INTO log SELECT $1::bigint, times, $2::bytea FROM counted",
            [.number(Int64(number)), .bytes(ChangeBytes.encode(changes))])
    }

    /// Fails the transaction where the epoch is no longer this one. Whoever takes the shard waits until it has ended.
    ///
    /// Last in its transaction: what is checked is locked only until the commit that comes with it.
    func checkFence(_ connection: Connection) throws(StoreError) {
        try connection.send(
            "SELECT 1 / count(*) FROM (SELECT 1 FROM lease WHERE shard = $1 AND epoch = $2 FOR KEY SHARE) AS held",
            [.number(Int64(number)), .number(epoch)])
    }
}

/// What a statement over all datasets says of those of one shard.
struct ShardScope {
    /// Behind a condition; empty where it is over all.
    var and = ""
    var values: [Value] = []
}

extension PostgresShard? {
    /// - Parameters:
    ///   - count: The number of parameters before its own.
    ///   - table: Where several have a column of the dataset.
    func scope(behind count: Int, of table: String? = nil) -> ShardScope {
        guard let self else { return ShardScope() }
        let column = (table.map { $0 + "." } ?? "") + "dataset"
        return ShardScope(and: " AND \(column) = ANY ($\(count + 1)::bytea[])", values: [.fields(self.datasets)])
    }
}
