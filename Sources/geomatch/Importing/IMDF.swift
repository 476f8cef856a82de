import Wire

/// Turns Apple's Indoor Mapping Data Format into the daemon's structure.
///
/// Source: Indoor Mapping Data Format 1.0.0 (OGC 20-094). Venue → venue, building → building with the outline of its ground
/// footprint, level → floor with its ordinal as the floor index, unit → room; fixtures, kiosks, amenities and occupants →
/// locations, in the room that they name. A level of several buildings is taken for the first one's.
struct IMDF {
    /// What ids become.
    enum Naming: String, CaseIterable {
        /// The feature ids of the archive (UUIDs).
        case ids
        /// Names, where they are there and distinct; else ids.
        case names
    }

    private(set) var features: [JSONValue] = []
    /// Features that were left out or changed, and why.
    private(set) var notes: [String] = []
    private let naming: Naming
    /// Of each feature taken so far: the ids that stand for it and what is above it, venue first.
    private var paths: [[UInt8]: [String?]] = [:]
    private var taken: Set<[UInt8]> = []
    private var venue: String?

    /// The files of an archive that are read, in the order in which they build on each other.
    static let tables = ["venue", "building", "footprint", "level", "unit", "anchor", "fixture", "kiosk", "amenity", "occupant"]
    /// Units in which nobody can be.
    private static let solid = ["structure", "opentobelow"]

    /// - Parameter tables: The features of each file, by its name without ending.
    init(_ tables: [String: [JSONValue]], naming: Naming) {
        self.naming = naming
        for value in tables["venue"] ?? [] { take(value, "venue", below: []) }
        let outlines = Self.outlines(tables["footprint"] ?? [])
        for value in tables["building"] ?? [] {
            take(value, "building", below: [venue], geometry: value.imdfID.flatMap { outlines[$0] })
        }
        for value in tables["level"] ?? [] { takeLevel(value) }
        for value in tables["unit"] ?? [] { takeUnit(value) }
        let units = Self.links(tables["anchor"] ?? [], "unit_id")
        for kind in ["fixture", "kiosk"] {
            for value in tables[kind] ?? [] { take(value, "location", below: path(value["level_id"]) ?? [venue]) }
        }
        for value in tables["amenity"] ?? [] {
            take(value, "location", below: path(value["unit_ids"]?.asArray?.first) ?? [venue])
        }
        for value in tables["occupant"] ?? [] {
            let unit = value["anchor_id"]?.asString.flatMap { units[Array($0.utf8)] }
            take(value, "location", below: path(unit) ?? [venue])
        }
    }

    private mutating func takeLevel(_ value: JSONValue) {
        let buildings = value["building_ids"]?.asArray ?? []
        if buildings.count > 1 { notes.append("level \(value.shownID) is in \(buildings.count) buildings; the first is taken") }
        take(value, "floor", below: path(buildings.first) ?? [venue, nil]) { properties in
            properties["floorIndex"] = value["ordinal"]
        }
    }

    private mutating func takeUnit(_ value: JSONValue) {
        if let category = value["category"]?.asString, Self.solid.contains(category) {
            notes.append("unit \(value.shownID) is left out: nobody is in a unit of the category \(category)")
            return
        }
        guard let floor = path(value["level_id"]) else {
            notes.append("unit \(value.shownID) is left out: its level_id names no level")
            return
        }
        take(value, "room", below: floor)
    }

