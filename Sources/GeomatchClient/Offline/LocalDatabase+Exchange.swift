internal import Foundation
internal import GRDB
internal import Wire

// What comes from the daemon and what goes to it, as the file takes and gives it.

extension LocalDatabase {
    /// Where the feed was read to.
    struct Checkpoint {
        var storeId: String
        var since: Int64
    }

    func checkpoint() throws(GeomatchError) -> Checkpoint {
        try read { db in Checkpoint(storeId: try db.text("storeId") ?? "", since: try db.integer("since")) }
    }

    /// Begins the feed at 0 again. What the daemon does not name this time is gone when it has been read.
    func startOver() throws(GeomatchError) {
        try write { db in
            try db.set("since", 0)
            try db.set("storeId", "")
            try db.set("round", try db.integer("round") + 1)
            try db.set("sweeps", 1)
        }
    }

    /// What a page came to.
    struct Applied {
        var changes: [OfflineChange] = []
        var last: Int64 = 0
        var isPart = false
    }

    /// Takes a page of the feed and where it ends, in one transaction.
    ///
    /// - Parameter isStreamed: It counts only where it goes on from what is known.
    /// - Returns: nil where it does not go on from there.
    func take(_ page: JSONObject, isStreamed: Bool) throws(GeomatchError) -> Applied? {
        let reader = ObjectReader(page)
        let storeId = try reader.string("storeId")
        let rows = try reader.elements("rows")
        guard let last = page["last"]?.asInt64 else { throw .malformed("last", "is not a number") }
        return try write { db in
            var applied = Applied(last: last, isPart: page["more"]?.asBool ?? false)
            if isStreamed {
                let known = try db.integer("since")
                guard let since = page["since"]?.asInt64, since <= known, try db.text("storeId") == storeId else { return nil }
                guard last > known else { return applied }
            }
            let round = try db.integer("round")
            for row in rows {
                if let change = try Self.take(ObjectReader(row, "rows"), round: round, db) { applied.changes.append(change) }
            }
            try db.set("since", last)
            try db.set("storeId", storeId)
            if !applied.isPart, try db.integer("sweeps") == 1 {
                applied.changes += try Self.sweep(round: round, db)
                try db.set("sweeps", 0)
            }
            return applied
        }
    }

    private static func take(_ row: ObjectReader, round: Int64, _ db: Database) throws -> OfflineChange? {
        let (type, id, revision) = (try row.string("type"), try row.string("id"), try row.string("revision"))
        let isDeleted = row.flag("deleted")
        let truth = try db.truth(type, id)
        let lost = row.strings("conflicts")
        let conflicts = lost.isEmpty ? nil : lost.joined(separator: " ")
        if isDeleted {
            try db.deleteTruth(type, id)
        } else {
            guard let document = row.object["doc"]?.asObject else { throw GeomatchError.malformed("doc", "is missing") }
            try db.putTruth(type, id, revision, conflicts, Members.content(document), round: round)
        }
        let isNews = isDeleted ? truth != nil : truth?.revision != revision || truth?.conflicts != conflicts
        guard isNews, try db.overlay(type, id) == nil else { return nil }
        return OfflineChange(
            type: type, id: id, revision: revision, isDeleted: isDeleted, isInConflict: conflicts != nil, source: .remote)
    }

    private static func sweep(round: Int64, _ db: Database) throws -> [OfflineChange] {
        var changes: [OfflineChange] = []
        let rows = try Row.fetchAll(
            db, sql: "SELECT type, id, revision FROM document WHERE round < ? ORDER BY type, id", arguments: [round])
        for row in rows {
            let (type, id, revision): (String, String, String) = (row[0], row[1], row[2])
            try db.deleteTruth(type, id)
            guard try db.overlay(type, id) == nil else { continue }
            changes.append(
                OfflineChange(type: type, id: id, revision: revision, isDeleted: true, isInConflict: false, source: .remote))
        }
        return changes
    }

    // MARK: What was written here

    func pendingCount() throws(GeomatchError) -> Int {
        try read { try Int.fetchOne($0, sql: "SELECT count(*) FROM outbox") ?? 0 }
    }

    /// The oldest that wait, so many or so large at most, at least one; from now on they count as sent.
    func takePending(count: Int, bytes: Int) throws(GeomatchError) -> [OutboxEntry] {
        try write { db in
            var entries: [OutboxEntry] = []
            var size = 0
            let rows = try Row.fetchCursor(
                db, sql: "SELECT \(OutboxEntry.columns) FROM outbox ORDER BY number LIMIT ?", arguments: [count])
            while let row = try rows.next() {
                let entry = OutboxEntry(row)
                size += entry.content.count + entry.id.utf8.count + entry.type.utf8.count + 256
                guard entries.isEmpty || size <= bytes else { break }
                entries.append(entry)
            }
            if let last = entries.last {
                try db.execute(sql: "UPDATE outbox SET isSent = 1 WHERE number <= ? AND isSent = 0", arguments: [last.number])
            }
            return entries
        }
    }

