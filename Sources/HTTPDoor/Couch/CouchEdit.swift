import Wire

/// A document as a client of CouchDB writes it, on its way to the core.
struct CouchEdit: Sendable {
    var id: CouchID
    /// With it: a revision that was made elsewhere, or what a plain write is over.
    var revision: String?
    var isDeleted: Bool
    /// Its ancestors, the parent first; of a revision that was made elsewhere.
    var history: [String] = []
    var body: JSONObject

    /// What names a document here, and is no member of its own.
    static let names: Set<String> = ["id", "type", "revision"]
    /// What means something else where documents are pushed.
    private static let reserved: Set<String> = ["parent", "deleted"]
    /// What CouchDB shows and nobody writes.
    private static let shown: Set<String> = [
        "_id", "_rev", "_deleted", "_revisions", "_conflicts", "_deleted_conflicts", "_local_seq", "_revs_info", "_attachments",
    ]

    /// - Parameters:
    ///   - id: Where the document does not say it itself.
    ///   - isReplicated: Its revision was made elsewhere.
    init(_ object: JSONObject, id named: String? = nil, isReplicated: Bool) throws(CouchRefusal) {
        guard let text = object["_id"]?.asString ?? named else { throw .badRequest("a document needs an `_id`") }
        guard named == nil || text == named else { throw .badRequest("`_id` is not the id in the path") }
        guard let id = CouchID(text) else { throw Self.isNoID(text) }
        self.id = id
        revision = object["_rev"]?.asString
        isDeleted = object["_deleted"]?.asBool ?? false
        if let attachments = object["_attachments"], attachments.asObject?.isEmpty != true { throw .attachments }
        body = JSONObject(
            object.members.lazy.filter { !Self.shown.contains($0.key) && !Self.names.contains($0.key) }.map { ($0.key, $0.value) }
        )
        for member in object.members where !Self.shown.contains(member.key) { try check(member) }
        if isReplicated {
            guard revision != nil else { throw .forbidden("a replicated document needs its `_rev`") }
            if let revisions = object["_revisions"] { try take(revisions) }
        }
    }

    static func isNoID(_ text: String) -> CouchRefusal {
        .forbidden("an `_id` is `type:id`, each of 1 to 128 bytes and no underscore in front; `\(text.prefix(80))` is none")
    }

    private func check(_ member: JSONObject.Member) throws(CouchRefusal) {
        if member.key.utf8.first == UInt8(ascii: "_") {
            throw CouchRefusal(.badRequest, "doc_validation", "`\(member.key.prefix(80))` is none of CouchDB's members")
        }
        guard !Self.reserved.contains(member.key) else {
            throw .forbidden("`\(member.key)` cannot be a member: it has a meaning of its own here")
        }
        let own: String? =
            switch member.key {
            case "id": id.id
            case "type": id.type
            case "revision": revision
            default: nil
            }
        guard !Self.names.contains(member.key) || member.value.asString == own else {
            throw .forbidden("`\(member.key)` is said by the `_id` or the `_rev`, and cannot be another member")
        }
    }

    /// The ancestors that `_revisions` names.
    private mutating func take(_ revisions: JSONValue) throws(CouchRefusal) {
        guard let start = revisions.asObject?["start"]?.asInt64, let ids = revisions.asObject?["ids"]?.asArray, start > 0,
            Int64(ids.count) <= start, let first = ids.first?.asString, let revision, "\(start)-\(first)" == revision
        else {
            throw .forbidden("`_revisions` is no history of `_rev`: `start` is its generation, and `ids` begin with its hash")
        }
        for (index, id) in ids.dropFirst().prefix(Self.historyMax).enumerated() {
            guard let hash = id.asString else { throw .forbidden("`_revisions.ids` must be texts") }
            history.append("\(start - Int64(index) - 1)-\(hash)")
        }
    }

    private static let historyMax = 999

    /// How it goes into `docs` of a push.
    func write(asEdit: Bool, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", id.id)
        writer.member("type", id.type)
        if let revision { writer.member(asEdit ? "parent" : "revision", revision) }
        if !asEdit, let parent = history.first { writer.member("parent", parent) }
        if isDeleted { writer.member("deleted", true) }
        for member in body.members {
            writer.key(member.key)
            writer.value(member.value)
        }
        writer.endObject()
    }
}
