import Wire

/// A document with its leaves, as the core gives it.
struct CouchDocument: Sendable {
    struct Leaf: Sendable {
        var revision: String
        var isDeleted: Bool
        /// The parent first.
        var ancestors: [String]
        /// Its own members; nil where it is deleted, or was not read.
        var body: JSONObject?
    }

    var id: CouchID
    var seq: Int64
    /// The winner first.
    var leaves: [Leaf]
    /// Those that were asked for.
    var known: [String]

    init?(_ value: JSONValue, _ id: CouchID) {
        guard let object = value.asObject else { return nil }
        self.id = id
        seq = object["seq"]?.asInt64 ?? 0
        known = (object["known"]?.asArray ?? []).compactMap(\.asString)
        leaves = (object["leaves"]?.asArray ?? []).compactMap { leaf in
            guard let leaf = leaf.asObject, let revision = leaf["revision"]?.asString else { return nil }
            return Leaf(
                revision: revision, isDeleted: leaf["deleted"]?.asBool ?? false,
                ancestors: (leaf["ancestors"]?.asArray ?? []).compactMap(\.asString), body: leaf["doc"]?.asObject)
        }
    }

    var winner: Leaf? { leaves.first }

    /// The leaf of a revision; else, where the latest is wanted, those that it became.
    func leaves(of revision: String, orLatest: Bool) -> [Leaf] {
        if let leaf = leaves.first(where: { $0.revision == revision }) { return [leaf] }
        return orLatest ? leaves.filter { $0.ancestors.contains(revision) } : []
    }
}

/// What is shown of a document beside its members.
struct CouchMeta: Sendable {
    var revisions = false
    var revisionsInfo = false
    var conflicts = false
    var deletedConflicts = false
    /// Revisions that are asked for and were replaced are answered with what replaced them.
    var latest = false

    init(_ head: RequestHead) {
        func isAsked(_ name: String) -> Bool { head.parameter(name) == "true" }
        revisions = isAsked("revs")
        revisionsInfo = isAsked("revs_info")
        conflicts = isAsked("conflicts")
        deletedConflicts = isAsked("deleted_conflicts")
        latest = isAsked("latest")
    }

    /// More than the document and its revision is shown.
    var showsMore: Bool { revisions || revisionsInfo || conflicts || deletedConflicts }
}

extension JSONWriter {
    /// A revision of a document as CouchDB shows it.
    mutating func couch(_ leaf: CouchDocument.Leaf, of document: CouchDocument, _ meta: CouchMeta) {
        beginObject()
        member("_id", document.id.text)
        member("_rev", leaf.revision)
        if leaf.isDeleted { member("_deleted", true) }
        if meta.revisions { couchRevisions(leaf) }
        if meta.revisionsInfo {
            key("_revs_info")
            beginArray()
            for (index, revision) in ([leaf.revision] + leaf.ancestors).enumerated() {
                beginObject()
                member("rev", revision)
                member("status", index > 0 ? "missing" : leaf.isDeleted ? "deleted" : "available")
                endObject()
            }
            endArray()
        }
        if leaf.revision == document.winner?.revision {
            let losers = document.leaves.dropFirst()
            let conflicts = losers.filter { !$0.isDeleted }.map(\.revision)
            let deleted = losers.filter(\.isDeleted).map(\.revision)
            if meta.conflicts, !conflicts.isEmpty { member("_conflicts", conflicts) }
            if meta.deletedConflicts, !deleted.isEmpty { member("_deleted_conflicts", deleted) }
        }
        couch(members: leaf.body)
        endObject()
    }

    /// `{"start","ids"}`: the generation of the revision, and the hashes from it to its oldest known ancestor.
    private mutating func couchRevisions(_ leaf: CouchDocument.Leaf) {
        key("_revisions")
        beginObject()
        member("start", CouchRevision.generation(of: leaf.revision))
        member("ids", ([leaf.revision] + leaf.ancestors).map(CouchRevision.hash))
        endObject()
    }

    /// A document's own members: neither what names it, nor what CouchDB keeps for itself.
    mutating func couch(members body: JSONObject?) {
        for member in body?.members ?? []
        where !CouchEdit.names.contains(member.key) && member.key.utf8.first != UInt8(ascii: "_") {
            key(member.key)
            value(member.value)
        }
    }
}

/// The two parts of `N-hash`.
enum CouchRevision {
    static func generation(of revision: String) -> Int64 { Int64(revision.prefix { $0 != "-" }) ?? 0 }
    static func hash(of revision: String) -> String { String(revision.drop { $0 != "-" }.dropFirst()) }
}
