import LiveTopics
import Wire
import Records

/// One document of a `changes/push`, read but not yet judged.
struct PushedDocument {
    var key: DocumentKey
    var revision: RevisionID
    /// The revisions it was made from, its parent first.
    var lineage: [RevisionID] = []
    /// It is a plain write over what is current, and its revision is decided here.
    var isEdit = false
    var isDeleted: Bool
    /// Its members as sent.
    var members: JSONObject
    /// Why it alone is refused.
    var fault: WireError?

    /// Bytes of the longest document as it is kept: a row of the feed must fit into a message.
    static let bytesMaximum = 192 << 10

    /// The most ancestors that are remembered of what one push says.
    private static let ancestorsMaximum = 1000

    /// - Parameters:
    ///   - history: Its ancestors as sent, the parent first.
    ///   - isEdit: Its revision is decided later.
    /// - Throws: `invalid`, field `docs`, where the whole push is refused: no valid `id`, `type`, `revision` or `parent`.
    init(_ value: JSONValue, at index: Int, history: JSONValue? = nil, isEdit: Bool = false) throws(WireError) {
        func refusal(_ rule: String) -> WireError { WireError(.invalid, "`docs[\(index)]` \(rule)", field: "docs") }
        guard let members = value.asObject else { throw refusal("must be an object") }
        func name(_ key: String) throws(WireError) -> String {
            guard let text = members[key]?.asString, Name.isID(text) else {
                throw refusal("must have `\(key)`, a text of 1 to \(Name.idBytesMax) bytes that is not `-`")
            }
            return text
        }
        func revision(_ key: String, _ text: String?) throws(WireError) -> RevisionID {
            guard let revision = text.flatMap(RevisionID.init) else {
                throw refusal(
                    "must have as `\(key)` a generation of 1 to 2^53, a hyphen and a hash of 1 to \(RevisionID.hashBytesMax) of A-Z a-z 0-9 . _ -"
                )
            }
            return revision
        }
        key = DocumentKey(type: try name("type"), id: try name("id"))
        self.revision = try revision("revision", isEdit ? Self.undecided : members["revision"]?.asString)
        self.isEdit = isEdit
        if let parent = members["parent"], parent != .null { lineage = [try revision("parent", parent.asString)] }
        self.members = members
        isDeleted = members["deleted"]?.asBool ?? false
        if let deleted = members["deleted"], deleted != .null, deleted.asBool == nil {
            fault = WireError(.invalid, "`deleted` must be true or false", field: "deleted")
        } else if let history, !read(history) {
            fault = WireError(
                .invalid,
                "`histories[\(index)]` must list the ancestors of \(self.revision.text), the parent first, each of a lower generation",
                field: "histories")
        } else if let parent = lineage.first, !isEdit, parent.generation >= self.revision.generation {
            fault = WireError(
                .invalid,
                "`parent` must be of a lower generation than `revision`: \(parent.text) is not before \(self.revision.text)",
                field: "parent")
        }
    }

    private static let undecided = "1-0"

    /// - Returns: false where that is no history of this revision.
    private mutating func read(_ history: JSONValue) -> Bool {
        guard let texts = history.asArray else { return false }
        var ancestors: [RevisionID] = []
        for text in texts.prefix(Self.ancestorsMaximum) {
            guard let ancestor = text.asString.flatMap(RevisionID.init),
                ancestor.generation < (ancestors.last ?? revision).generation
            else { return false }
            ancestors.append(ancestor)
        }
        if let parent = lineage.first, let first = ancestors.first, first != parent { return false }
        if !ancestors.isEmpty { lineage = ancestors }
        return true
    }

    /// Gives a plain write its revision: the next one after what it is written over.
    mutating func decide(over known: DocumentHistory?) {
        if lineage.isEmpty, let winner = known?.winner, winner.isDeleted { lineage = [winner.revision] }
        let text = Revision.next(after: lineage.first?.text, content: JSONValue.object(members).serialised())
        if let decided = RevisionID(text) { revision = decided }
    }

    /// Refuses a plain write over what is not current.
    func checkEdit(of known: DocumentHistory) throws(WireError) {
        guard let winner = known.winner else {
            if isDeleted { throw WireError(.notFound, "there is no \(key.type.text) `\(key.id.text)`", field: "id") }
            guard lineage.isEmpty else { throw isNotCurrent }
            return
        }
        guard let parent = lineage.first else {
            if isDeleted && winner.isDeleted { throw WireError(.notFound, "it is deleted already", field: "id") }
            throw isNotCurrent
        }
        guard known.leaves.contains(where: { $0.revision == parent }) else { throw isNotCurrent }
    }

    private var isNotCurrent: WireError {
        WireError(.conflict, "the document has another revision by now: read it, and name that as `parent`", field: "parent")
    }

    /// The document as it is kept and shown: `{"id","type","revision",…}`, without what only a push has; empty for a deleted one.
    func content() throws(WireError) -> [UInt8] {
        guard !isDeleted else { return [] }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", key.id.text)
        writer.member("type", key.type.text)
        writer.member("revision", revision.text)
        for member in members.members where !Self.ownMembers.contains(member.key) {
            writer.key(member.key)
            writer.value(member.value)
        }
        writer.endObject()
        guard writer.bytes.count <= Self.bytesMaximum else {
            throw WireError(
                .tooLarge, "a document has at most \(Self.bytesMaximum >> 10) KiB, not \(writer.bytes.count) bytes")
        }
        return writer.bytes
    }

    private static let ownMembers: Set<String> = ["id", "type", "revision", "parent", "deleted"]
}

/// What a document is known by.
struct DocumentKey: Hashable {
    var type: ByteKey
    var id: ByteKey

    init(type: String, id: String) {
        self.type = ByteKey(type)
        self.id = ByteKey(id)
    }
}
