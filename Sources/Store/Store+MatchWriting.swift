import GRDB
import Records

// Writing matches: listed with their device, and owed until they are delivered.

extension Store {
    /// In the order in which records are bound and read.
    static let matchColumns =
        "number, dataset, id, deviceId, subscriptionId, publicationId, owner, createdAt, pending, pushers, secret, settled, fate"

    static func put(_ record: MatchRecord, _ db: Database) throws {
        try db.run(
            """
            INSERT OR REPLACE INTO match (\(Self.matchColumns), listed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
            """,
            record.number, record.dataset, record.id, record.deviceId, record.subscriptionId, record.publicationId, record.owner,
            record.createdAt, record.pending, record.pushers.isEmpty ? nil : ListText.encode(record.pushers), record.secret,
            Int64(record.settled), record.fate.rank)
        try db.run("INSERT OR REPLACE INTO matchBody VALUES (?, ?)", record.number, record.body)
    }

    static func matchSettled(_ number: Int64, _ db: Database) throws {
        // Whom it was for, and what signed it, is nobody's business any more.
        try db.run("UPDATE match SET pending = 0, pushers = NULL, secret = NULL WHERE number = ?", number)
        try removeUnneeded(number, db)
    }

    /// A match that is still to be delivered leaves the list only: its delivery is owed, whatever became of its device.
    static func forgetMatch(_ number: Int64, _ db: Database) throws {
        try db.run("UPDATE match SET listed = 0 WHERE number = ?", number)
        try removeUnneeded(number, db)
    }

    /// Removes a match that is neither listed nor to be delivered.
    private static func removeUnneeded(_ number: Int64, _ db: Database) throws {
        try db.run("DELETE FROM match WHERE number = ? AND pending = 0 AND listed = 0", number)
        guard db.changesCount > 0 else { return }
        try db.run("DELETE FROM matchBody WHERE number = ?", number)
    }
}
