import Geodesy
import LiveTopics
import Places
import Wire
import Records

/// Reads one place as it is sent: a GeoJSON feature, or a place as `place/get` shows it.
///
/// The properties of a place are in `properties`, or beside them. Ids may be numbers, whose text counts.
struct PlaceReader {
    /// Whether there is a time zone of this IANA name.
    let isTimeZone: @Sendable (String) -> Bool
    /// Zones asked for so far: a city's places name the same one.
    private var zones: [String: Bool] = [:]

    private static let zonesMax = 1000
    private static let categoriesMax = 64
    private static let holidaysMax = 1000

    init(isTimeZone: @escaping @Sendable (String) -> Bool) { self.isTimeZone = isTimeZone }

    mutating func place(_ value: JSONValue) throws(WireError) -> Place {
        guard case .object(let feature) = value else { throw Self.error("type", "must be a GeoJSON Feature") }
        // Left out it is a feature all the same; a pushed document has the type of a place.
        if let type = feature["type"], type != "Feature", type != "place" { throw Self.error("type", "must be \"Feature\"") }
        let members: JSONObject?
        switch feature["properties"] {
        case .object(let object)?: members = object
        case nil, .null?: members = nil
        default: throw Self.error("properties", "must be an object")
        }
        func member(_ key: String) -> JSONValue? {
            guard let value = members?[key] ?? feature[key], value != .null else { return nil }
            return value
        }
        var place = Place(id: try Self.id(member("id"), "id"), geometry: try Self.geometry(feature["geometry"]))
        place.name = try Self.text(member("name"), "name", characters: 256)
        place.categoryIDs = try Self.categories(member("categoryIds"))
        if let chain = member("chainId") { place.chainID = try Self.id(chain, "chainId") }
        place.openingHours = try Self.hours(member("openingHours"))
        place.timeZone = try zone(member("timeZone"))
        place.placerank = try Self.rank(member("placerank"))
        place.holidays = try Self.holidays(member("holidays"))
        return place
    }

    /// What a refusal calls the feature; nil where it has no id. A text that is none is shown as far as it may be one.
    static func shownID(of value: JSONValue) -> String? {
        guard case .object(let feature) = value else { return nil }
        let inner = feature["properties"]?.asObject?["id"] ?? .null
        return shownID(inner == .null ? feature["id"] : inner)
    }

