import Wire

/// An error as a line for people: `invalid (400) selector 4: …`.
enum ErrorText {
    /// - Parameter error: The `error` of a reply.
    static func of(_ error: JSONValue) -> String {
        guard case .object(let object) = error else { return PlainText.of(error) }
        var text = object["error"].map(PlainText.of) ?? "error"
        if let code = object["code"] { text += " (\(PlainText.of(code)))" }
        if let field = object["field"] { text += " \(PlainText.of(field))" }
        if let position = object["position"] { text += " \(PlainText.of(position))" }
        return text + ": " + (object["message"].map(PlainText.of) ?? "")
    }

    static func of(_ error: JSONValue, asJSON: Bool) -> String {
        asJSON ? String(decoding: error.serialised(), as: UTF8.self) : of(error)
    }

    static func of(_ error: WireError, asJSON: Bool) -> String {
        var writer = JSONWriter()
        error.encode(into: &writer)
        guard !asJSON, let value = try? JSONValue.parse(writer.bytes) else {
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        return of(value)
    }
}
