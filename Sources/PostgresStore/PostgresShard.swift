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
    private let trail = Mutex(Trail())
    /// The bytes left for one that does not take them in end here: it restores the shard anew.
    private static let leftMax = 256 << 20

    /// What is left for the node that follows.
    private struct Trail {
        var isWanted = false
        /// In bytes; nil: nothing is there.
        var left: Int?
    }

    init(_ number: Int, epoch: Int64) {
        self.number = number
        self.epoch = epoch
    }

    /// Another node reads what is written, as it will have the shard.
    var isFollowed: Bool {
        get { trail.withLock { $0.isWanted } }
        set { trail.withLock { $0.isWanted = newValue } }
    }

    func has(_ dataset: String) -> Bool { Sharding.shard(of: dataset) == number }

    /// A dataset has rows; those of other shards are left out.
    func note(_ dataset: String) {
        guard has(dataset) else { return }
        _ = known.withLock { $0.insert(dataset) }
    }

    var datasets: [Field] { known.withLock { $0.map { .text($0) } } }

    /// Has a transaction count as one that wrote, and leaves what it wrote for who follows, or removes what nobody takes in any more.
    func count(_ changes: [DurableChange], _ connection: Connection) throws(StoreError) {
        let count = "INSERT INTO written VALUES ($1, 1) ON CONFLICT (shard) DO UPDATE SET times = written.times + 1"
        let (left, isOver) = trail.withLock { trail -> (bytes: [UInt8]?, isOver: Bool) in
            guard trail.isWanted, trail.left ?? 0 < Self.leftMax else {
                // Where it is too much, who follows restores anew, and is left what comes from then on.
                defer { trail.left = trail.isWanted ? 0 : nil }
                return (nil, trail.left != nil)
            }
            let bytes = ChangeBytes.encode(changes)
            trail.left = (trail.left ?? 0) + bytes.count
            return (bytes, false)
        }
        guard let left else {
            try connection.send(count, [.number(Int64(number))])
            if isOver { try connection.send("DELETE FROM log WHERE shard = $1", [.number(Int64(number))]) }
            return
        }
        try connection.send(
            "WITH counted AS (\(count) RETURNING times) INSERT INTO log SELECT $1::bigint, times, $2::bytea FROM counted",
            [.number(Int64(number)), .bytes(left)])
    }

    /// Fails the transaction where the epoch is no longer this one. A node that takes the shard waits until it has ended.
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
    /// For a statement with one parameter before its own.
    ///
    /// - Parameter table: Where several have a column of the dataset.
    func scope(of table: String? = nil) -> ShardScope {
        guard let self else { return ShardScope() }
        let column = (table.map { $0 + "." } ?? "") + "dataset"
        return ShardScope(and: " AND \(column) = ANY ($2::bytea[])", values: [.fields(self.datasets)])
    }
}