    static func shownID(_ value: JSONValue?) -> String? {
        if case .string(let text)? = value, !text.isEmpty {
            return Name.isID(text) ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(Name.idBytesMax)))
        }
        return try? id(value, "id")
    }

    static func id(_ value: JSONValue?, _ field: String) throws(WireError) -> String {
        switch value {
        case .string(let text)? where Name.isID(text): return text
        case .integer(let number)?: return String(number)
        case .double(let number)?:
            guard let whole = JSONValue.double(number).asInt64 else { throw error(field, "must be an id") }
            return String(whole)
        case nil, .null?: throw error(field, "is required")
        default: throw error(field, "must be an id: 1 to \(Name.idBytesMax) bytes, not `-`")
        }
    }

    // MARK: Properties

    private static func text(_ value: JSONValue?, _ field: String, characters: Int) throws(WireError) -> String? {
        guard let value else { return nil }
        guard let text = value.asString else { throw error(field, "must be a string") }
        guard text.unicodeScalars.count <= characters else {
            throw error(field, "must have at most \(characters) characters, not \(text.unicodeScalars.count)")
        }
        return text
    }

    /// A blank text says as little as none.
    private static func hours(_ value: JSONValue?) throws(WireError) -> String? {
        let text = try text(value, "openingHours", characters: 1 << 16)
        return text?.unicodeScalars.allSatisfy(\.properties.isWhitespace) == true ? nil : text
    }

    private static func categories(_ value: JSONValue?) throws(WireError) -> [String] {
        guard let value else { return [] }
        guard let elements = value.asArray, elements.count <= categoriesMax else {
            throw error("categoryIds", "must be an array of at most \(categoriesMax) ids")
        }
        var ids: [String] = []
        for (index, element) in elements.enumerated() {
            let id = try id(element, "categoryIds[\(index)]")
            if !ids.contains(where: { $0.hasSameBytes(as: id) }) { ids.append(id) }
        }
        return ids
    }

    private mutating func zone(_ value: JSONValue?) throws(WireError) -> String? {
        guard let value else { return nil }
        guard let name = value.asString else { throw Self.error("timeZone", "must be a string") }
        if let isKnown = zones[name], isKnown { return name }
        // The shape first: the name is looked up in the file system.
        let shaped = try Parameters(["timeZone": value]).timeZone("timeZone")
        guard shaped != nil, isTimeZone(name) else {
            throw Self.error("timeZone", "must be the name of an IANA time zone, not `\(name)`")
        }
        if zones.count < Self.zonesMax { zones[name] = true }
        return name
    }

    private static func rank(_ value: JSONValue?) throws(WireError) -> Double? {
        guard let value else { return nil }
        guard let rank = value.asDouble, rank.isFinite else { throw error("placerank", "must be a number") }
        return rank
    }

    /// `{"PH":["2026-12-25"],"SH":[["2026-07-06","2026-08-31"]]}`; a school holiday of one day may be a date alone.
    private static func holidays(_ value: JSONValue?) throws(WireError) -> Holidays {
        guard let value else { return .none }
        guard let object = value.asObject else { throw error("holidays", "must be an object of PH and SH") }
        var holidays = Holidays.none
        for (index, element) in try list(object["PH"], "holidays.PH").enumerated() {
            holidays.publicDays.append(try date(element, "holidays.PH[\(index)]"))
        }
        for (index, element) in try list(object["SH"], "holidays.SH").enumerated() {
            let field = "holidays.SH[\(index)]"
            let days = element.asArray ?? [element, element]
            guard days.count == 2 else { throw error(field, "must be a first and a last date") }
            let (first, last) = (try date(days[0], field), try date(days[1], field))
            guard first <= last else { throw error(field, "must not end before it begins: \(first) is behind \(last)") }
            holidays.schoolRanges.append(Holidays.ClosedDays(first: first, last: last))
        }
        return holidays
    }

    private static func list(_ value: JSONValue?, _ field: String) throws(WireError) -> [JSONValue] {
        guard let value, value != .null else { return [] }
        guard let elements = value.asArray, elements.count <= holidaysMax else {
            throw error(field, "must be an array of at most \(holidaysMax) entries")
        }
        return elements
    }

    private static func date(_ value: JSONValue, _ field: String) throws(WireError) -> String {
        guard let text = value.asString, isDate(Array(text.utf8)) else {
            throw error(field, "must be a date YYYY-MM-DD")
        }
        return text
    }

    private static func isDate(_ text: [UInt8]) -> Bool {
        guard text.count == 10, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-") else { return false }
        func number(_ range: Range<Int>) -> Int? {
            text[range].reduce(Optional(0)) { sum, byte in
                guard let sum, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                return sum * 10 + Int(byte - UInt8(ascii: "0"))
            }
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), (1...12).contains(month) else {
            return false
        }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...days[month - 1]).contains(day)
    }

    // MARK: Geometry

    /// A Point, a Polygon or a MultiPolygon.
    private static func geometry(_ value: JSONValue?) throws(WireError) -> PlaceGeometry {
        guard let geometry = value?.asObject else { throw error("geometry", "must be a GeoJSON geometry") }
        let coordinates = geometry["coordinates"] ?? .null
        do throws(PlaceGeometryError) {
            switch geometry["type"]?.asString {
            case "Point":
                guard let vertex = vertex(coordinates) else { throw .position }
                return try PlaceGeometry(latitude: vertex.latitude, longitude: vertex.longitude)
            case "Polygon": return try PlaceGeometry(polygons: [try rings(coordinates)])
            case "MultiPolygon":
                guard let elements = coordinates.asArray else { throw .noPolygon }
                guard elements.count <= PlaceGeometry.polygonsMax else { throw .tooManyPolygons(elements.count) }
                var polygons: [[[Area.Polygon.Vertex]]] = []
                for element in elements { polygons.append(try rings(element)) }
                return try PlaceGeometry(polygons: polygons)
            default: break
            }
        } catch {
            throw Self.error("geometry", error.message)
        }
        throw error("geometry", "must be a Point, a Polygon or a MultiPolygon")
    }

    private static func rings(_ value: JSONValue) throws(PlaceGeometryError) -> [[Area.Polygon.Vertex]] {
        guard let elements = value.asArray else { throw .noPolygon }
        var rings: [[Area.Polygon.Vertex]] = []
        for element in elements {
            guard let positions = element.asArray else { throw .position }
            var ring: [Area.Polygon.Vertex] = []
            ring.reserveCapacity(positions.count)
            for position in positions {
                guard let vertex = vertex(position) else { throw .position }
                ring.append(vertex)
            }
            rings.append(ring)
        }
        return rings
    }

    /// `[longitude, latitude, …]`; an altitude is left out.
    private static func vertex(_ value: JSONValue) -> Area.Polygon.Vertex? {
        guard let numbers = value.asArray, numbers.count >= 2, let longitude = numbers[0].asDouble,
            let latitude = numbers[1].asDouble
        else { return nil }
        return Area.Polygon.Vertex(longitude: longitude, latitude: latitude)
    }

    private static func error(_ field: String, _ rule: String) -> WireError {
        WireError(.invalid, "`\(field)` \(rule)", field: field)
    }
}
