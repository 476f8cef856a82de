internal import Foundation
internal import Wire

/// Reads the members of an answer; what does not follow the contract throws `malformed` with its name.
struct ObjectReader {
    let object: JSONObject

    init(_ object: JSONObject) { self.object = object }

    init(_ value: JSONValue?, _ name: String) throws(GeomatchError) {
        guard let object = value?.asObject else { throw .malformed(name, "is not an object") }
        self.object = object
    }

    func string(_ key: String) throws(GeomatchError) -> String {
        guard let text = object[key]?.asString else { throw .malformed(key, "is not a string") }
        return text
    }

    func optionalString(_ key: String) -> String? { object[key]?.asString }

    func number(_ key: String) throws(GeomatchError) -> Double {
        guard let number = object[key]?.asDouble else { throw .malformed(key, "is not a number") }
        return number
    }

    func optionalNumber(_ key: String) -> Double? { object[key]?.asDouble }

    func flag(_ key: String) -> Bool { object[key]?.asBool ?? false }

    func strings(_ key: String) -> [String] { (object[key]?.asArray ?? []).compactMap(\.asString) }

    /// From milliseconds since 1970 UTC.
    func date(_ key: String) throws(GeomatchError) -> Date {
        guard let date = optionalDate(key) else { throw .malformed(key, "is not a number of milliseconds") }
        return date
    }

    func optionalDate(_ key: String) -> Date? {
        object[key]?.asDouble.map { Date(timeIntervalSince1970: $0 / 1000) }
    }

    func properties(_ key: String) throws(GeomatchError) -> [String: PropertyValue] {
        guard let members = object[key]?.asObject else { throw .malformed(key, "is not an object") }
        return PropertyValue.members(of: members)
    }

    func elements(_ key: String) throws(GeomatchError) -> [JSONValue] {
        guard let elements = object[key]?.asArray else { throw .malformed(key, "is not an array") }
        return elements
    }
}
