import Datasets
import Wire

/// A dataset as a client sees it through CouchDB's protocol: everything is asked of the core in its own requests.
struct CouchDatabase: Sendable {
    let door: HTTPDoor
    let name: String
    let caller: Caller
    var client: String { caller.client }

    /// Carries out a request of the table.
    ///
    /// - Returns: Its `result`.
    func ask(_ request: String, _ parameters: (inout JSONWriter) -> Void = { _ in }) async throws -> JSONObject {
        let body = JSONWriter.object(parameters)
        guard let reply = await door.ask(APIRequest(dataset: name, client: client, name: request, body: body)) else {
            throw HTTPRefusal.unavailable("the request was not answered in time, or the daemon ends: repeat it")
        }
        defer { door.written(reply) }
        guard let object = try JSONValue.parse(reply.bytes).asObject else { return [:] }
        if let error = object["error"]?.asObject { throw WireError(reply: error) }
        return object["result"]?.asObject ?? [:]
    }

    // MARK: Documents that stay here

    static let localPrefix = "_local/"

    /// A `_local` document without its id and revision, and its revision.
    ///
    /// - Throws: `notFound` also where it was deleted.
    func local(_ id: String) async throws -> (value: JSONObject, revision: String) {
        let record = try await ask("checkpoint/get") { $0.member("id", id) }
        let value = record["value"]?.asObject ?? [:]
        guard value["_deleted"]?.asBool != true else { throw CouchRefusal.notFound("deleted") }
        return (value, Self.localRevision(record))
    }

    /// - Returns: Its revision.
    func putLocal(_ id: String, _ document: JSONObject) async throws -> String {
        var value = document
        for name in ["_id", "_rev", "_revisions"] { value[name] = nil }
        let kept = value
        let record = try await ask("checkpoint/put") { writer in
            writer.member("id", id)
            writer.key("value")
            writer.object(kept)
        }
        return Self.localRevision(record)
    }

    private static func localRevision(_ record: JSONObject) -> String { "0-\(record["number"]?.asInt64 ?? 1)" }

    // MARK: Documents

    /// What is asked of a document.
    struct Question {
        var id: CouchID
        /// Only what this leaf says is wanted.
        var revision: String?
        /// Only which of these are known is wanted.
        var revisions: [String] = []
    }

    /// Asks about documents.
    ///
    /// - Returns: What is known of the first of them, in order; nil for those there are none of. At least one.
    func documents(_ questions: some Collection<Question>, withContent: Bool) async throws -> [CouchDocument?] {
        let result = try await ask("changes/documents") { writer in
            writer.member("content", withContent)
            writer.key("docs")
            writer.beginArray()
            for question in questions.prefix(Self.documentsAsked) {
                writer.beginObject()
                writer.member("type", question.id.type)
                writer.member("id", question.id.id)
                writer.member("revision", optional: question.revision)
                if !question.revisions.isEmpty { writer.member("revisions", question.revisions) }
                writer.endObject()
            }
            writer.endArray()
        }
        let found = result["docs"]?.asArray ?? []
        return zip(questions, found).map { CouchDocument($1, $0.id) }
    }

    /// Far enough below what a request may have.
    private static let documentsAsked = 200

    /// All that is known of some documents, however many.
    func allDocuments(_ ids: [CouchID], withContent: Bool = false) async throws -> [CouchDocument?] {
        var found: [CouchDocument?] = []
        while found.count < ids.count {
            let questions = ids[found.count...].prefix(Self.documentsAsked).map { Question(id: $0) }
            let more = try await documents(questions, withContent: withContent)
            guard !more.isEmpty else { break }
            found += more
        }
        return found
    }

    func document(_ id: CouchID, withContent: Bool = true) async throws -> CouchDocument? {
        try await documents([Question(id: id)], withContent: withContent).first ?? nil
    }

    /// A leaf with what it says, also where there was no room for it before.
    func whole(_ leaf: CouchDocument.Leaf, of id: CouchID) async throws -> CouchDocument.Leaf {
        guard leaf.body == nil, !leaf.isDeleted else { return leaf }
        let document = try await documents([Question(id: id, revision: leaf.revision)], withContent: true).first ?? nil
        return document?.leaves.first { $0.revision == leaf.revision } ?? leaf
    }

    // MARK: The feed

    /// One page of the feed.
    struct Page: Sendable {
        var store: String
        /// Where it goes on.
        var last: Int64
        /// Where the feed ends.
        var end: Int64
        var isPart: Bool
        var rows: [CouchRow]
        var documents: Int64
        var deleted: Int64
    }

    func page(since: Int64, limit: Int, withContent: Bool, counting: Bool = false) async throws -> Page {
        let result = try await ask("changes/get") { writer in
            writer.member("since", since)
            writer.member("limit", limit)
            writer.member("leaves", true)
            writer.member("content", withContent)
            if counting { writer.member("counts", true) }
        }
        let last = result["last"]?.asInt64 ?? since
        return Page(
            store: Self.short(result["storeId"]?.asString ?? ""), last: last, end: result["end"]?.asInt64 ?? last,
            isPart: result["more"]?.asBool ?? false,
            rows: (result["rows"]?.asArray ?? []).compactMap { CouchRow($0, for: client) },
            documents: result["documents"]?.asInt64 ?? 0, deleted: result["deleted"]?.asInt64 ?? 0)
    }

    /// Which feed it is, in few letters.
    private static func short(_ store: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in store.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 36)
    }

    /// A checkpoint from where this feed cannot be read on is none: its replicator would come back to it for ever.
    func checkResumable(_ place: String?) async throws {
        guard let place = place.flatMap({ CouchSequence($0) }), let store = place.store else { return }
        let now = try await page(since: 0, limit: 1, withContent: false)
        // A checkpoint of a client that pushes is a position in another feed.
        guard store == now.store else { return }
        do {
            _ = try await page(since: place.number, limit: 1, withContent: false)
        } catch let error as WireError where error.code == .conflict {
            throw CouchRefusal.notFound("the checkpoint cannot be resumed: \(error.message)")
        }
    }

    /// Refuses a place in another feed, or one that this feed has not: the client begins at 0.
    func check(_ since: CouchSequence, against page: Page) throws(CouchRefusal) {
        guard since.store == nil || since.store == page.store else {
            throw .badRequest("`since` is a place in another store's feed: start at 0")
        }
    }
}

extension WireError {
    /// As a reply says it.
    init(reply error: JSONObject) {
        self.init(
            ErrorCode(rawValue: error["error"]?.asString ?? "") ?? .internal, error["message"]?.asString ?? "",
            field: error["field"]?.asString)
    }
}
