import GeomatchClient
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

    /// - Parameter parameters: Those it is about: an expression among them is shown with a caret under its mistake.
    static func of(_ error: JSONValue, in parameters: JSONObject = [:], asJSON: Bool) -> String {
        if asJSON { return String(decoding: error.serialised(), as: UTF8.self) }
        guard let field = error.member("field")?.asString, let text = parameters[field]?.asString,
            let position = error.member("position")?.asInt64.flatMap({ Int(exactly: $0) })
        else { return of(error) }
        return of(error) + "\n" + Caret.text(in: text, at: position)
    }

    /// - Parameter error: One that the daemon answered.
    static func of(_ error: GeomatchError) -> String {
        var object: JSONObject = [
            "error": .string(error.kind.rawValue), "code": .integer(Int64(error.code)), "message": .string(error.message),
        ]
        object["field"] = error.field.map { .string($0) }
        object["position"] = error.position.map { .integer(Int64($0)) }
        return of(.object(object))
    }

    static func of(_ error: WireError, in parameters: JSONObject = [:], asJSON: Bool) -> String {
        var writer = JSONWriter()
        error.encode(into: &writer)
        guard !asJSON, let value = try? JSONValue.parse(writer.bytes) else {
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        return of(value, in: parameters, asJSON: false)
    }
}
