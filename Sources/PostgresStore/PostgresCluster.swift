import Cluster
import Store

/// A PostgreSQL database that several daemons share: the leases of their shards, and the stores of those.
///
/// Few connections for all shards: their writes take turns on some, their reads on others.
public final class PostgresCluster: Sendable {
    public let leases: PostgresLeases
    /// What belongs to all nodes: named values.
    private let common: PostgresStore
    private let writing: [Lane]
    private let reading: [Lane]
    /// What takes long holds up none of those.
    private let restoring: [Lane]
    /// Where doors ask about keys.
    let keys: Lane
    private let repliesMax: Int

    static let lanes = 4

    /// Connects, and makes the tables where there are none.
    ///
    /// - Parameters:
    ///   - name: Of the cluster.
    ///   - node: The daemon's own.
    /// - Throws: ``StoreError/busy`` where a daemon without a cluster uses the store.
    public convenience init(_ address: PostgresAddress, name: String, node: String, repliesMax: Int) throws(StoreError) {
        try self.init(url: address.url, name: name, node: node, repliesMax: repliesMax)
    }

    init(
        url: String, schema: String = "geomatch", name: String, node: String = "", repliesMax: Int = 10_000
    ) throws(StoreError) {
        self.repliesMax = repliesMax
        func lane(_ seconds: Int? = nil) -> Lane {
            Lane { () throws(StoreError) in try Self.connect(url, schema, node, timeoutSeconds: seconds) }
        }
        writing = (0..<Self.lanes).map { _ in lane() }
        reading = (0..<Self.lanes).map { _ in lane() }
        restoring = (0..<Self.lanes).map { _ in lane() }
        keys = lane(2)
        common = PostgresStore(shard: nil, writing: writing[0], reading: reading[0], schema: schema, repliesMax: repliesMax)
        leases = PostgresLeases(lane(2), cluster: name)
        try writing[0].use { connection in
            try PostgresStore.prepare(connection)
            for statement in PostgresLeases.tables { try connection.send(statement) }
            // What a daemon alone had drawn is void, should it come back.
            try connection.send(
                "CREATE TABLE IF NOT EXISTS life (one bool PRIMARY KEY DEFAULT true CHECK (one), number bigint NOT NULL)")
            try connection.send(
                "INSERT INTO life (number) VALUES (1) ON CONFLICT (one) DO UPDATE SET number = life.number + 1")
            try connection.finish()
        }
    }

    /// - Parameter timeoutSeconds: Of a statement; nil: for ever.
    private static func connect(
        _ url: String, _ schema: String, _ node: String, timeoutSeconds: Int?
    ) throws(StoreError) -> Connection {
        let connection = try PostgresStore.connect(url, schema)
        try connection.send("SELECT set_config('application_name', \(PostgresLeases.session("$1")), false)", [.word(node)])
        // A node that is stopped in the middle of a transaction keeps nobody waiting for longer than its lease lasts.
        try connection.send("SET idle_in_transaction_session_timeout TO '2s'")
        try connection.send("SET lock_timeout TO '3s'")
        try connection.send("SELECT pg_advisory_lock_shared(hashtext($1), 0)", [.word("geomatch \(schema)")])
        try connection.send("RESET lock_timeout")
        if let timeoutSeconds { try connection.send("SET statement_timeout TO '\(timeoutSeconds)s'") }
        try connection.finish()
        return connection
    }

    /// The store of a shard that was taken with this epoch.
    ///
    /// - Parameter isSuspect: Whether the leases could not be renewed lately: a database that may only be read is noticed before a request
    ///   has to find out.
    public func store(
        of shard: Int, epoch: Int64, isSuspect: @escaping @Sendable () -> Bool = { false }
    ) -> PostgresStore {
        PostgresStore(
            shard: PostgresShard(shard, epoch: epoch), writing: writing[shard % writing.count],
            reading: reading[shard % reading.count], restoring: restoring[shard % restoring.count], schema: common.schema,
            repliesMax: repliesMax, isSuspect: isSuspect)
    }

    /// A named value that is the same for all nodes, made by the first that asks.
    public func metadata(_ key: String, or value: @autoclosure () -> String) throws(StoreError) -> String {
        if let known = try common.metadata(key) { return known }
        let made = value()
        return try writing[0].use { connection in
            try connection.send("INSERT INTO metadata VALUES ($1, $2) ON CONFLICT DO NOTHING", [.text(key), .text(made)])
            var kept = made
            try connection.rows("SELECT value FROM metadata WHERE key = $1", [.text(key)]) { kept = $0.text(0) }
            return kept
        }
    }

    public func close() {
        for lane in writing + reading + restoring + [keys] { lane.close() }
        leases.close()
    }
}
