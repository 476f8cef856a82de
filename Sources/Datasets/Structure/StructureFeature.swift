import LiveTopics
import Wire
import Records

/// One feature of an imported structure, read and checked by itself.
///
/// `level`, `id`, `parents`, `name`, `floorIndex` and `capacity` are in its `properties`, or beside them. `id` may be a
/// number, whose text counts.
struct StructureFeature {
    var level: StructureLevel
    var id: String
    var parents: Parents
    var name: String?
    var floorIndex: Int?
    var capacity: Int?
    var geometry: String?
    var outline: Outline?

    /// The levels above as they were named.
    enum Parents {
        /// By level: `{"venue":"v","building":"b"}`. As many as there are levels above, `-` for those left out.
        case named([String])
        /// In order, from the top: `["v","b"]`.
        case listed([String])
    }

    init(_ value: JSONValue) throws(WireError) {
        guard case .object(let feature) = value else { throw Self.error("type", "must be a GeoJSON Feature") }
        guard feature["type"] == .string("Feature") else { throw Self.error("type", "must be \"Feature\"") }
        let members: JSONObject
        switch feature["properties"] {
        case .object(let object)?: members = object
        case nil, .null?: members = JSONObject()
        default: throw Self.error("properties", "must be an object")
        }
        var merged = JSONObject()
        for key in ["level", "parents", "name", "floorIndex", "capacity"] { merged[key] = members[key] ?? feature[key] }
        let parameters = Parameters(merged)
        let words = StructureLevel.allCases.map(\.rawValue)
        guard let level = StructureLevel(rawValue: try parameters.word("level", of: words)) else {
            throw parameters.missing("level")
        }
        self.level = level
        id = try Self.id(members["id"] ?? feature["id"], "id")
        parents = try Self.parents(parameters.value("parents"), of: level)
        name = try parameters.optionalString("name", characters: 0...256)
        floorIndex = try parameters.optionalInteger("floorIndex", in: -1000...1000)
        capacity = try parameters.optionalInteger("capacity", in: 0...Int(Int32.max))
        outline = try Outline(geometry: feature["geometry"])
        if let geometry = feature["geometry"], geometry != .null {
            self.geometry = String(decoding: geometry.serialised(), as: UTF8.self)
        }
    }

    /// What a refusal calls the feature; nil where it has no id.
    static func shownID(of value: JSONValue) -> String? {
        guard case .object(let feature) = value else { return nil }
        let inner = feature["properties"]?.asObject?["id"]
        return (try? id(inner ?? feature["id"], "id"))
    }

    private static func id(_ value: JSONValue?, _ field: String) throws(WireError) -> String {
        switch value {
        case .string(let text)? where Name.isID(text): return text
        case .integer(let number)?: return String(number)
        case nil, .null?: throw error(field, "is required")
        default: throw error(field, "must be an id: 1 to \(Name.idBytesMax) bytes, not `-`")
        }
    }

    static func parents(_ value: JSONValue?, of level: StructureLevel) throws(WireError) -> Parents {
        switch value {
        case nil: return .named(Array(repeating: LiveTopic.notApplicable, count: level.depth))
        case .object(let object)?:
            var parents = Array(repeating: LiveTopic.notApplicable, count: level.depth)
            for member in object.members where member.value != .null {
                guard let above = StructureLevel(rawValue: member.key), above.depth < level.depth else {
                    throw error("parents.\(member.key.prefix(40))", "is no level above a \(level.rawValue)")
                }
                parents[above.depth] = try parent(member.value, "parents.\(member.key)")
            }
            return .named(parents)
        case .array(let elements)?:
            guard elements.count <= level.depth else {
                throw error("parents", "must have at most \(level.depth) ids, from the venue on, not \(elements.count)")
            }
            var parents: [String] = []
            for (index, element) in elements.enumerated() { parents.append(try parent(element, "parents[\(index)]")) }
            return .listed(parents)
        default: throw error("parents", "must be an object of levels or an array of ids")
        }
    }

    private static func parent(_ value: JSONValue, _ field: String) throws(WireError) -> String {
        value == .null || value == .string(LiveTopic.notApplicable) ? LiveTopic.notApplicable : try id(value, field)
    }

    private static func error(_ field: String, _ rule: String) -> WireError {
        WireError(.invalid, "`\(field)` \(rule)", field: field)
    }
}
