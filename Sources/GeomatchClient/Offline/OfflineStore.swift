public import Foundation
internal import GRDB
internal import Synchronization
internal import Wire

/// A local copy of the documents of a dataset, for reading and writing without a network.
///
/// ```swift
/// let store = try OfflineStore(file: folder.appendingPathComponent("geomatch.sqlite"), dataset: "demo", client: "me")
/// try store.put(["text": "buy milk"], type: "note", id: "1")
/// store.start(with: try GeomatchClient(broker: "mqtt://127.0.0.1:1883", dataset: "demo", client: "me"))
/// for await change in store.changes { print(change.type, change.id) }
/// ```
///
/// Reading and writing never wait for the network: what is written is durable when the call returns, is seen at once, and goes to the
/// daemon when there is one. What the daemon has comes here, each change once. Of two that wrote the same document the daemon decides
/// by a rule that gives every replica the same winner (``OfflineConflict``).
///
/// One program at a time replicates a file; what others write into it meanwhile goes out a little later. Use the store from any task.
public final class OfflineStore: Sendable {
    let database: LocalDatabase
    public let dataset: String
    public let client: String
    let observers = Broadcast<OfflineChange, Never>()
    let replication = Mutex(Replication())

    /// How many changes an observer may be behind before the oldest are left out.
    static let observerCapacity = 100_000

    /// Opens the file, or creates it. Its folder must exist.
    ///
    /// - Throws: `file` where it cannot be used, or is the store of another client or dataset.
    public init(file: URL, dataset: String, client: String) throws(GeomatchError) {
        self.dataset = dataset
        self.client = client
        database = try LocalDatabase(file: file, owner: "\(client) in \(dataset)")
    }

    deinit { stop() }

    // MARK: Reading

    /// A document; nil where there is none, or it is deleted.
    public func document(type: String, id: String) throws(GeomatchError) -> OfflineDocument? {
        try database.read { try Self.document(type, id, $0) }
    }

    static func document(_ type: String, _ id: String, _ db: Database) throws -> OfflineDocument? {
        let truth = try db.truth(type, id)
        if let overlay = try db.overlay(type, id) {
            guard !overlay.isDeleted else { return nil }
            return try OfflineDocument(type, id, overlay.revision, overlay.content, truth?.conflicts, isPending: true)
        }
        return try truth.map { try OfflineDocument(type, id, $0.revision, $0.content, $0.conflicts, isPending: false) }
    }

    /// Documents of a type in the order of their ids.
    ///
    /// - Parameters:
    ///   - after: The id to go on behind; nil for the first page.
    ///   - limit: At least 1.
    public func documents(
        type: String, after: String? = nil, limit: Int = 1000
    ) throws(GeomatchError) -> [OfflineDocument] {
        try database.read { db in
            var found: [OfflineDocument] = []
            var last = after
            while found.count < limit {
                let ids = try String.fetchAll(
                    db,
                    sql: """
                        SELECT id FROM document WHERE type = ?1 AND (?2 IS NULL OR id > ?2) \
                        UNION SELECT id FROM outbox WHERE type = ?1 AND isAside = 0 AND (?2 IS NULL OR id > ?2) ORDER BY id LIMIT ?3
                        """, arguments: [type, last, limit])
                for id in ids where found.count < limit {
                    if let document = try Self.document(type, id, db) { found.append(document) }
                }
                guard ids.count == limit else { break }
                last = ids.last
            }
            return found
        }
    }

