import Wire

/// The answer of `_bulk_get`, a few documents at a time.
actor CouchBulkGet {
    struct Question: Sendable {
        var id: String
        var revision: String?
    }

    private var questions: ArraySlice<Question>
    private let meta: CouchMeta
    private let database: CouchDatabase
    private var isBegun = false
    private var hasResults = false
    private var isOver = false

    /// Read together.
    private static let portion = 100

    init(_ questions: [Question], _ meta: CouchMeta, _ database: CouchDatabase) {
        self.questions = questions[...]
        self.meta = meta
        self.database = database
    }

    nonisolated var next: @Sendable () async throws -> [UInt8]? { { try await self.results() } }

    private func results() async throws -> [UInt8]? {
        guard !isOver else { return nil }
        guard isBegun else {
            isBegun = true
            return Array("{\"results\":[".utf8)
        }
        guard !questions.isEmpty else {
            isOver = true
            return Array("]}\n".utf8)
        }
        let asked = questions.prefix(Self.portion)
        let ids = asked.compactMap { CouchID($0.id) }
        // One that has been asked for twice is read twice: replicators do so for conflicts only.
        let found = ids.isEmpty ? [] : try await database.documents(ids.map { CouchDatabase.Question(id: $0) }, withContent: true)
        var documents = found[...]
        var bytes: [UInt8] = []
        for question in asked {
            var document: CouchDocument?
            if CouchID(question.id) != nil {
                guard let next = documents.popFirst() else { break }
                document = next
            }
            questions.removeFirst()
            if hasResults { bytes.append(UInt8(ascii: ",")) }
            hasResults = true
            bytes += try await result(question, document)
        }
        return bytes
    }

    private func result(_ question: Question, _ document: CouchDocument?) async throws -> [UInt8] {
        var leaves: [CouchDocument.Leaf] = []
        if let document {
            leaves = question.revision.map { document.leaves(of: $0, orLatest: meta.latest) } ?? Array(document.leaves.prefix(1))
            for index in leaves.indices { leaves[index] = try await database.whole(leaves[index], of: document.id) }
        }
        return JSONWriter.object { writer in
            writer.member("id", question.id)
            writer.key("docs")
            writer.beginArray()
            for leaf in leaves {
                guard let document else { continue }
                writer.beginObject()
                writer.key("ok")
                writer.couch(leaf, of: document, meta)
                writer.endObject()
            }
            if leaves.isEmpty {
                writer.beginObject()
                writer.key("error")
                writer.beginObject()
                writer.member("id", question.id)
                writer.member("rev", question.revision ?? "undefined")
                writer.member("error", "not_found")
                writer.member("reason", "missing")
                writer.endObject()
                writer.endObject()
            }
            writer.endArray()
        }
    }
}

/// Which of all documents are asked for.
struct CouchRange: Sendable {
    var keys: [String]?
    private var start: String?
    private var end: String?
    private var hasInclusiveEnd = true
    var isDescending = false
    var limit = Int.max
    var skip = 0
    var includesDocuments = false

    init(_ head: RequestHead, _ body: JSONObject) throws(CouchRefusal) {
        func value(_ names: String...) throws(CouchRefusal) -> JSONValue? {
            for name in names {
                if let value = body[name] { return value }
                guard let text = head.parameter(name) else { continue }
                // Only texts are keys here: one without quotation marks is meant as it is.
                return (try? JSONValue.parse(text)) ?? .string(text)
            }
            return nil
        }
        func count(_ name: String) throws(CouchRefusal) -> Int? {
            guard let value = try value(name) else { return nil }
            guard let number = value.asInt64 ?? value.asString.flatMap({ Int64($0) }), number >= 0 else {
                let shown = String(decoding: value.serialised().prefix(40), as: UTF8.self)
                throw CouchRefusal(
                    .badRequest, "query_parse_error", "`\(name)` must be a whole number from 0 on, not \(shown)")
            }
            return Int(number)
        }
        if let list = try value("keys") {
            guard let list = list.asArray else { throw .badRequest("`keys` must be a list of ids") }
            keys = list.map { $0.asString ?? "" }
        } else if let key = try value("key") {
            // Every key is a text: nothing has another one.
            if let key = key.asString { (start, end) = (key, key) } else { keys = [] }
        }
        isDescending = try value("descending")?.asBool ?? false
        hasInclusiveEnd = try value("inclusive_end")?.asBool ?? true
        if let key = try value("startkey", "start_key")?.asString { start = key }
        if let key = try value("endkey", "end_key")?.asString { end = key }
        if isDescending { swap(&start, &end) }
        limit = try count("limit") ?? limit
        skip = try count("skip") ?? skip
        includesDocuments = try value("include_docs")?.asBool ?? false
    }

