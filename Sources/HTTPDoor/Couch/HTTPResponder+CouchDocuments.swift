import HTTPTypes
import Records
import Wire

// Documents over CouchDB's protocol, one by one and in bulk.

extension HTTPResponder {
    // MARK: One

    func document(_ exchange: HTTPExchange, _ database: CouchDatabase, id text: String) async throws -> Routed {
        let head = exchange.head
        switch head.method {
        case .get, .head:
            guard let id = CouchID(text) else { throw CouchRefusal.notFound("missing") }
            return try await read(head, database, id)
        case .put:
            let isReplicated = head.parameter("new_edits") == "false"
            var edit = try CouchEdit(
                try await writtenObject(exchange, upTo: Self.documentBodyMax), id: text, isReplicated: isReplicated)
            if let revision = revision(head) {
                guard edit.revision ?? revision == revision else {
                    throw CouchRefusal.badRequest("`_rev` is not the revision in the query or in `If-Match`")
                }
                edit.revision = revision
            }
            return .answer(try await write(edit, database, .created, isReplicated: isReplicated))
        case .delete:
            guard let id = CouchID(text) else { throw CouchRefusal.notFound("missing") }
            let edit = CouchEdit(deleting: id, revision(head))
            return .answer(try await write(edit, database, .ok))
        default: throw HTTPRefusal.method(head.method, allow: "GET, HEAD, PUT, DELETE")
        }
    }

    private static let documentBodyMax = 1 << 20

    /// The revision that is written over.
    private func revision(_ head: RequestHead) -> String? {
        head.parameter("rev") ?? head["If-Match"].map { String($0.drop { $0 == "\"" }.prefix { $0 != "\"" }) }
    }

    func write(
        _ edit: CouchEdit, _ database: CouchDatabase, _ status: HTTPResponse.Status, isReplicated: Bool = false
    ) async throws -> HTTPAnswer {
        var push = CouchPush(database, isReplicated: isReplicated)
        try await push.add(edit)
        try await push.flush()
        guard let fate = push.fates.first else { throw CouchRefusal.badRequest("nothing was written") }
        if let refusal = fate.refusal { throw refusal }
        return Self.written(fate.id, fate.revision ?? "", status)
    }

    private func read(_ head: RequestHead, _ database: CouchDatabase, _ id: CouchID) async throws -> Routed {
        if let revision = head.parameter("rev"), RevisionID(revision) == nil {
            throw CouchRefusal.badRequest("`\(revision.beginning(80))` of `rev` is no revision: `N-HASH`")
        }
        let found = try await database.document(id)
        let meta = CouchMeta(head)
        if let revisions = head.parameter("open_revs") {
            let accepted = head["Accept"] ?? ""
            return try await openRevisions(
                revisions, of: found, meta, database,
                asParts: accepted.contains("multipart/mixed") && !accepted.contains("application/json"))
        }
        guard let document = found, let winner = document.winner else { throw CouchRefusal.notFound("missing") }
        let leaf: CouchDocument.Leaf
        if let revision = head.parameter("rev") {
            guard let found = document.leaves(of: revision, orLatest: meta.latest).first else {
                throw CouchRefusal.notFound("missing")
            }
            leaf = found
        } else {
            guard !winner.isDeleted else { throw CouchRefusal.notFound("deleted") }
            leaf = winner
        }
        // As at CouchDB, a revision is the tag of the document alone: what is shown beside it changes without it.
        let tag = meta.showsMore ? nil : "\"\(leaf.revision)\""
        if let tag, head.knows(tag) {
            var answer = HTTPAnswer(.notModified, json: [])
            answer.fields[.eTag] = tag
            return .answer(answer)
        }
        let whole = try await database.whole(leaf, of: id)
        var writer = JSONWriter()
        writer.couch(whole, of: document, meta)
        var answer = HTTPAnswer(.ok, json: writer.bytes)
        answer.fields[.eTag] = tag
        return .answer(answer)
    }

