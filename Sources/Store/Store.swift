import Foundation
import GRDB
import Records

/// What geomatch keeps on disk: one SQLite database in WAL mode.
///
/// Every call is synchronous, from whichever thread it comes. Writes run alone on one connection, and what returned without an error
/// is durable: each transaction is synced to the disk before it ends. Reads run beside them on a connection of their own, and see
/// what is durable. The daemon uses both through a ``Journal``.
public final class Store: Sendable {
    let queue: DatabaseQueue
    let reader: DatabaseQueue
    /// Only while `placesLock` is held, like `places`; its thread aside.
    nonisolated(unsafe) let log: LogWriteBack
    /// How many replies of one client are kept, the newest ones.
    let repliesMax: Int64
    /// The file is as its last clean end left it, or new. Otherwise ``check()`` says more.
    public let isAsClosed: Bool
    private let path: String
    /// Only while `placesLock` is held, which a transaction holds to its end.
    nonisolated(unsafe) let places = PlaceRows()
    private let placesLock = NSLock()
    /// What was forgotten is still in the log. Only while `placesLock` is held.
    nonisolated(unsafe) var logIsToBeCut = false

    /// Opens the database, creates it where there is none, and brings an older one to this version's schema.
    ///
    /// A file that is damaged, newer, another program's, or not as it was closed is left as it is.
    ///
    /// - Parameters:
    ///   - path: The database file; its folder must exist. SQLite keeps two more files beside it, `-wal` and `-shm`.
    ///   - repliesMax: How many replies of one client are kept, the newest ones; at least 0.
    public init(path: String, repliesMax: Int = 10_000) throws(StoreError) {
        self.repliesMax = Int64(repliesMax)
        // The store says where people are: nobody else may read it, whatever the folder allows. SQLite gives its other files the same mode.
        if fileSize(path) == nil { StoreDigest.remove(besides: path) }
        createPrivateFile(path)
        // SQLite takes a file shorter than any database for a new one, and would write over it.
        let size = fileSize(path) ?? 0
        if size > 0, size < 512 { throw .corrupt }
        let digest = StoreDigest(besides: path)
        if let digest, StoreDigest(of: path) != digest { throw .changed }
        isAsClosed = digest != nil || size == 0
        self.path = path
        do {
            queue = try DatabaseQueue(path: path, configuration: Self.configuration)
            try queue.inDatabase { db in
                try Self.refuseForeign(db)
                StoreDigest.remove(besides: path)
                try Self.prepare(db)
            }
            try Self.migrator.migrate(queue)
            try queue.inDatabase { [places] in try places.readPendingPurge($0) }
            reader = try DatabaseQueue(path: path, configuration: Self.readingConfiguration)
            log = try LogWriteBack(path: path, Self.configuration, besides: queue)
        } catch {
            throw StoreError(error)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "geomatch.store"
        configuration.foreignKeysEnabled = false
        // An operator may look inside with sqlite3; a longer lock than this is reported as `busy` and tried again.
        configuration.busyMode = .timeout(1)
        return configuration
    }

    private static var readingConfiguration: Configuration {
        var configuration = configuration
        configuration.label = "geomatch.store.reads"
        configuration.readonly = true
        // As much as the writing connection has: SQLite's own choice is 2 MB.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -16000") }
        return configuration
    }

    /// Reads only: this decides whether the file may be touched at all.
    private static func refuseForeign(_ db: Database) throws {
        // The migrator's own table comes before our mark: a crash in between leaves it alone in the file.
        let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master WHERE tbl_name <> 'grdb_migrations'") ?? 0
        guard tables > 0 else { return }
        guard try Int64.fetchOne(db, sql: "PRAGMA application_id") == applicationID else { throw StoreError.corrupt }
        if try migrator.hasBeenSuperseded(db) { throw StoreError.newerVersion }
    }

    private static func prepare(_ db: Database) throws {
        guard try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError.other("write-ahead logging is not possible on this file system")
        }
        // FULL syncs the log at each commit: a reply means durable, also after a power cut. A log that a large deletion made longer than
        // 16 MB is cut when it starts over. FAST erases deleted content where that costs no further write (Debian's SQLite erases always,
        // which doubles the cost of deleting a dataset).
        try db.execute(
            sql: """
                PRAGMA synchronous = FULL;
                PRAGMA journal_size_limit = 16777216;
                PRAGMA secure_delete = \(usualDeletion);
                PRAGMA cache_size = -16000;
                PRAGMA temp_store = MEMORY;
                """)
    }

