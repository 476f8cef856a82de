import Wire

/// What OpenStreetMap says of one place, as the daemon wants it.
///
/// Understood are features whose properties are the tags (as `osmium export` and overpass turbo write them), or hold them in
/// `tags`. The main keys become a tree of two levels: `amenity=cafe` below `amenity`; `yes` means the key alone. A chain is
/// known by its `brand:wikidata`, else by its `brand`. Source: the map features of wiki.openstreetmap.org.
struct OSMPlace {
    private let geometry: JSONValue
    private var properties: JSONObject
    /// What names the brand, and its Wikidata item.
    let brand: String?
    let brandItem: String?
    /// Which feature of the input it is.
    var number = 0
    /// Its categories, those above before those below.
    var categories: [Category]

    struct Category: Equatable {
        var id: String
        var name: String
        var parentID: String?

        var object: JSONValue {
            var object: JSONObject = ["id": .string(id), "name": .string(name)]
            if let parentID { object["parentId"] = .string(parentID) }
            return .object(object)
        }
    }

    /// Keys that say what a place is.
    static let keys = [
        "amenity", "shop", "tourism", "leisure", "historic", "office", "craft", "healthcare", "sport", "emergency", "aeroway",
        "railway", "public_transport",
    ]
    /// Of these keys only some values are places.
    private static let values = [
        "railway": ["station", "halt", "tram_stop", "subway_entrance"], "public_transport": ["station"],
        "aeroway": ["aerodrome", "terminal", "heliport", "gate"],
    ]

    /// nil for a feature that is no place: a building, a street.
    init?(_ value: JSONValue) {
        guard let properties = value.member("properties")?.asObject else { return nil }
        let tags = Tags(properties)
        categories = Self.categories(of: tags)
        guard !categories.isEmpty else { return nil }
        brandItem = Self.chain(of: tags, ["brand:wikidata", "chain_wikidata"])
        brand = Self.chain(of: tags, ["brand", "chain"])
        geometry = value.member("geometry") ?? .null
        var own = JSONObject()
        own["id"] = value.member("id") ?? Self.id(properties)
        own["name"] = (tags["name"] ?? tags["brand"]).map { .string(Self.cut($0, 256)) }
        // What is above follows from what is below.
        let above = Set(categories.compactMap { $0.parentID })
        own["categoryIds"] = .array(categories.map(\.id).filter { !above.contains($0) }.map { .string($0) })
        own["chainId"] = (brandItem ?? brand).map { .string($0) }
        own["openingHours"] = tags["opening_hours"].map { .string($0) }
        self.properties = own
    }

    /// A GeoJSON feature with the properties of a place.
    var feature: JSONValue { .object(["type": "Feature", "properties": .object(properties), "geometry": geometry]) }

    var id: JSONValue? { properties["id"] }

    var chainID: String? {
        get { properties["chainId"]?.asString }
        set { properties["chainId"] = newValue.map { .string($0) } }
    }

    private struct Tags {
        private let outer: JSONObject
        private let inner: JSONObject?

        init(_ properties: JSONObject) {
            outer = properties
            inner = properties["tags"]?.asObject
        }

        subscript(key: String) -> String? {
            let value = outer[key] ?? .null
            let found = value == .null ? inner?[key] : value
            guard let text = found?.asString, !text.isEmpty else { return nil }
            return text
        }
    }

    /// `node/1` of the object's type and number, as some exporters write them.
    private static func id(_ properties: JSONObject) -> JSONValue? {
        for key in ["@id", "id", "full_id"] {
            if let id = properties[key], id != .null { return id }
        }
        guard let number = properties["osm_id"]?.asInt64 ?? properties["@osm_id"]?.asInt64 else { return nil }
        let type = properties["osm_type"]?.asString ?? properties["@type"]?.asString
        return .string(type.map { "\($0)/\(number)" } ?? "\(number)")
    }

    private static func chain(of tags: Tags, _ keys: [String]) -> String? {
        for key in keys {
            if let id = tags[key], (1...128).contains(id.utf8.count), id != "-" { return id }
        }
        return nil
    }

    private static func categories(of tags: Tags) -> [Category] {
        var found: [(key: String, value: String)] = keys.compactMap { key in tags[key].map { (key, $0) } }
        // Some extracts have the main tag as one text.
        if let main = tags["category"]?.split(separator: "=", maxSplits: 1), main.count == 2, keys.contains(String(main[0])) {
            found.append((String(main[0]), String(main[1])))
        }
        var categories: [Category] = []
        for (key, list) in found {
            for value in list.split(separator: ";").map(trimmed) where isPlace(key, value) {
                let top = Category(id: key, name: title(key), parentID: nil)
                if !categories.contains(top) { categories.append(top) }
                let id = "\(key)=\(value)"
                guard value != "yes", id.utf8.count <= 128 else { continue }
                let category = Category(id: id, name: title(value), parentID: key)
                if !categories.contains(category), categories.count < categoriesMax { categories.append(category) }
            }
        }
        return categories
    }

    private static let categoriesMax = 16

    private static func isPlace(_ key: String, _ value: String) -> Bool {
        guard !value.isEmpty, value != "no" else { return false }
        return values[key]?.contains(value) ?? true
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == " " { text = text.dropFirst() }
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }

    /// `fast_food` as `Fast food`.
    private static func title(_ value: String) -> String {
        let words = value.split(separator: "_").joined(separator: " ")
        return cut(words.prefix(1).uppercased() + words.dropFirst(), 256)
    }

    private static func cut(_ text: String, _ count: Int) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(count)))
    }
}