    /// How many documents of the daemon are here, of a type or of all.
    public func count(type: String? = nil) throws(GeomatchError) -> Int {
        try database.read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM document WHERE ?1 IS NULL OR type = ?1", arguments: [type]) ?? 0
        }
    }

    /// The revisions this document had to win against are with the daemon: ``OfflineConflict/others`` of it, asked for when it is there.
    public var conflicted: [OfflineDocument] {
        get throws(GeomatchError) {
            try database.read { db in
                let keys = try Row.fetchAll(
                    db, sql: "SELECT type, id FROM document WHERE conflicts IS NOT NULL ORDER BY type, id")
                return try keys.compactMap { try Self.document($0[0], $0[1], db) }
            }
        }
    }

    /// What the daemon did not take, the newest 1000, oldest first.
    public var refusals: [OfflineRefusal] {
        get throws(GeomatchError) {
            try database.read { db in
                try Row.fetchAll(db, sql: "SELECT type, id, revision, content, error FROM refusal ORDER BY number").map {
                    let members = PropertyValue.members(of: try Members.parse($0[3]))
                    let error = try? JSONValue.parse($0[4] as String)
                    return OfflineRefusal(
                        type: $0[0], id: $0[1], revision: $0[2], members: members, error: GeomatchError(reply: error ?? .null))
                }
            }
        }
    }

    /// Forgets what the daemon did not take.
    public func forgetRefusals() throws(GeomatchError) {
        try database.write { try $0.execute(sql: "DELETE FROM refusal") }
    }

    /// Every change from now on, of this program and of others. Each call gives a consumer of its own.
    public var changes: BufferedSequence<OfflineChange, Never> {
        let mailbox = Mailbox<OfflineChange, Never>(capacity: Self.observerCapacity)
        observers.add(mailbox)
        return BufferedSequence(mailbox: mailbox)
    }

    // MARK: Writing

    /// Writes a document as a whole; durable when it returns.
    ///
    /// - Parameters:
    ///   - id: 1–128 bytes; nil makes a UUID.
    ///   - revision: Where given and not the present one, nothing is written.
    /// - Throws: `invalid` for what can be no type or id and for `deleted: true` (see ``delete(type:id:revision:)``), `conflict` for a
    ///   stale revision, `tooLarge` above 192 KiB.
    @discardableResult
    public func put(
        _ members: [String: PropertyValue], type: String, id: String? = nil, revision: String? = nil
    ) throws(GeomatchError) -> OfflineDocument {
        guard members["deleted"] != .bool(true) else {
            throw GeomatchError(.invalid, "a document is written without `deleted`: use `delete`", field: "deleted")
        }
        let id = id ?? UUID().uuidString.lowercased()
        let change = try write(Members.content(PropertyValue.json(of: members)), type, id, revision, isDeleted: false)
        var rest = members
        for key in ["id", "type", "revision", "parent", "deleted"] { rest[key] = nil }
        return OfflineDocument(type: type, id: id, revision: change.revision, members: rest, isPending: true, conflicts: [])
    }

    /// Deletes a document. Without effect where there is none.
    ///
    /// - Parameter revision: Where given and not the present one, nothing is deleted.
    public func delete(type: String, id: String, revision: String? = nil) throws(GeomatchError) {
        guard try document(type: type, id: id) != nil else { return }
        _ = try write(Data("{}".utf8), type, id, revision, isDeleted: true)
    }

    private func write(
        _ content: Data, _ type: String, _ id: String, _ revision: String?, isDeleted: Bool
    ) throws(GeomatchError) -> OfflineChange {
        try check(type, id, content)
        let change = try database.write { db in
            try Self.write(content, type, id, expecting: revision, isDeleted: isDeleted, db)
        }
        observers.send(change)
        wake()
        return change
    }

    static func write(
        _ content: Data, _ type: String, _ id: String, expecting: String?, isDeleted: Bool, _ db: Database
    ) throws -> OfflineChange {
        let overlay = try db.overlay(type, id)
        let truth = try db.truth(type, id)
        let current = overlay?.revision ?? truth?.revision
        if let expecting, expecting != current {
            throw GeomatchError(.conflict, "the document is \(current ?? "not there"), not \(expecting)", field: "revision")
        }
        let revision = LocalRevision.next(after: current, content: content, isDeleted: isDeleted)
        if let overlay, !overlay.isSent {
            // Nobody has seen it: this takes its place.
            try db.cachedStatement(
                sql: "UPDATE outbox SET revision = ?2, isDeleted = ?3, content = ?4 WHERE number = ?1"
            ).execute(arguments: [overlay.number, revision, isDeleted, content])
        } else {
            try db.cachedStatement(
                sql: """
                    INSERT INTO outbox (type, id, revision, parent, isDeleted, isAside, isSent, content) VALUES (?, ?, ?, ?, ?, 0, 0, ?)
                    """
            ).execute(arguments: [type, id, revision, current, isDeleted, content])
        }
        return OfflineChange(
            type: type, id: id, revision: revision, isDeleted: isDeleted, isInConflict: truth?.conflicts != nil, source: .local)
    }

    private func check(_ type: String, _ id: String, _ content: Data) throws(GeomatchError) {
        for (key, text) in [("type", type), ("id", id)] where !(1...128).contains(text.utf8.count) || text == "-" {
            throw GeomatchError(.invalid, "`\(key)` has 1 to 128 bytes and is not `-`", field: key)
        }
        guard content.count <= 190 << 10 else {
            throw GeomatchError(.tooLarge, "a document has at most 190 KiB, not \(content.count) bytes")
        }
    }
}

extension OfflineDocument {
    init(
        _ type: String, _ id: String, _ revision: String, _ content: Data, _ conflicts: String?, isPending: Bool
    ) throws(GeomatchError) {
        self.init(
            type: type, id: id, revision: revision, members: PropertyValue.members(of: try Members.parse(content)),
            isPending: isPending, conflicts: conflicts.map { $0.split(separator: " ").map(String.init) } ?? [])
    }
}
