import Cluster
import Records
import Store
import Synchronization

/// The leases of a cluster in PostgreSQL; its clock is the only one that counts.
public final class PostgresLeases: LeaseStore {
    private let lane: Lane
    private let cluster: String
    private let datasetRecords = Mutex<[DatasetRecord]>([])

    init(_ lane: Lane, cluster: String) {
        self.lane = lane
        self.cluster = cluster
    }

    func close() { lane.close() }

    /// All datasets, as of the last view.
    public var knownDatasets: [DatasetRecord] { datasetRecords.withLock { $0 } }

    static func datasets(_ connection: Connection) throws -> [DatasetRecord] {
        var records: [DatasetRecord] = []
        try connection.rows(Kind.dataset.statements.select) { row in
            var reader = RowReader(row)
            records.append(try DatasetRecord(from: &reader))
        }
        return records
    }

    // MARK: Tables

    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS node (name text PRIMARY KEY, life text NOT NULL, cluster text NOT NULL, \
        beat timestamptz NOT NULL DEFAULT clock_timestamp(), leaving boolean NOT NULL DEFAULT false, \
        broker boolean NOT NULL DEFAULT true, address text)
        """,
        """
        CREATE TABLE IF NOT EXISTS lease (shard bigint PRIMARY KEY, owner text, epoch bigint NOT NULL DEFAULT 0, \
        until timestamptz NOT NULL DEFAULT '-infinity', successor text, prepared boolean NOT NULL DEFAULT false)
        """,
        // How often each shard's owners have written.
        "CREATE TABLE IF NOT EXISTS written (shard bigint PRIMARY KEY, times bigint NOT NULL)",
        // What they wrote, by its number there, while another node follows it.
        "CREATE TABLE IF NOT EXISTS log (shard bigint, times bigint, changes bytea NOT NULL, PRIMARY KEY (shard, times))",
        // What each dataset holds, as JSON, for those who list it at another node.
        "CREATE TABLE IF NOT EXISTS contents (dataset text PRIMARY KEY, epoch bigint NOT NULL, value text)",
        "INSERT INTO lease (shard) SELECT generate_series(0, \(Sharding.count - 1)) ON CONFLICT DO NOTHING",
    ]

    private static let term = "interval '\(Member.leaseMilliseconds) milliseconds'"
    private static let end = "clock_timestamp() + \(term)"
    /// Of a row of `node`.
    static let lives = "beat BETWEEN clock_timestamp() - \(term) AND clock_timestamp()"
    /// Of a row of `lease`.
    ///
    /// One that ends later than any can was renewed before the clock was set back.
    private static let isFree = "(owner IS NULL OR until < clock_timestamp() OR until > \(end))"
    /// What was handed on has no successor yet.
    private static let given = "epoch = lease.epoch + 1, successor = NULL, prepared = false"

    /// What the connections of a node are called in the database.
    static func session(_ node: String) -> String { "left('geomatchd ' || \(node), 63)" }

    // MARK: Nodes

    public func join(_ node: NodeEntry) throws {
        try transaction { connection in
            try connection.send("LOCK TABLE node IN EXCLUSIVE MODE")
            var other: String?
            try connection.rows("SELECT cluster FROM node WHERE cluster <> $1 AND \(Self.lives) LIMIT 1", [.word(cluster)]) {
                other = $0.word(0)
            }
            if let other { throw JoinRefusal.otherCluster(other) }
            try connection.send("DELETE FROM node WHERE beat < clock_timestamp() - interval '1 hour'")
            var isEntered = false
            try connection.rows(
                """
                INSERT INTO node (name, life, cluster, address) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE SET \
                life = excluded.life, cluster = excluded.cluster, address = excluded.address, beat = excluded.beat, leaving = false, \
                broker = true WHERE NOT (node.\(Self.lives)) RETURNING true
                """, [.word(node.name), .word(node.life), .word(cluster), .word(node.address)]
            ) { isEntered = $0.flag(0) }
            guard isEntered else { throw JoinRefusal.nameInUse }
            try connection.send("SELECT 1 FROM lease WHERE owner = $1 ORDER BY shard FOR UPDATE", [.word(node.name)])
            try connection.send("UPDATE lease SET owner = NULL, \(Self.given) WHERE owner = $1", [.word(node.name)])
        }
    }

    public func renew(_ node: NodeEntry, leases: [Int: Int64]) throws -> ClusterView {
        var view: ClusterView?
        try transaction { connection in
            var isKnown = false
            try connection.rows(
                """
                UPDATE node SET beat = clock_timestamp(), leaving = $3, broker = $4, address = $5 WHERE name = $1 AND life = $2 \
                RETURNING true
                """,
                [
                    .word(node.name), .word(node.life), .flag(node.isLeaving), .flag(node.reachesBroker), .word(node.address),
                ]
            ) { isKnown = $0.flag(0) }
            guard isKnown else { throw JoinRefusal.replaced }
            let held = leases.sorted { $0.key < $1.key }
            try connection.send(
                """
                UPDATE lease SET until = \(Self.end) FROM unnest($2::bigint[], $3::bigint[]) AS held (shard, epoch) \
                WHERE lease.shard = held.shard AND lease.epoch = held.epoch AND owner = $1
                """, [.word(node.name), .numbers(held.map { Int64($0.key) }), .numbers(held.map(\.value))])
            view = try self.view(connection)
        }
        return view ?? ClusterView(nodes: [], leases: [], datasets: [])
    }

    private func view(_ connection: Connection) throws -> ClusterView {
        var nodes: [ClusterView.Node] = []
        try connection.rows("SELECT name, \(Self.lives), leaving, broker, address FROM node") { row in
            let state: ClusterView.Node.State = row.flag(1) ? (row.flag(2) ? .leaving : .online) : .lost
            nodes.append(
                ClusterView.Node(
                    name: row.word(0), state: state, reachesBroker: row.flag(3), address: row.optionalWord(4)))
        }
        var leases = [ClusterView.Lease](repeating: ClusterView.Lease(), count: Sharding.count)
        var renewals = [Int64](repeating: 0, count: Sharding.count)
        try connection.rows(
            """
            SELECT shard, owner, epoch, owner IS NOT NULL AND \(Self.isFree), successor, prepared, \
            owner IS NOT NULL AND until < clock_timestamp() + \(Self.term) / 2, \
            CASE WHEN isfinite(until) THEN (extract(epoch FROM until) * 1000)::bigint ELSE 0 END FROM lease
            """
        ) { row in
            leases[Int(row.number(0))] = ClusterView.Lease(
                owner: row.optionalWord(1), epoch: row.number(2), isExpired: row.flag(3), isOverdue: row.flag(6),
                successor: row.optionalWord(4), isPrepared: row.flag(5))
            renewals[Int(row.number(0))] = row.number(7)
        }
        let records = try Self.datasets(connection)
        datasetRecords.withLock { $0 = records }
        var view = ClusterView(nodes: nodes, leases: leases, datasets: records.map(\.id))
        view.renewals = renewals
        return view
    }

    public func leave(_ node: NodeEntry) throws {
        try transaction {
            try $0.send("DELETE FROM node WHERE name = $1 AND life = $2", [.word(node.name), .word(node.life)])
        }
    }

    // MARK: Shards

    public func take(_ shards: [Int: Int64], for node: String) throws {
        let seen = shards.sorted { $0.key < $1.key }
        let numbers = Value.numbers(seen.map { Int64($0.key) })
        try transaction { connection in
            // A node that was stopped in the middle of a transaction would hold the rows that its successor writes.
            try connection.send(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name IN \
                (SELECT \(Self.session("owner")) FROM lease WHERE shard = ANY ($1::bigint[]) AND owner <> $2 AND \(Self.isFree))
                """, [numbers, .word(node)])
            // Behind every commit that was checked before: those hold `KEY SHARE`.
            try connection.send("SELECT 1 FROM lease WHERE shard = ANY ($1::bigint[]) ORDER BY shard FOR UPDATE", [numbers])
            try connection.send(
                """
                UPDATE lease SET owner = $1, until = \(Self.end), \(Self.given) \
                FROM unnest($2::bigint[], $3::bigint[]) AS seen (shard, epoch) \
                WHERE lease.shard = seen.shard AND lease.epoch = seen.epoch AND \(Self.isFree)
                """, [.word(node), numbers, .numbers(seen.map(\.value))])
        }
    }

    public func announce(_ successors: [Int: String?], by node: String) throws {
        let named = successors.sorted { $0.key < $1.key }
        try transaction { connection in
            try connection.send(
                """
                UPDATE lease SET successor = named.successor, prepared = false \
                FROM unnest($2::bigint[], $3::text[]) AS named (shard, successor) \
                WHERE lease.shard = named.shard AND owner = $1 AND lease.successor IS DISTINCT FROM named.successor
                """, [.word(node), .numbers(named.map { Int64($0.key) }), .words(named.map(\.value))])
        }
    }

    public func prepare(_ shards: [Int], for node: String) throws {
        try transaction { connection in
            try connection.send(
                "UPDATE lease SET prepared = true WHERE shard = ANY ($1::bigint[]) AND successor = $2",
                [.numbers(shards.sorted().map(Int64.init)), .word(node)])
        }
    }

    public func handOver(_ shard: Int, epoch: Int64, to successor: String?) throws {
        try transaction { connection in
            try connection.send("SELECT 1 FROM lease WHERE shard = $1 FOR UPDATE", [.number(Int64(shard))])
            try connection.send(
                "UPDATE lease SET owner = $3, until = \(Self.end), \(Self.given) WHERE shard = $1 AND epoch = $2",
                [.number(Int64(shard)), .number(epoch), .word(successor)])
        }
    }

    private func transaction(_ body: (Connection) throws -> Void) throws {
        try lane.passing { connection in
            try connection.send("BEGIN")
            try body(connection)
            try connection.send("COMMIT")
            try connection.finish()
        }
    }
}
