import Records
import Store
import Synchronization

// How a node follows what another one writes to a shard that it will have.

extension PostgresStore {
    /// Another node follows: what is written from now on is left for it, too.
    public var isFollowed: Bool {
        get { shard?.isFollowed ?? false }
        set { shard?.isFollowed = newValue }
    }

    /// Gives everything of the shard back, as ``restore(dataset:repliesSince:_:)`` does.
    ///
    /// - Returns: How often it had been written by then: see ``changes(since:)``.
    public func restoreShard(repliesSince: Int64, _ visit: (DurableChange) throws -> Void) throws -> Int64 {
        defer { restoring.close() }
        return try restoring.passing { connection in
            var times: Int64 = 0
            try restore(
                dataset: nil, repliesSince: repliesSince, connection, begun: { times = try timesWritten(connection) }, visit)
            return times
        }
    }

    /// What was written since the shard was written so often.
    public enum News: Sendable {
        /// In order, of up to a hundred commits; none where nothing was written. So many commits are behind these.
        case changes([DurableChange], through: Int64, remaining: Int64)
        /// Nobody wrote it down, or it cannot be repeated: the shard is to be restored anew.
        case unknown
    }

    public func changes(since times: Int64) throws(StoreError) -> News {
        try reading.use { connection in
            try connection.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            let present = try timesWritten(connection)
            var (through, changes, isWhole): (Int64, [DurableChange], Bool) = (times, [], true)
            if present > times {
                try connection.rows(
                    "SELECT times, changes FROM log WHERE shard = $1 AND times > $2 ORDER BY times LIMIT \(Self.entriesMax)",
                    [.number(Int64(shard?.number ?? -1)), .number(times)]
                ) { row in
                    guard isWhole, row.number(0) == through + 1, let more = try ChangeBytes.decode(row.bytes(1)) else {
                        isWhole = false
                        return
                    }
                    // What is asked about all datasets of the shard is asked about new ones, too.
                    for case .put(let record) in more where record.kind == .dataset || record.kind == .accessKey {
                        shard?.note(record.dataset)
                    }
                    through += 1
                    changes += more
                }
            }
            try connection.send("COMMIT")
            try connection.finish()
            guard isWhole, through > times || present == times else { return .unknown }
            return .changes(changes, through: through, remaining: present - through)
        }
    }

    private static let entriesMax = 100

    /// What was left for who follows is not needed any more, up to where it is.
    public func forgetChanges(through times: Int64 = .max) throws(StoreError) {
        try reading.use { connection in
            try connection.send(
                "DELETE FROM log WHERE shard = $1 AND times <= $2", [.number(Int64(shard?.number ?? -1)), .number(times)])
            try connection.finish()
        }
    }

    private func timesWritten(_ connection: Connection) throws -> Int64 {
        var times: Int64 = 0
        try connection.rows("SELECT times FROM written WHERE shard = $1", [.number(Int64(shard?.number ?? -1))]) {
            times = $0.number(0)
        }
        return times
    }
}
