/// What adapters look for in payloads.
extension JSONNode {
    /// The value of a member unless it is absent or `null`.
    func given(_ key: String) -> JSONNode? {
        self[key].flatMap { $0.kind == .null ? nil : $0 }
    }

    /// The first of several members that is there, and its key.
    func first(of keys: [String]) -> (key: String, value: JSONNode)? {
        for key in keys {
            if let value = given(key) { return (key, value) }
        }
        return nil
    }

    /// A member that must be an object where it is there.
    func object(_ key: String, path: String = "") throws(WireError) -> JSONNode? {
        guard let value = given(key) else { return nil }
        guard value.kind == .object else { throw value.error(path + key, "an object") }
        return value
    }

    /// A member that must be a number, or the text of one, where it is there.
    func number(of key: String, path: String = "") throws(WireError) -> Double? {
        try given(key)?.number(path + key)
    }

    /// A number that means something from 0 on; what is below says that there is none.
    func magnitude(of key: String, path: String = "") throws(WireError) -> Double? {
        guard let number = try number(of: key, path: path), number >= 0 else { return nil }
        return number
    }

    /// An accuracy; one of exactly 0 was not measured.
    func accuracy(of key: String, path: String = "") throws(WireError) -> Double? {
        guard let number = try number(of: key, path: path), number > 0 else { return nil }
        return number
    }

    /// The text of a string or a number that serves as an id; nil for anything else.
    var idText: String? {
        switch kind {
        case .string: asString
        case .integer: asInt64.map { String($0) }
        case .double: asDouble?.whole.map { String($0) }
        default: nil
        }
    }

    /// A member's id.
    func id(of key: String, path: String = "") throws(WireError) -> String? {
        guard let value = given(key) else { return nil }
        guard let id = value.idText, !id.isEmpty else { throw value.error(path + key, "an id") }
        return id
    }

    /// When it was: seconds or milliseconds since 1970 UTC (below 10^11 they are seconds), their text, or RFC 3339, whose
    /// zone also comes without its colon from some (`+0000`).
    func instant(of key: String, path: String = "") throws(WireError) -> Int64? {
        guard let value = given(key) else { return nil }
        if value.kind == .string, let milliseconds = InstantText.millisecondsWithBareZone(value.utf8) { return milliseconds }
        return try value.instant(path + key, secondsBelow: Self.secondsBelow)
    }

    /// In seconds the year 5138, in milliseconds 1973: no device means either.
    private static let secondsBelow = 1e11

    /// Whether a string is this text.
    func hasText(_ text: String) -> Bool {
        kind == .string && utf8.elementsEqual(text.utf8)
    }
}

extension InstantText {
    /// Milliseconds of text that ends in a zone without a colon; nil for any other.
    fileprivate static func millisecondsWithBareZone(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard text.count > 5, text.count < 64 else { return nil }
        let sign = text[text.count - 5]
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
        var bytes = Array(text)
        bytes.insert(UInt8(ascii: ":"), at: bytes.count - 2)
        return bytes.withUnsafeBufferPointer { milliseconds($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}

extension WireError {
    static func missing(_ field: String) -> WireError {
        WireError(.invalid, "`\(field)` is required", field: field)
    }
}