    /// What the daemon made of one.
    enum Outcome {
        case written, exists, conflict
        case refused(JSONValue)
    }

    /// Settles what was pushed.
    func settle(_ answers: [(entry: OutboxEntry, outcome: Outcome)]) throws(GeomatchError) -> [OfflineChange] {
        try write { db in
            let round = try db.integer("round")
            var changes: [OfflineChange] = []
            for (entry, outcome) in answers {
                try db.cachedStatement(sql: "DELETE FROM outbox WHERE number = ?").execute(arguments: [entry.number])
                guard !entry.isAside else { continue }
                let truth = try db.truth(entry.type, entry.id)
                switch outcome {
                case .written:
                    // The feed says the same soon; where it has said more already, that stays.
                    guard truth?.revision == entry.parent else { continue }
                    if entry.isDeleted {
                        try db.deleteTruth(entry.type, entry.id)
                    } else {
                        try db.putTruth(entry.type, entry.id, entry.revision, truth?.conflicts, entry.content, round: round)
                    }
                case .exists: continue
                case .conflict:
                    if let change = try Self.shown(entry, truth, source: .remote, db) { changes.append(change) }
                case .refused(let error):
                    try Self.refuse(entry, error, db)
                    if let change = try Self.shown(entry, truth, source: .reverted, db) { changes.append(change) }
                }
            }
            return changes
        }
    }

    /// What is to be seen of a document now that an entry is gone; nil where something newer covers it.
    private static func shown(
        _ entry: OutboxEntry, _ truth: (revision: String, conflicts: String?, content: Data)?, source: OfflineChange.Source,
        _ db: Database
    ) throws -> OfflineChange? {
        guard try db.overlay(entry.type, entry.id) == nil else { return nil }
        return OfflineChange(
            type: entry.type, id: entry.id, revision: truth?.revision ?? entry.revision, isDeleted: truth == nil,
            isInConflict: truth?.conflicts != nil, source: source)
    }

    private static let refusalsMax = 1000

    private static func refuse(_ entry: OutboxEntry, _ error: JSONValue, _ db: Database) throws {
        // What was written on top of it goes on from what it was made from.
        try db.execute(
            sql: "UPDATE outbox SET parent = ? WHERE type = ? AND id = ? AND parent = ?",
            arguments: [entry.parent, entry.type, entry.id, entry.revision])
        try db.execute(
            sql: "INSERT INTO refusal (type, id, revision, content, error) VALUES (?, ?, ?, ?, ?)",
            arguments: [
                entry.type, entry.id, entry.revision, entry.content, String(decoding: error.serialised(), as: UTF8.self),
            ])
        try db.execute(sql: "DELETE FROM refusal WHERE number <= ?", arguments: [db.lastInsertedRowID - Int64(refusalsMax)])
    }

    // MARK: Conflicts

    /// Documents with revisions that lost, in order.
    func conflicts() throws(GeomatchError) -> [(type: String, id: String, revision: String, conflicts: String)] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: "SELECT type, id, revision, conflicts FROM document WHERE conflicts IS NOT NULL ORDER BY type, id LIMIT 1000"
            ).map { ($0[0], $0[1], $0[2], $0[3]) }
        }
    }

    /// Writes what becomes of a conflict, unless the document has changed since.
    ///
    /// - Parameter content: nil keeps the winner.
    func resolve(
        _ winner: OfflineDocument, _ others: [String], content: Data?
    ) throws(GeomatchError) -> OfflineChange? {
        try write { db in
            let (type, id) = (winner.type, winner.id)
            guard try db.overlay(type, id) == nil, try db.truth(type, id)?.revision == winner.revision else { return nil }
            for revision in others {
                let end = LocalRevision.next(after: revision, content: Data(), isDeleted: true)
                try db.execute(
                    sql: """
                        INSERT INTO outbox (type, id, revision, parent, isDeleted, isAside, isSent, content) \
                        VALUES (?, ?, ?, ?, 1, 1, 0, ?)
                        """, arguments: [type, id, end, revision, Data("{}".utf8)])
            }
            return try content.map {
                try OfflineStore.write($0, type, id, expecting: winner.revision, isDeleted: false, db)
            }
        }
    }
}
