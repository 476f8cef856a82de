internal import Foundation
internal import GRDB

/// The file: what the daemon said of each document, and over it what was written here and is on its way.
///
/// Every call is one transaction. A program that is killed loses nothing that had returned; only a loss of power may cost the last moments.
struct LocalDatabase: Sendable {
    let queue: DatabaseQueue

    init(file: URL, owner: String) throws(GeomatchError) {
        do {
            var configuration = Configuration()
            configuration.label = "geomatch.offline"
            configuration.foreignKeysEnabled = false
            configuration.busyMode = .timeout(5)
            // It may say where people are. SQLite gives its other files the same mode.
            if !FileManager.default.fileExists(atPath: file.path) {
                _ = FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
            }
            queue = try DatabaseQueue(path: file.path, configuration: configuration)
            try queue.inDatabase { db in
                try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 2000;")
            }
            try Self.migrator.migrate(queue)
            try queue.write { db in
                let known = try String.fetchOne(db, sql: "SELECT value FROM metadata WHERE key = 'owner'")
                guard known == nil || known == owner else {
                    throw GeomatchError(.file, "the store is that of \(known ?? "-"), not of \(owner)")
                }
                try db.execute(sql: "INSERT OR IGNORE INTO metadata VALUES ('owner', ?)", arguments: [owner])
            }
        } catch let error as GeomatchError {
            throw error
        } catch {
            throw GeomatchError(.file, "\(file.path): \(error)")
        }
    }

    /// `document` is the daemon's truth. `outbox` holds what was written here, the oldest first; `isSent` once it may have arrived,
    /// from then on it is not changed any more. `isAside` where it ends a revision that lost, and is not what the document is.
    private static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE metadata (key TEXT NOT NULL PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
                    CREATE TABLE document (
                        row INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, revision TEXT NOT NULL, conflicts TEXT,
                        content BLOB NOT NULL, round INTEGER NOT NULL
                    ) STRICT;
                    CREATE UNIQUE INDEX documentByKey ON document (type, id);
                    CREATE TABLE outbox (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, id TEXT NOT NULL, revision TEXT NOT NULL,
                        parent TEXT, isDeleted INTEGER NOT NULL, isAside INTEGER NOT NULL, isSent INTEGER NOT NULL, content BLOB NOT NULL
                    ) STRICT;
                    CREATE INDEX outboxByKey ON outbox (type, id, number);
                    CREATE TABLE refusal (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, id TEXT NOT NULL, revision TEXT NOT NULL,
                        content BLOB NOT NULL, error TEXT NOT NULL
                    ) STRICT;
                    """)
        }
        return migrator
    }()

    func read<Value>(_ body: (Database) throws -> Value) throws(GeomatchError) -> Value {
        do { return try queue.read(body) } catch { throw Self.failure(error) }
    }

    func write<Value>(_ body: (Database) throws -> Value) throws(GeomatchError) -> Value {
        do { return try queue.write(body) } catch { throw Self.failure(error) }
    }

    private static func failure(_ error: any Error) -> GeomatchError {
        error as? GeomatchError ?? GeomatchError(.file, "the local store failed: \(error)")
    }
}

extension Database {
    func integer(_ key: String) throws -> Int64 {
        try Int64.fetchOne(self, sql: "SELECT value FROM metadata WHERE key = ?", arguments: [key]) ?? 0
    }

    func text(_ key: String) throws -> String? {
        try String.fetchOne(self, sql: "SELECT value FROM metadata WHERE key = ?", arguments: [key])
    }

    func set(_ key: String, _ value: (any DatabaseValueConvertible)?) throws {
        try execute(sql: "INSERT OR REPLACE INTO metadata VALUES (?, ?)", arguments: [key, value ?? ""])
    }

    /// The newest of what was written here of a document and not yet answered.
    func overlay(_ type: String, _ id: String) throws -> OutboxEntry? {
        let statement = try cachedStatement(
            sql:
                "SELECT \(OutboxEntry.columns) FROM outbox WHERE type = ? AND id = ? AND isAside = 0 ORDER BY number DESC LIMIT 1"
        )
        return try Row.fetchOne(statement, arguments: [type, id]).map(OutboxEntry.init)
    }

    /// What the daemon last said of a document.
    func truth(_ type: String, _ id: String) throws -> (revision: String, conflicts: String?, content: Data)? {
        let statement = try cachedStatement(sql: "SELECT revision, conflicts, content FROM document WHERE type = ? AND id = ?")
        return try Row.fetchOne(statement, arguments: [type, id]).map { ($0[0], $0[1], $0[2]) }
    }

    func putTruth(_ type: String, _ id: String, _ revision: String, _ conflicts: String?, _ content: Data, round: Int64) throws {
        let statement = try cachedStatement(
            sql: """
                INSERT INTO document (type, id, revision, conflicts, content, round) VALUES (?, ?, ?, ?, ?, ?) \
                ON CONFLICT (type, id) DO UPDATE SET revision = excluded.revision, conflicts = excluded.conflicts, \
                content = excluded.content, round = excluded.round
                """)
        try statement.execute(arguments: [type, id, revision, conflicts, content, round])
    }

    func deleteTruth(_ type: String, _ id: String) throws {
        try cachedStatement(sql: "DELETE FROM document WHERE type = ? AND id = ?").execute(arguments: [type, id])
    }
}
