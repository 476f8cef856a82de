internal import Wire

/// A JSON value, as properties of live updates and publications and the parameters of requests are made of.
///
/// Literals make one: `["kind": "espresso", "price": 3, "hot": true]`.
public enum PropertyValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number with a fraction or an exponent.
    case number(Double)
    case string(String)
    case array([PropertyValue])
    /// Of two keys that Swift regards as equal (composed and decomposed characters) the last one counts.
    case object([String: PropertyValue])

    /// The text; nil for anything else.
    public var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The value of any number.
    public var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The value of a whole number, also of one written `7.0`.
    public var intValue: Int? {
        switch self {
        case .integer(let value): Int(exactly: value)
        case .number(let value): Int(exactly: value)
        default: nil
        }
    }

    public var arrayValue: [PropertyValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    public var objectValue: [String: PropertyValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The member of an object; nil where there is none.
    public subscript(key: String) -> PropertyValue? { objectValue?[key] }
}

extension PropertyValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(nilLiteral: ()) { self = .null }
    public init(arrayLiteral elements: PropertyValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, PropertyValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

extension PropertyValue {
    /// From strict JSON of at most 1 MiB and 64 levels; nil for anything else.
    public init?(json text: String) {
        guard let value = try? JSONValue.parse(text) else { return nil }
        self.init(value)
    }
}

extension PropertyValue: CustomStringConvertible {
    /// Compact JSON, keys in order.
    public var description: String { String(decoding: json.serialised(), as: UTF8.self) }
}

extension PropertyValue {
    init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .integer(value)
        case .double(let value): self = .number(value)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { PropertyValue($0) })
        case .object(let object): self = .object(Self.members(of: object))
        }
    }

    var json: JSONValue {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .integer(let value): .integer(value)
        // JSON has no name for them; `null` is what the daemon refuses by name.
        case .number(let value): value.isFinite ? .double(value) : .null
        case .string(let text): .string(text)
        case .array(let elements): .array(elements.map(\.json))
        case .object(let members): .object(Self.json(of: members))
        }
    }

    static func members(of object: JSONObject) -> [String: PropertyValue] {
        Dictionary(object.members.map { ($0.key, PropertyValue($0.value)) }) { $1 }
    }

    /// In the order of the keys, so that the same value is the same text.
    static func json(of members: [String: PropertyValue]) -> JSONObject {
        JSONObject(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
    }
}
