/// How far a payload may differ from the native type of a property: numbers and booleans also arrive as text.
extension JSONNode {
    /// A number, or the text of one.
    var number: Double? {
        kind == .string ? NumberText.double(utf8) : asDouble
    }

    /// A whole number, also written `7.0`, or the text of one.
    var wholeNumber: Int64? {
        switch kind {
        case .integer: asInt64
        case .double: asDouble?.whole
        case .string: NumberText.integer(utf8)
        default: nil
        }
    }

    /// `true`, `false` or the text of one; 1 and 0 are numbers.
    var truth: Bool? {
        if isEqual(to: "true") { return true }
        if isEqual(to: "false") { return false }
        return asBool
    }

    /// Whether a property of this value can be in a free domain: a scalar or an array of scalars.
    var isPlain: Bool {
        switch kind {
        case .object: false
        case .array: elements.allSatisfy { !$0.isContainer }
        default: true
        }
    }

    /// The value for an error message, cut to 40 characters.
    var shown: String {
        switch kind {
        case .object: return "an object"
        case .array: return "an array"
        default:
            var writer = JSONWriter()
            writer.scalar(self)
            let text = String(decoding: writer.bytes, as: UTF8.self)
            guard text.unicodeScalars.count > Self.shownMax else { return text }
            return String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.shownMax))) + "…"
        }
    }

    private static let shownMax = 40

    /// The error that this value breaks a rule, as in "`latitude` must be a number, not "north"".
    func error(_ field: String, _ rule: String) -> WireError {
        WireError(.invalid, "`\(field)` must be \(rule), not \(shown)", field: field)
    }

    /// A number, or the error that it is none.
    func number(_ field: @autoclosure () -> String) throws(WireError) -> Double {
        guard let number else { throw error(field(), "a number") }
        return number
    }

    /// Milliseconds since 1970 UTC from a number, its text or RFC 3339 text.
    ///
    /// - Parameter secondsBelow: Numbers below this count seconds.
    func instant(_ field: @autoclosure () -> String, secondsBelow limit: Double) throws(WireError) -> Int64 {
        if kind == .string, let milliseconds = InstantText.milliseconds(utf8) {
            guard milliseconds >= 0 else { throw error(field(), "an instant from 1970 on") }
            return milliseconds
        }
        guard let number else {
            throw error(field(), "milliseconds since 1970 UTC or RFC 3339 text with a zone")
        }
        let milliseconds = number < limit ? number * 1000 : number
        guard milliseconds >= 0, milliseconds <= Self.instantMax else {
            throw error(field(), "an instant from 1970 on, in milliseconds")
        }
        return Int64(milliseconds)
    }

    /// The last instant that ECMAScript dates can say (ECMA-262, section "Time Values and Time Range"). What lies
    /// beyond is no clock that runs ahead but another unit.
    private static let instantMax = 8.64e15
}

extension JSONWriter {
    /// A value that is no container.
    mutating func scalar(_ node: JSONNode) {
        switch node.kind {
        case .bool: bool(node.asBool ?? false)
        case .integer: integer(node.asInt64 ?? 0)
        case .double: double(node.asDouble ?? 0)
        case .string: string(utf8: node.utf8)
        default: null()
        }
    }

    /// A scalar, or an array of scalars.
    mutating func plain(_ node: JSONNode) {
        guard node.kind == .array else { return scalar(node) }
        beginArray()
        for element in node.elements { scalar(element) }
        endArray()
    }
}
