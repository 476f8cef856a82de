import Records
import Store

/// The change feed while a transaction changes it: what is known of its documents is read at once for all of them, and written without
/// waiting.
struct FeedTransaction {
    private let connection: Connection
    private let shard: PostgresShard?
    /// What is known of documents that were looked up or written; nil: there is none.
    private var documents: [[Field]: Known?] = [:]
    /// The highest `seq` of the datasets that were written to.
    private var last: [Field: Int64] = [:]

    private struct Known {
        var revision: KnownRevision
        /// The revisions of its other leaves that are live.
        var losers: [String] = []
        var owner: String?
        var reader: String?
    }

    init(_ connection: Connection, shard: PostgresShard?) {
        self.connection = connection
        self.shard = shard
    }

    // MARK: Looking up

    /// Reads what is known of the documents that changes are about, those left out that go with another one.
    mutating func lookUp(_ changes: [DurableChange]) throws {
        var keys: Set<[Field]> = []
        for change in changes {
            switch change {
            case .putDocument(let record): keys.insert(Self.key(record.dataset, record.type, record.id))
            case .put, .delete:
                guard let dataset = change.dataset else { continue }
                switch change.feedEntry {
                case .object(let type, let id, _, _, _)?: keys.insert(Self.key(dataset, type.rawValue, id))
                case .burial(let type, let id)?: keys.insert(Self.key(dataset, type.rawValue, id))
                case nil: break
                }
            default: break
            }
        }
        try read(Array(keys))
    }

    private mutating func read(_ keys: [[Field]]) throws {
        guard !keys.isEmpty else { return }
        let values = (0..<3).map { column in Value.fields(keys.map { $0[column] }) }
        let given = "unnest($1::bytea[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS given (dataset, type, id, number)"
        var found: [Known?] = Array(repeating: nil, count: keys.count)
        try connection.rows(
            "SELECT number, revision, deleted, owner, reader FROM \(given) JOIN document USING (dataset, type, id)", values
        ) { row in
            found[Int(row.number(0)) - 1] = Known(
                revision: KnownRevision(row.text(1), isDeleted: row.flag(2)), owner: row.optionalText(3),
                reader: row.optionalText(4))
        }
        try connection.rows(
            "SELECT number, revision FROM \(given) JOIN leaf USING (dataset, type, id) WHERE NOT leaf.deleted", values
        ) { row in
            found[Int(row.number(0)) - 1]?.losers.append(row.text(1))
        }
        for (key, known) in zip(keys, found) { documents[key] = .some(known) }
    }

    private mutating func known(_ key: [Field]) throws -> Known? {
        if let known = documents[key] { return known }
        try read([key])
        return documents[key] ?? nil
    }

    private static func key(_ dataset: String, _ type: String, _ id: String) -> [Field] {
        [.text(dataset), .text(type), .text(id)]
    }

    private mutating func nextSeq(of dataset: Field) throws -> Int64 {
        var seq = last[dataset] ?? 0
        if last[dataset] == nil {
            try connection.rows("SELECT last FROM feed WHERE dataset = $1", [.field(dataset)]) { seq = $0.number(0) }
        }
        last[dataset] = seq + 1
        return seq + 1
    }

    // MARK: What changes

    /// Enters what a put means for the feed.
    mutating func enter(_ entry: FeedEntry, in dataset: String) throws {
        guard case .object(let type, let id, let revision, let owner, let reader) = entry else { return }
        let key = Self.key(dataset, type.rawValue, id)
        let known = try known(key)
        guard let update = FeedRules.entering(revision, owner: owner, reader: reader, over: known?.revision) else { return }
        try write(update, to: key, known)
    }

    /// Enters that an object is gone.
    mutating func bury(_ type: DocumentType, _ id: String, in dataset: String) throws {
        let key = Self.key(dataset, type.rawValue, id)
        guard let known = try known(key), let update = FeedRules.burying(known.revision, losers: known.losers) else { return }
        try write(update, to: key, known)
    }

    private mutating func write(_ update: DocumentUpdate, to key: [Field], _ former: Known?) throws {
        var known = former ?? Known(revision: KnownRevision(update.revision, isDeleted: false))
        known.revision = KnownRevision(update.revision, isDeleted: update.isDeleted)
        if let people = update.people { (known.owner, known.reader) = people }
        if let parent = update.parent { try addAncestor(parent, of: update.revision, in: key) }
        for link in update.buried {
            try connection.send(
                "DELETE FROM leaf WHERE dataset = $1 AND type = $2 AND id = $3 AND revision = $4",
                key.map { .field($0) } + [.text(link.parent)])
            try connection.send(
                "INSERT INTO leaf VALUES ($1, $2, $3, $4, true, '') ON CONFLICT DO NOTHING",
                key.map { .field($0) } + [.text(link.child)])
            try addAncestor(link.parent, of: link.child, in: key)
            known.losers.removeAll { $0.hasSameBytes(as: link.parent) }
        }
        try write(known, to: key, content: nil)
    }

