import Cluster
import Foundation
import Records
import Store

/// What geomatch keeps, in a PostgreSQL database of version 15 or newer.
///
/// Every call is synchronous, from whichever thread it comes, and waits for the server. Writes run alone on one connection, and what
/// returned without an error is durable as the server is configured. Reads run beside them on a connection of their own. A connection
/// that was lost is made again by the next call.
///
/// One daemon at a time: it holds a lock for as long as it is connected, and the number that it drew at its start is in the store until
/// another daemon draws one, whose predecessor then writes nothing any more. Daemons of a cluster share the lock, and each has the store of
/// the shards that it serves: see ``PostgresCluster``.
public final class PostgresStore: Sendable {
    /// How many replies of one client are kept, the newest ones.
    let repliesMax: Int64
    let writing: Lane
    let reading: Lane
    /// For what takes long.
    let restoring: Lane
    let schema: String
    let purge = PendingPurge()
    /// The part of the store that this is; nil: all of it.
    let shard: PostgresShard?
    private let isSuspect: @Sendable () -> Bool

    /// Connects, and makes the tables where there are none.
    ///
    /// - Parameters:
    ///   - url: `postgres://user:password@host:port,host/database`; of several hosts the one that can be written is used. Any option of
    ///     libpq may follow a `?`.
    ///   - schema: The PostgreSQL schema of its tables.
    ///   - repliesMax: How many replies of one client are kept, the newest ones; at least 0.
    init(url: String, schema: String = "geomatch", repliesMax: Int = 10_000) throws(StoreError) {
        self.repliesMax = Int64(repliesMax)
        self.schema = schema
        shard = nil
        isSuspect = { false }
        let life = Life()
        writing = Lane { () throws(StoreError) in
            let connection = try Self.connect(url, schema)
            try Self.claim(connection, schema, life)
            return connection
        }
        reading = Lane { () throws(StoreError) in try Self.connect(url, schema) }
        restoring = reading
        try writing.use { connection in try Self.prepare(connection) }
    }

    public convenience init(_ address: PostgresAddress, repliesMax: Int) throws(StoreError) {
        try self.init(url: address.url, repliesMax: repliesMax)
    }

    /// A part of the store, over connections that are another's.
    ///
    /// - Parameter isSuspect: Whether something else could not write to the database lately.
    init(
        shard: PostgresShard?, writing: Lane, reading: Lane, restoring: Lane? = nil, schema: String, repliesMax: Int,
        isSuspect: @escaping @Sendable () -> Bool = { false }
    ) {
        self.isSuspect = isSuspect
        self.repliesMax = Int64(repliesMax)
        self.schema = schema
        self.shard = shard
        self.writing = writing
        self.reading = reading
        self.restoring = restoring ?? reading
    }

    /// The number of this life of the store, drawn at the first connection.
    ///
    /// `@unchecked Sendable`: it is only touched while the writing lane is held.
    private final class Life: @unchecked Sendable {
        var number: Int64?
    }

    static func connect(_ url: String, _ schema: String) throws(StoreError) -> Connection {
        let connection = try Connection(url: url)
        try connection.send("CREATE SCHEMA IF NOT EXISTS \(Statements.quoted(schema))")
        try connection.send("SET search_path TO \(Statements.quoted(schema))")
        // A daemon whose machine is gone must not hold tables and lock for hours, as the system's defaults have it; and nothing of the
        // server's own settings may end what takes long.
        for setting in [
            "idle_in_transaction_session_timeout TO '30s'", "tcp_keepalives_idle TO 5", "tcp_keepalives_interval TO 2",
            "tcp_keepalives_count TO 3", "tcp_user_timeout TO 8000", "statement_timeout TO 0", "idle_session_timeout TO 0",
        ] { try connection.send("SET \(setting)") }
        try connection.finish()
        return connection
    }

    /// Makes sure that no other daemon writes: beside us, or since we wrote last.
    private static func claim(_ connection: Connection, _ schema: String, _ life: Life) throws(StoreError) {
        var current: Int64?
        do {
            // The server may take a moment to see that a connection of ours was closed.
            try connection.send("SET lock_timeout TO '3s'")
            try connection.send("SELECT pg_advisory_lock(hashtext($1), 0)", [.bytes(Array("geomatch \(schema)".utf8))])
            try connection.send("RESET lock_timeout")
            try refuseBesideNodes(connection)
            try connection.send(
                "CREATE TABLE IF NOT EXISTS life (one bool PRIMARY KEY DEFAULT true CHECK (one), number bigint NOT NULL)")
            if let known = life.number {
                try connection.rows("SELECT number FROM life") { current = $0.number(0) }
                guard current == known else { throw StoreError.busy }
            } else {
                try connection.rows(
                    "INSERT INTO life (number) VALUES (1) ON CONFLICT (one) DO UPDATE SET number = life.number + 1 RETURNING number"
                ) { life.number = $0.number(0) }
            }
        } catch {
            throw StoreError(postgres: error)
        }
    }

