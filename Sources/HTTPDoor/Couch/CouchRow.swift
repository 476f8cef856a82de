import Wire

/// One document as the feed shows it.
struct CouchRow: Sendable {
    var seq: Int64
    var id: CouchID
    /// The winner first.
    var leaves: [String]
    var isDeleted: Bool
    var conflicts: [String]
    /// Of the winner; nil where it is deleted, or was not read.
    var body: JSONObject?

    /// nil where the protocol has no name for it.
    init?(_ value: JSONValue, for client: String) {
        guard let row = value.asObject, let type = row["type"]?.asString, var name = row["id"]?.asString,
            let revision = row["revision"]?.asString
        else { return nil }
        // Two clients may have geofences of one id: those of others go by their paths.
        if let path = row["path"]?.asString, path != "\(client)/\(name)" { name = path }
        id = CouchID(type: type, id: name)
        guard id.isShown else { return nil }
        seq = row["seq"]?.asInt64 ?? 0
        leaves = (row["leaves"]?.asArray ?? []).compactMap(\.asString)
        if leaves.isEmpty { leaves = [revision] }
        isDeleted = row["deleted"]?.asBool ?? false
        conflicts = (row["conflicts"]?.asArray ?? []).compactMap(\.asString)
        body = row["doc"]?.asObject
    }

    /// As it was looked up.
    init?(_ document: CouchDocument?) {
        guard let document, let winner = document.winner else { return nil }
        seq = document.seq
        id = document.id
        leaves = document.leaves.map(\.revision)
        isDeleted = winner.isDeleted
        conflicts = document.leaves.dropFirst().filter { !$0.isDeleted }.map(\.revision)
        body = winner.body
    }
}