    /// - Parameters:
    ///   - document: nil: there is none, and each revision that is named is missing.
    ///   - asParts: As CouchDB's own replicator asks for them.
    private func openRevisions(
        _ text: String, of document: CouchDocument?, _ meta: CouchMeta, _ database: CouchDatabase, asParts: Bool
    ) async throws -> Routed {
        var wanted: [(revision: String, leaves: [CouchDocument.Leaf])] = []
        if text == "all" {
            guard let document, !document.leaves.isEmpty else { throw CouchRefusal.notFound("missing") }
            wanted = document.leaves.map { ($0.revision, [$0]) }
        } else {
            guard let list = (try? JSONValue.parse(text))?.asArray else {
                throw CouchRefusal.badRequest("`open_revs` is `all` or a list of revisions")
            }
            var seen: Set<String> = []
            for revision in list.compactMap(\.asString) where seen.insert(revision).inserted {
                wanted.append((revision, document?.leaves(of: revision, orLatest: meta.latest) ?? []))
            }
        }
        var found: [CouchRevisionFound] = []
        for (revision, leaves) in wanted {
            for leaf in leaves {
                guard let document else { break }
                var writer = JSONWriter()
                writer.couch(try await database.whole(leaf, of: document.id), of: document, meta)
                found.append(.revision(writer.bytes))
            }
            if leaves.isEmpty { found.append(.missing(revision)) }
        }
        return .answer(asParts ? found.parts : found.list)
    }

    // MARK: Many

    /// Which of the revisions a replicator has are missing here.
    func revisionsDiff(_ body: JSONObject, _ database: CouchDatabase) async throws -> Routed {
        var questions: [CouchDatabase.Question] = []
        var writer = JSONWriter()
        writer.beginObject()
        for member in body.members {
            guard let list = member.value.asArray else { throw CouchRefusal.badRequest("each id has a list of revisions") }
            let revisions = list.compactMap(\.asString)
            if let id = CouchID(member.key) {
                questions.append(CouchDatabase.Question(id: id, revisions: revisions))
            } else {
                writer.missing(member.key, revisions)
            }
        }
        var asked = questions[...]
        while !asked.isEmpty {
            let found = try await database.documents(Self.fitting(asked), withContent: false)
            guard !found.isEmpty else { break }
            for (question, document) in zip(asked, found) {
                let missing = question.revisions.filter { document?.known.contains($0) != true }
                if !missing.isEmpty { writer.missing(question.id.text, missing, document) }
            }
            asked = asked.dropFirst(found.count)
        }
        writer.endObject()
        return .answer(HTTPAnswer(.ok, json: writer.bytes))
    }

    /// As many as a request takes.
    private static func fitting(_ questions: ArraySlice<CouchDatabase.Question>) -> ArraySlice<CouchDatabase.Question> {
        var revisions = 0
        let fitting = questions.prefix { question in
            defer { revisions += question.revisions.count }
            return revisions < revisionsAsked
        }
        return fitting
    }

    private static let revisionsAsked = 500

    func bulkGet(_ head: RequestHead, _ body: JSONObject, _ database: CouchDatabase) async throws -> Routed {
        guard let list = body["docs"]?.asArray else { throw CouchRefusal.badRequest("the body must have `docs`, a list") }
        var questions: [CouchBulkGet.Question] = []
        for value in list {
            guard let id = value.asObject?["id"]?.asString else {
                throw CouchRefusal.badRequest("each of `docs` must have an `id`")
            }
            questions.append(CouchBulkGet.Question(id: id, revision: value.asObject?["rev"]?.asString))
        }
        return try await PortionedAnswer.routed(CouchBulkGet(questions, CouchMeta(head), database).next)
    }

    func bulkDocuments(_ bytes: [UInt8], _ database: CouchDatabase) async throws -> Routed {
        let bulk = try CouchBulk(bytes)
        var push = CouchPush(database, isReplicated: bulk.isReplicated)
        // A caller that may not push at all is refused, also without documents.
        if bulk.documents.isEmpty { _ = try await database.page(since: 0, limit: 1, withContent: false) }
        for range in bulk.documents { try await push.add(bytes[range]) }
        try await push.flush()
        var writer = JSONWriter()
        writer.beginArray()
        for fate in push.fates where fate.refusal != nil || !bulk.isReplicated {
            writer.beginObject()
            if let refusal = fate.refusal {
                writer.member("id", fate.id)
                writer.member("rev", optional: fate.revision)
                // A replicator passes over what is forbidden, and comes back for ever with anything else.
                writer.member("error", bulk.isReplicated ? "forbidden" : refusal.name)
                writer.member("reason", refusal.reason)
            } else {
                writer.member("ok", true)
                writer.member("id", fate.id)
                writer.member("rev", optional: fate.revision)
            }
            writer.endObject()
        }
        writer.endArray()
        return .answer(HTTPAnswer(.created, json: writer.bytes))
    }