    /// Nodes of a cluster that are cut off from the store have no lock, and their leases.
    private static func refuseBesideNodes(_ connection: Connection) throws {
        for statement in PostgresLeases.tables { try connection.send(statement) }
        var lives = false
        try connection.rows("SELECT true FROM node WHERE \(PostgresLeases.lives) LIMIT 1") { lives = $0.flag(0) }
        if lives { throw StoreError.busy }
    }

    // MARK: Tables

    /// Raised with a change that an older program could not read.
    private static let version = "1"

    static func prepare(_ connection: Connection) throws {
        try connection.send("BEGIN")
        // Nodes of a cluster may begin at the same moment.
        try connection.send("SELECT pg_advisory_xact_lock(hashtext(current_schema()), 1)")
        for statement in foundation { try connection.send(statement) }
        try prepareKinds(connection)
        var known: String?
        try connection.rows("SELECT value FROM metadata WHERE key = $1", [.text("version")]) { known = $0.text(0) }
        if let known, known != version { throw StoreError.newerVersion }
        try connection.send("INSERT INTO metadata VALUES ($1, $2) ON CONFLICT DO NOTHING", [.text("version"), .text(version)])
        try connection.send("COMMIT")
        try connection.finish()
    }

    /// Only what is missing is made: a column that is there is not to cost a lock, for which a start would wait as long as a backup takes.
    private static func prepareKinds(_ connection: Connection) throws {
        var known: Set<[String]> = []
        try connection.rows(
            """
            SELECT relname::text, attname::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid \
            JOIN pg_namespace ON pg_namespace.oid = relnamespace \
            WHERE nspname = current_schema() AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
            """
        ) { known.insert([String(decoding: $0.bytes(0), as: UTF8.self), String(decoding: $0.bytes(1), as: UTF8.self)]) }
        for kind in Kind.allCases {
            let (row, statements) = (kind.row, kind.statements)
            if !known.contains([row.name, row.columns[0]]) {
                try connection.send(statements.table)
            } else {
                for (column, sql) in statements.columns where !known.contains([row.name, column]) { try connection.send(sql) }
            }
        }
        try makeIndexes(foundationIndexes + Kind.allCases.flatMap(\.statements.indexes), connection)
    }

    /// Making one that is there would wait for all writers, and they for it.
    private static func makeIndexes(_ indexes: [(name: String, sql: String)], _ connection: Connection) throws {
        var known: Set<String> = []
        try connection.rows("SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema()") {
            known.insert($0.word(0))
        }
        for index in indexes where !known.contains(index.name) { try connection.send(index.sql) }
    }

    /// The schema beside the tables of the kinds. The feed's documents are named in full wherever they are: nothing has to be read
    /// before it can be written.
    private static let foundation = [
        "CREATE SEQUENCE IF NOT EXISTS position CACHE 100",
        "CREATE TABLE IF NOT EXISTS metadata (key bytea PRIMARY KEY, value bytea NOT NULL)",
        "CREATE TABLE IF NOT EXISTS counter (name bytea PRIMARY KEY, value bigint NOT NULL)",
        "CREATE TABLE IF NOT EXISTS probe (filler bytea NOT NULL)",
        "CREATE TABLE IF NOT EXISTS condemned (dataset bytea PRIMARY KEY)",
        """
        CREATE TABLE IF NOT EXISTS filter (broker bytea, position bigint, filter bytea NOT NULL, PRIMARY KEY (broker, position))
        """,
        "CREATE TABLE IF NOT EXISTS feed (dataset bytea PRIMARY KEY, last bigint NOT NULL, purged bigint NOT NULL DEFAULT 0)",
        """
        CREATE TABLE IF NOT EXISTS document (dataset bytea, type bytea, id bytea, seq bigint NOT NULL, revision bytea NOT NULL, \
        deleted boolean NOT NULL, owner bytea, reader bytea, buried bigint, content bytea, PRIMARY KEY (dataset, type, id))
        """,
        """
        CREATE TABLE IF NOT EXISTS leaf (dataset bytea, type bytea, id bytea, revision bytea, deleted boolean NOT NULL, \
        content bytea NOT NULL, PRIMARY KEY (dataset, type, id, revision))
        """,
        """
        CREATE TABLE IF NOT EXISTS ancestor (dataset bytea, type bytea, id bytea, generation bigint, revision bytea, child bytea, \
        PRIMARY KEY (dataset, type, id, generation, revision, child))
        """,
    ]

    private static let foundationIndexes = [
        (name: "document by seq", sql: "CREATE INDEX \"document by seq\" ON document (dataset, seq)"),
        (name: "document buried", sql: "CREATE INDEX \"document buried\" ON document (buried) WHERE deleted"),
    ]

