import Places
import Wire
import Records

/// Reads one category as it is sent: `{"id","name","parentId"?}`.
enum CategoryReader {
    /// - Parameter isFree: It may have members that mean nothing here, as a document may.
    static func category(_ value: JSONValue, isFree: Bool = false) throws(WireError) -> Category {
        guard let object = value.asObject else {
            throw WireError(.invalid, "a category must be an object", field: "categories")
        }
        if !isFree { try checkMembers(of: object) }
        let id = try PlaceReader.id(object["id"], "id")
        let name = try Parameters(object).string("name", characters: 1...256)
        var category = Category(id: id, name: name)
        if let parent = object["parentId"], parent != .null { category.parentID = try PlaceReader.id(parent, "parentId") }
        return category
    }

    private static func checkMembers(of object: JSONObject) throws(WireError) {
        let own = ["id", "name", "parentId"]
        // What `category/list` shows may come back.
        guard let unknown = object.keys.first(where: { !own.contains($0) && !["owner", "revision"].contains($0) }) else { return }
        let shown = String(unknown.prefix(64))
        let advice = Nearness.advice(on: unknown, of: own, else: "it has")
        throw WireError(.invalid, "`\(shown)` is no member of a category; \(advice)", field: shown)
    }

    /// What a refusal calls it; nil where it has no id.
    static func shownID(of value: JSONValue) -> String? { PlaceReader.shownID(value.asObject?["id"]) }
}

extension Category {
    /// `{"id","name","parentId"?,"owner"?,"revision"?}`
    func encodeMembers(into writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("name", name)
        writer.member("parentId", optional: parentID)
        writer.member("owner", optional: owner)
        writer.member("revision", optional: revision)
    }

    func encoded() -> [UInt8] { JSONWriter.object(encodeMembers) }

    /// What its revision covers.
    func content() -> [UInt8] {
        var copy = self
        copy.owner = nil
        copy.revision = nil
        return copy.encoded()
    }
}