    // MARK: All

    /// So many rows are sorted by their ids at once.
    private static let rowsMax = 100_000

    func allDocuments(_ head: RequestHead, _ body: JSONObject, _ database: CouchDatabase) async throws -> Routed {
        let range = try CouchRange(head, body)
        let page = try await database.page(since: 0, limit: 1, withContent: false, counting: true)
        var rows: [(key: String, row: CouchRow?)] = []
        if let keys = range.keys {
            let ids = keys.map { CouchID($0) }
            let found = try await database.allDocuments(ids.compactMap { $0 })
            var next = found.makeIterator()
            for (key, id) in zip(keys, ids) {
                rows.append((key, id == nil ? nil : (next.next() ?? nil).flatMap { CouchRow($0) }))
            }
        } else {
            guard page.documents + page.deleted <= Self.rowsMax else {
                throw CouchRefusal.forbidden("there are too many documents to sort: ask for `keys`, or read `_changes`")
            }
            let feed = try await all(database)
            rows = feed.filter { !$0.isDeleted && range.contains($0.id.text) }.map { ($0.id.text, $0) }
            rows.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        }
        if range.isDescending { rows.reverse() }
        let shown = Array(rows.dropFirst(range.skip).prefix(range.limit))
        let answer = CouchAllDocuments(shown, total: page.documents, offset: range.skip, range, CouchMeta(head), database)
        return try await PortionedAnswer.routed(answer.next)
    }

    private func all(_ database: CouchDatabase) async throws -> [CouchRow] {
        var rows: [CouchRow] = []
        var since: Int64 = 0
        while true {
            let page = try await database.page(since: since, limit: 1000, withContent: false)
            rows += page.rows
            since = page.last
            guard page.isPart else { return rows }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func missing(_ id: String, _ revisions: [String], _ document: CouchDocument? = nil) {
        key(id)
        beginObject()
        member("missing", revisions)
        let generation = revisions.map(CouchRevision.generation).max() ?? 0
        let possible = (document?.leaves ?? []).map(\.revision).filter { CouchRevision.generation(of: $0) < generation }
        if !possible.isEmpty { member("possible_ancestors", possible) }
        endObject()
    }
}

extension CouchEdit {
    init(deleting id: CouchID, _ revision: String?) {
        self.id = id
        self.revision = revision
        isDeleted = true
        body = [:]
    }
}

/// What there is of a revision that was asked for.
private enum CouchRevisionFound {
    /// The document.
    case revision([UInt8])
    case missing(String)

    var json: [UInt8] {
        JSONWriter.object { writer in
            switch self {
            case .revision(let document):
                writer.key("ok")
                writer.raw(document)
            case .missing(let revision): writer.member("missing", revision)
            }
        }
    }
}

extension [CouchRevisionFound] {
    fileprivate var list: HTTPAnswer {
        HTTPAnswer(.ok, json: [UInt8(ascii: "[")] + map(\.json).joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")])
    }

    /// Each a part of its own, as CouchDB sends them where there are no attachments.
    ///
    /// Source: CouchDB, documentation of `GET /{db}/{docid}`, "Getting Multiple Revisions".
    fileprivate var parts: HTTPAnswer {
        let boundary = "geomatch-" + UInt64.random(in: .min ... .max).description
        var body: [UInt8] = []
        for found in self {
            body += "--\(boundary)\r\n".utf8
            switch found {
            case .revision(let document): body += "Content-Type: application/json\r\n\r\n".utf8 + document
            case .missing: body += "Content-Type: application/json; error=\"true\"\r\n\r\n".utf8 + found.json
            }
            body += "\r\n".utf8
        }
        body += "--\(boundary)--".utf8
        var answer = HTTPAnswer(.ok, json: body)
        answer.fields[.contentType] = "multipart/mixed; boundary=\"\(boundary)\""
        return answer
    }
}