    /// - Parameters:
    ///   - above: The ids of venue, building, floor and room above it, as far as they are known.
    ///   - geometry: Instead of its own.
    private mutating func take(
        _ value: JSONValue, _ level: String, below above: [String?], geometry: JSONValue? = nil,
        _ adjust: (inout JSONObject) -> Void = { _ in }
    ) {
        guard let key = value.imdfID, let id = value["id", outside: true]?.asString else {
            notes.append("a \(level) without an id is left out")
            return
        }
        let name = value.label("name") ?? value.label("alt_name") ?? value.label("short_name")
        let own = uniqueID(id, name: name, level, above)
        var properties: JSONObject = ["level": .string(level), "id": .string(own)]
        let words = ["venue", "building", "floor", "room"]
        let parents = zip(words, above).compactMap { word, id in id.map { (word, JSONValue.string($0)) } }
        if !parents.isEmpty { properties["parents"] = .object(JSONObject(parents)) }
        if let name { properties["name"] = .string(String(String.UnicodeScalarView(name.unicodeScalars.prefix(256)))) }
        adjust(&properties)
        if level == "venue" { venue = venue ?? own }
        paths[key] = above + Array(repeating: nil, count: max(0, (words.firstIndex(of: level) ?? 4) - above.count)) + [own]
        features.append(
            .object([
                "type": "Feature", "properties": .object(properties),
                "geometry": Self.usable(geometry ?? value["geometry", outside: true]),
            ]))
    }

    private mutating func uniqueID(_ id: String, name: String?, _ level: String, _ above: [String?]) -> String {
        guard naming == .names, let name, (1...128).contains(name.utf8.count), name != "-" else { return id }
        let scope = ([level] + above.map { $0 ?? "" } + [name]).joined(separator: "\u{0}")
        guard taken.insert(Array(scope.utf8)).inserted else {
            notes.append("\(level) \(PlainText.printable(name)) is there more than once; one is called \(id)")
            return id
        }
        return name
    }

    private func path(_ value: JSONValue?) -> [String?]? { value?.asString.flatMap { paths[Array($0.utf8)] } }

    /// What the daemon takes as a geometry: others, as lines of openings, are left out.
    private static func usable(_ geometry: JSONValue?) -> JSONValue {
        guard let geometry, let type = geometry.member("type")?.asString else { return .null }
        return ["Point", "Polygon", "MultiPolygon"].contains(type) ? geometry : .null
    }

    /// The outline of each building: its footprint on the ground, else its first one.
    private static func outlines(_ footprints: [JSONValue]) -> [[UInt8]: JSONValue] {
        var outlines: [[UInt8]: JSONValue] = [:]
        var grounded: Set<[UInt8]> = []
        for footprint in footprints {
            guard let geometry = footprint["geometry", outside: true] else { continue }
            let isGround = footprint["category"] == "ground"
            for building in footprint["building_ids"]?.asArray ?? [] {
                guard let id = building.asString.map({ Array($0.utf8) }) else { continue }
                if outlines[id] == nil || isGround && !grounded.contains(id) { outlines[id] = geometry }
                if isGround { grounded.insert(id) }
            }
        }
        return outlines
    }

    private static func links(_ features: [JSONValue], _ property: String) -> [[UInt8]: JSONValue] {
        var links: [[UInt8]: JSONValue] = [:]
        for feature in features { if let id = feature.imdfID { links[id] = feature[property] } }
        return links
    }
}

extension JSONValue {
    func member(_ key: String) -> JSONValue? {
        guard case .object(let object) = self, let value = object[key], value != .null else { return nil }
        return value
    }

    /// A property of a feature, or a member beside its properties; nil for `null`.
    fileprivate subscript(_ key: String, outside outside: Bool = false) -> JSONValue? {
        outside ? member(key) : member("properties")?.member(key)
    }

    fileprivate var imdfID: [UInt8]? { self["id", outside: true]?.asString.map { Array($0.utf8) } }
    fileprivate var shownID: String { PlainText.printable(self["id", outside: true]?.asString ?? "without an id") }

    /// A text in several languages: English where it is there, else the first in the order of language tags.
    fileprivate func label(_ key: String) -> String? {
        guard case .object(let labels)? = self[key] else { return nil }
        if let english = labels["en"]?.asString { return english }
        return labels.members.sorted { $0.key < $1.key }.lazy.compactMap { $0.value.asString }.first
    }
}