    private mutating func write(_ known: Known, to key: [Field], content: [UInt8]?) throws {
        documents[key] = .some(known)
        try connection.send(
            """
            INSERT INTO document (dataset, type, id, seq, revision, deleted, owner, reader, content) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (dataset, type, id) DO UPDATE SET seq = excluded.seq, \
            revision = excluded.revision, deleted = excluded.deleted, owner = excluded.owner, reader = excluded.reader, \
            content = excluded.content, buried = NULL
            """,
            key.map { .field($0) } + [
                .number(try nextSeq(of: key[0])), .text(known.revision.text), .flag(known.revision.isDeleted), .text(known.owner),
                .text(known.reader), .bytes(content),
            ])
    }

    /// A document with all its leaves, as a push left it.
    mutating func put(_ record: DocumentRecord) throws {
        guard let winner = record.leaves.first else { return }
        let key = Self.key(record.dataset, record.type, record.id)
        let former = try known(key)
        let contents = try record.leaves.map { leaf in
            if let content = leaf.content { return content }
            return former == nil ? [] : try storedContent(of: leaf.revision.text, in: key)
        }
        if former != nil {
            try connection.send("DELETE FROM leaf WHERE dataset = $1 AND type = $2 AND id = $3", key.map { .field($0) })
        }
        let losers = zip(record.leaves, contents).dropFirst()
        let known = Known(
            revision: KnownRevision(winner.revision.text, isDeleted: winner.isDeleted),
            losers: losers.filter { !$0.0.isDeleted }.map(\.0.revision.text),
            owner: record.owner, reader: record.reader)
        try write(known, to: key, content: record.content(ofWinner: contents[0]))
        for (leaf, content) in losers {
            try connection.send(
                "INSERT INTO leaf VALUES ($1, $2, $3, $4, $5, $6)",
                key.map { .field($0) } + [.text(leaf.revision.text), .flag(leaf.isDeleted), .bytes(content)])
        }
        for link in record.links { try addAncestor(link.parent, of: link.child, in: key) }
        let parents = Set(record.links.map(\.parent))
        for revision in record.ancestors where !parents.contains(revision) { try addAncestor(revision, of: "", in: key) }
    }

    private func storedContent(of revision: String, in key: [Field]) throws -> [UInt8] {
        var content: [UInt8] = []
        let of = "dataset = $1 AND type = $2 AND id = $3 AND revision = $4"
        try connection.rows(
            "SELECT content FROM document WHERE \(of) UNION ALL SELECT content FROM leaf WHERE \(of)",
            key.map { .field($0) } + [.text(revision)]
        ) { content = $0.bytes(0) }
        return content
    }

    /// - Parameter child: Empty where it is not known.
    private func addAncestor(_ revision: String, of child: String, in key: [Field]) throws {
        let generation = RevisionID(revision)?.generation ?? 0
        try connection.send(
            "INSERT INTO ancestor VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
            key.map { .field($0) } + [.number(generation), .text(revision), .text(child)])
        guard let forgotten = FeedRules.forgottenGenerations(adding: revision) else { return }
        try connection.send(
            "DELETE FROM ancestor WHERE dataset = $1 AND type = $2 AND id = $3 AND generation < $4",
            key.map { .field($0) } + [.number(forgotten)])
    }

    /// Forgets tombstones that were dated before an instant, and dates those that are not.
    mutating func forgetTombstones(before instant: Int64, at now: Int64) throws {
        try writeLast()
        documents = [:]
        let scope = shard.scope(of: "document")
        let old = "document.deleted AND document.buried < $1\(scope.and)"
        try connection.send(
            """
            UPDATE feed SET purged = greatest(purged, old.seq) \
            FROM (SELECT dataset, max(seq) AS seq FROM document WHERE \(old) GROUP BY dataset) AS old WHERE feed.dataset = old.dataset
            """, [.number(instant)] + scope.values)
        for part in ["leaf", "ancestor"] {
            try connection.send(
                "DELETE FROM \(part) USING document WHERE \(part).dataset = document.dataset AND \(part).type = document.type "
                    + "AND \(part).id = document.id AND \(old)", [.number(instant)] + scope.values)
        }
        try connection.send("DELETE FROM document WHERE \(old)", [.number(instant)] + scope.values)
        try connection.send(
            "UPDATE document SET buried = $1 WHERE document.deleted AND buried IS NULL\(scope.and)", [.number(now)] + scope.values
        )
    }

    /// Everything but the documents themselves.
    mutating func deleteDataset(_ dataset: String) throws {
        try connection.send("DELETE FROM feed WHERE dataset = $1", [.text(dataset)])
        documents = documents.filter { $0.key[0] != .text(dataset) }
        last[.text(dataset)] = nil
    }

    mutating func end() throws { try writeLast() }

    private mutating func writeLast() throws {
        let sql = "INSERT INTO feed VALUES ($1, $2) ON CONFLICT (dataset) DO UPDATE SET last = greatest(feed.last, excluded.last)"
        for (dataset, seq) in last { try connection.send(sql, [.field(dataset), .number(seq)]) }
        last = [:]
    }
}