    func contains(_ key: String) -> Bool {
        let last = isDescending ? start : end
        if !hasInclusiveEnd, let last, key.utf8.elementsEqual(last.utf8) { return false }
        if let start, key.utf8.lexicographicallyPrecedes(start.utf8) { return false }
        if let end, end.utf8.lexicographicallyPrecedes(key.utf8) { return false }
        return true
    }
}

/// The answer of `_all_docs`, some rows at a time.
actor CouchAllDocuments {
    private var rows: ArraySlice<(key: String, row: CouchRow?)>
    private let total: Int64
    private let offset: Int
    private let range: CouchRange
    private let meta: CouchMeta
    private let database: CouchDatabase
    private var isBegun = false
    private var hasRows = false
    private var isOver = false

    private static let portion = 200

    init(
        _ rows: [(key: String, row: CouchRow?)], total: Int64, offset: Int, _ range: CouchRange, _ meta: CouchMeta,
        _ database: CouchDatabase
    ) {
        self.rows = rows[...]
        self.total = total
        self.offset = offset
        self.range = range
        self.meta = meta
        self.database = database
    }

    nonisolated var next: @Sendable () async throws -> [UInt8]? { { try await self.portion() } }

    private func portion() async throws -> [UInt8]? {
        guard !isOver else { return nil }
        guard isBegun else {
            isBegun = true
            return Array("{\"total_rows\":\(total),\"offset\":\(offset),\"rows\":[\n".utf8)
        }
        guard !rows.isEmpty else {
            isOver = true
            return Array("\n]}\n".utf8)
        }
        let shown = Array(rows.prefix(Self.portion))
        rows = rows.dropFirst(shown.count)
        var documents: [CouchID: CouchDocument] = [:]
        if range.includesDocuments {
            let ids = shown.compactMap { $0.row.flatMap { $0.isDeleted ? nil : $0.id } }
            for document in try await database.allDocuments(ids, withContent: true).compactMap({ $0 }) {
                documents[document.id] = document
            }
        }
        var bytes: [UInt8] = []
        for (key, row) in shown {
            if hasRows { bytes += [0x2C, 0x0A] }
            hasRows = true
            bytes += try await encode(key, row, row.flatMap { documents[$0.id] })
        }
        return bytes
    }

    private func encode(_ key: String, _ row: CouchRow?, _ document: CouchDocument?) async throws -> [UInt8] {
        var leaf: CouchDocument.Leaf?
        if let document, let winner = document.winner { leaf = try await database.whole(winner, of: document.id) }
        return JSONWriter.object { writer in
            guard let row else {
                writer.member("key", key)
                writer.member("error", "not_found")
                return
            }
            writer.member("id", row.id.text)
            writer.member("key", key)
            writer.key("value")
            writer.beginObject()
            writer.member("rev", row.leaves[0])
            if row.isDeleted { writer.member("deleted", true) }
            writer.endObject()
            guard range.includesDocuments else { return }
            writer.key("doc")
            if let leaf, let document { writer.couch(leaf, of: document, meta) } else { writer.null() }
        }
    }
}