    // MARK: The life of a daemon

    /// A named value, such as the store's id; nil where it was never set.
    public func metadata(_ key: String) throws(StoreError) -> String? {
        try writing.use { connection in
            var value: String?
            try connection.rows("SELECT value FROM metadata WHERE key = $1", [.text(key)]) { value = $0.text(0) }
            return value
        }
    }

    /// Sets a named value durably; nil removes it.
    public func setMetadata(_ key: String, _ value: String?) throws(StoreError) {
        try writing.use { connection in
            try connection.send("BEGIN")
            if let value {
                let sql = "INSERT INTO metadata VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
                try connection.send(sql, [.text(key), .text(value)])
            } else {
                try connection.send("DELETE FROM metadata WHERE key = $1", [.text(key)])
            }
            try shard?.checkFence(connection)
            try connection.send("COMMIT")
            try connection.finish()
        }
    }

    /// PostgreSQL checks its own files.
    public func check() {}

    /// Closes the connections, where they are its own; a later call makes new ones.
    public func close() {
        guard shard == nil else { return }
        writing.close()
        reading.close()
    }

    public var highestMatchNumber: Int64 {
        get throws(StoreError) { try highest(.match) }
    }

    public var highestLiveNumber: Int64 {
        get throws(StoreError) { try highest(.live) }
    }

    private func highest(_ counter: NumberSequence) throws(StoreError) -> Int64 {
        try writing.use { connection in
            var value: Int64 = 0
            // A daemon alone goes on behind all shards, and a shard behind a daemon alone.
            let names = [counter.name(in: nil)] + (shard.map { [$0.number] } ?? Array(0..<Sharding.count)).map(counter.name)
            try connection.rows(
                "SELECT coalesce(max(value), 0) FROM counter WHERE name = ANY ($1::bytea[])", [.fields(names.map { .text($0) })]
            ) { value = $0.number(0) }
            return value
        }
    }

    public func probe() throws(StoreError) {
        try writing.use { connection in
            try connection.send("BEGIN")
            try connection.send("INSERT INTO probe VALUES ($1)", [.bytes([UInt8](repeating: 0, count: 32_768))])
            try connection.send("DELETE FROM probe")
            try connection.send("COMMIT")
            try connection.finish()
        }
    }

    public var isCutOff: Bool? { isSuspect() || writing.isCutOff }
}

extension PostgresStore: DurableStore {}

/// A connection and the threads that wait for it.
///
/// `@unchecked Sendable`: `connection` and `failed` are only touched while `lock` is held.
final class Lane: @unchecked Sendable {
    private let lock = NSLock()
    private let connect: @Sendable () throws(StoreError) -> Connection
    private var connection: Connection?
    /// Who comes right behind a try that failed need not try again.
    private var failed: (error: StoreError, at: ContinuousClock.Instant)?

    init(connect: @escaping @Sendable () throws(StoreError) -> Connection) { self.connect = connect }

    /// Uses the connection alone, and closes it where anything is thrown.
    func use<Value>(_ body: (Connection) throws -> Value) throws(StoreError) -> Value {
        do { return try passing(body) } catch { throw StoreError(postgres: error) }
    }

    /// As ``use(_:)``; an error that is not the store's is passed on as it is.
    func passing<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        try lock.withLock {
            // One that was lost is closed before another one is made, which waits for its lock.
            if connection?.isCutOff == true { connection = nil }
            do {
                let current = try connection ?? connectUnlessJustTried()
                connection = current
                return try body(current)
            } catch {
                connection = nil
                throw error
            }
        }
    }

    /// False while the connection is used: its user finds out.
    var isCutOff: Bool {
        guard lock.try() else { return false }
        defer { lock.unlock() }
        return connection?.isCutOff ?? true
    }

    private func connectUnlessJustTried() throws(StoreError) -> Connection {
        if let failed, ContinuousClock.now - failed.at < .milliseconds(500) { throw failed.error }
        do throws(StoreError) {
            let made = try connect()
            failed = nil
            return made
        } catch {
            failed = (error, .now)
            throw error
        }
    }

    /// Where it is in use, it ends with the process.
    func close() {
        guard lock.try() else { return }
        connection = nil
        lock.unlock()
    }
}

extension StoreError {
    init(postgres error: any Error) {
        if let known = error as? StoreError {
            self = known
        } else if error is MalformedRow {
            self = .corrupt
        } else {
            self = .other(String(describing: type(of: error)))
        }
    }
}

extension NumberSequence {
    /// The name of what a shard counts; nil: of a daemon alone.
    func name(in shard: Int?) -> String { shard.map { "\(rawValue)/\($0)" } ?? rawValue }
}
