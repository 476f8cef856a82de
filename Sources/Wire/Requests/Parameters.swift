/// Typed access to the parameters of a request.
///
/// Each reader throws `invalid` with the parameter as `field` and a sentence that says the rule and the value that broke
/// it. `null` counts as absent; ``isNull(_:)`` distinguishes it, for updates that remove a value. Names that a request does not
/// know are refused before, by its ``RequestDescription``.
public struct Parameters: Sendable {
    public let object: JSONObject
    /// The prefix of the names of parameters in `field`: empty, or the way to a nested object with its dot.
    public let path: String

    public init(_ object: JSONObject, path: String = "") {
        self.object = object
        self.path = path
    }

    /// The value as it was sent; nil where it is absent or `null`.
    public func value(_ key: String) -> JSONValue? {
        guard let value = object[key], value != .null else { return nil }
        return value
    }

    /// Whether the parameter was sent, be it `null`.
    public func has(_ key: String) -> Bool { object[key] != nil }

    /// Whether the parameter was sent as `null`, which removes a value.
    public func isNull(_ key: String) -> Bool { object[key] == .null }

    /// The error that a parameter breaks a rule: ``error("range", "must be from 1 to 5000 metres", value)``.
    public func error(_ key: String, _ rule: String, not value: JSONValue? = nil) -> WireError {
        let found = value.map { ", not \($0.shown)" } ?? ""
        return WireError(.invalid, "`\(path)\(key)` \(rule)\(found)", field: path + key)
    }

    /// The error that a required parameter is absent.
    public func missing(_ key: String) -> WireError { error(key, "is required") }

    func required<Value>(_ key: String, _ value: Value?) throws(WireError) -> Value {
        guard let value else { throw missing(key) }
        return value
    }
}

extension String {
    /// So many scalars of it at most, for an error message: one character may have any number of marks.
    package func beginning(_ scalars: Int) -> String { String(String.UnicodeScalarView(unicodeScalars.prefix(scalars))) }
}

extension JSONValue {
    /// The value for an error message, cut to 40 characters.
    public var shown: String {
        switch self {
        case .object: return "an object"
        case .array: return "an array"
        default:
            let text = String(decoding: serialised(), as: UTF8.self)
            guard text.unicodeScalars.count > 40 else { return text }
            return String(String.UnicodeScalarView(text.unicodeScalars.prefix(40))) + "…"
        }
    }
}
