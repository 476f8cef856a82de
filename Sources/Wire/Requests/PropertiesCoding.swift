import Selectors

/// The `properties` of a publication.
public enum PropertiesCoding {
    /// The most properties one publication has.
    public static let entriesMax = 64
    /// The most bytes that a string has.
    public static let stringBytesMax = 4096
    /// The most bytes that all have, as JSON.
    public static let bytesMax = 16 << 10

    /// Reads an object of at most 64 strings, numbers, booleans and arrays of those; absent or `null` is none.
    public static func decode(_ value: JSONValue?) throws(WireError) -> Properties {
        guard let value, value != .null else { return .none }
        guard case .object(let object) = value else { throw error("must be an object, not \(value.shown)") }
        var pairs: [(name: String, value: PropertyValue)] = []
        pairs.reserveCapacity(object.count)
        // `null` says nothing, as in a live update.
        for member in object.members where member.value != .null {
            pairs.append((member.key, try property(member.value, of: member.key)))
        }
        guard pairs.count <= entriesMax else { throw error("must have at most \(entriesMax) entries, not \(pairs.count)") }
        return Properties(pairs)
    }

    /// Refuses what is too long for a new publication.
    public static func checkLength(_ properties: Properties) throws(WireError) {
        for (name, value) in properties.entries {
            guard value.longestString <= stringBytesMax else {
                throw error(
                    "may hold strings of at most \(stringBytesMax) bytes; \(JSONValue.string(name).shown) holds one of \(value.longestString)"
                )
            }
        }
        let count = encode(properties).count
        guard count <= bytesMax else { throw error("must have at most \(bytesMax) bytes, not \(count)") }
    }

    /// The properties as a JSON object, in the order they were given.
    public static func encode(_ properties: Properties) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in properties.entries {
            writer.key(name)
            writer.property(value)
        }
        writer.endObject()
        return writer.bytes
    }

    private static func property(_ value: JSONValue, of name: String) throws(WireError) -> PropertyValue {
        if let scalar = scalar(value) { return scalar }
        guard case .array(let elements) = value else { throw wrongType(value, of: name) }
        var scalars: [PropertyValue] = []
        scalars.reserveCapacity(elements.count)
        for element in elements {
            guard let scalar = scalar(element) else { throw wrongType(element, of: name) }
            scalars.append(scalar)
        }
        return .array(scalars)
    }

    private static func scalar(_ value: JSONValue) -> PropertyValue? {
        switch value {
        case .bool(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .double(let value): .double(value)
        case .string(let text): .string(text)
        case .null, .array, .object: nil
        }
    }

    private static func wrongType(_ value: JSONValue, of name: String) -> WireError {
        error("may hold strings, numbers, booleans and arrays of those; \(JSONValue.string(name).shown) holds \(value.shown)")
    }

    private static func error(_ rule: String) -> WireError {
        WireError(.invalid, "`properties` \(rule)", field: "properties")
    }
}

extension PropertyValue {
    /// Bytes; 0 where there is none.
    fileprivate var longestString: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .array(let elements): elements.reduce(0) { max($0, $1.longestString) }
        case .boolean, .integer, .double: 0
        }
    }
}

extension JSONWriter {
    fileprivate mutating func property(_ value: PropertyValue) {
        switch value {
        case .boolean(let value): bool(value)
        case .integer(let value): integer(value)
        case .double(let value): double(value)
        case .string(let text): string(text)
        case .array(let elements):
            beginArray()
            for element in elements { property(element) }
            endArray()
        }
    }
}