    static let usualDeletion = "FAST"

    /// Writes the log back into the database, cuts it to nothing, and closes. Every later call fails.
    public func close() throws(StoreError) {
        log.wait()
        try access { db in
            // An incomplete checkpoint loses nothing: the next start reads the log.
            _ = try? db.checkpoint(.truncate)
        }
        do {
            try log.close()
            try reader.close()
            try queue.close()
        } catch {
            throw StoreError(error)
        }
        // With a log beside it, another process has it open.
        if (fileSize(path + "-wal") ?? 0) == 0 { StoreDigest(of: path)?.write(besides: path) }
    }

    /// Gives a closed store another name, in place of the one that has it.
    public static func rename(_ path: String, to other: String) throws(StoreError) {
        StoreDigest.rename(path, to: other)
        guard Glibc.rename(path, other) == 0 else {
            StoreDigest.remove(besides: other)
            throw .unwritable(String(cString: strerror(errno)))
        }
    }

    /// A named value, such as the store's id or the number of the instance; nil where it was never set.
    public func metadata(_ key: String) throws(StoreError) -> String? {
        try access { db in
            var value: String?
            try db.rows("SELECT value FROM metadata WHERE key = ?", key) { value = $0.text(0) }
            return value
        }
    }

    /// Sets a named value durably; nil removes it.
    public func setMetadata(_ key: String, _ value: String?) throws(StoreError) {
        try access { db in
            guard let value else { return try db.run("DELETE FROM metadata WHERE key = ?", key) }
            try db.run("INSERT INTO metadata VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2", key, value)
        }
    }

    /// Reads all of the file and checks that pages, indexes and types are what SQLite wrote; about a second for each gigabyte.
    ///
    /// - Throws: ``StoreError/corrupt`` where they are not. Nothing is changed.
    public func check() throws(StoreError) {
        try read { db in
            var finding = ""
            try db.rows("PRAGMA quick_check(1)") { finding = $0.text(0) }
            guard finding == "ok" else { throw StoreError.corrupt }
        }
    }

    public var highestMatchNumber: Int64 {
        get throws(StoreError) { try highest(.match) }
    }

    public var highestLiveNumber: Int64 {
        get throws(StoreError) { try highest(.live) }
    }

    private func highest(_ counter: NumberSequence) throws(StoreError) -> Int64 {
        try access { db in
            var value: Int64 = 0
            try db.rows("SELECT value FROM counter WHERE name = ?", counter.rawValue) { value = $0.int64(0) }
            return value
        }
    }

    public func probe() throws(StoreError) {
        try access { db in
            // The write needs fresh pages: overwriting in place would succeed on a full disk.
            try db.run("INSERT OR REPLACE INTO probe VALUES (1, zeroblob(32768))")
            try db.run("DELETE FROM probe")
        }
    }

    func access<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do { return try queue.inDatabase { db in try placesLock.withLock { try body(db) } } } catch { throw StoreError(error) }
    }

    /// Reads one state of the store, beside the writes.
    func snapshot<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try reader.inDatabase { db in
            var value: Value?
            try db.inTransaction(.deferred) {
                value = try body(db)
                return .commit
            }
            guard let value else { preconditionFailure("a transaction that committed has run") }
            return value
        }
    }

    func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do { return try snapshot(body) } catch { throw StoreError(error) }
    }

    /// Reads beside the writes, but not beside a transaction: where places are found by their id changes with those.
    func placeSnapshot<Value>(_ body: (Database, PlaceRows) throws -> Value) throws -> Value {
        try placesLock.withLock { try snapshot { try body($0, places) } }
    }
}

/// Creates an empty file that only its owner may read; an existing one, or a failure, is left for SQLite to meet.
private func createPrivateFile(_ path: String) {
    let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
}

private func fileSize(_ path: String) -> Int64? {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : nil
}
