import Places
import Wire
import Records

/// Reads one category as it is sent: `{"id","name","parentId"?}`.
enum CategoryReader {
    static func category(_ value: JSONValue) throws(WireError) -> Category {
        guard let object = value.asObject else {
            throw WireError(.invalid, "a category must be an object", field: "categories")
        }
        let id = try PlaceReader.id(object["id"], "id")
        let name = try Parameters(object).string("name", characters: 1...256)
        var category = Category(id: id, name: name)
        if let parent = object["parentId"], parent != .null { category.parentID = try PlaceReader.id(parent, "parentId") }
        return category
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
