/// A complete JSON value: what requests carry and replies are made of.
public indirect enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number with a fraction or an exponent, or an integer beyond `Int64`.
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// Parses strict JSON of at most 1 MiB and 64 levels.
    public static func parse(_ bytes: UnsafeRawBufferPointer, using parser: JSONParser = JSONParser()) throws(JSONError)
        -> JSONValue
    {
        defer { withExtendedLifetime(parser) {} }
        return JSONValue(try parser.root(of: bytes, padded: false))
    }

    /// Parses strict JSON of at most 1 MiB and 64 levels.
    public static func parse(_ bytes: [UInt8], using parser: JSONParser = JSONParser()) throws(JSONError) -> JSONValue {
        defer { withExtendedLifetime(parser) {} }
        return try bytes.withUnsafeBufferPointer { bytes throws(JSONError) in
            JSONValue(try parser.root(of: UnsafeRawBufferPointer(bytes), padded: false))
        }
    }

    /// Parses strict JSON of at most 1 MiB and 64 levels.
    public static func parse(_ text: String) throws(JSONError) -> JSONValue {
        try parse(Array(text.utf8))
    }

    /// Copies a node and all below it. The depth is bounded by the parser.
    public init(_ node: JSONNode) {
        switch node.kind {
        case .null: self = .null
        case .bool: self = .bool(node.asBool ?? false)
        case .integer: self = .integer(node.asInt64 ?? 0)
        case .double: self = .double(node.asDouble ?? 0)
        case .string: self = .string(node.asString ?? "")
        case .array: self = .array(node.elements.map { JSONValue($0) })
        case .object: self = .object(JSONObject(node.members.lazy.map { ($0.asString ?? "", JSONValue($1)) }))
        }
    }

    /// The value as compact JSON.
    public func serialised() -> [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }

    public var asString: String? {
        if case .string(let text) = self { text } else { nil }
    }

    public var asBool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The value of any number.
    public var asDouble: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The value of a whole number, also of one written `7.0`.
    public var asInt64: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): value.whole
        default: nil
        }
    }

    public var asArray: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    public var asObject: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(nilLiteral: ()) { self = .null }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}
