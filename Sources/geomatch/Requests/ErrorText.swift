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

    static func of(_ error: JSONValue, asJSON: Bool) -> String {
        asJSON ? String(decoding: error.serialised(), as: UTF8.self) : of(error)
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

    static func of(_ error: WireError, asJSON: Bool) -> String {
        var writer = JSONWriter()
        error.encode(into: &writer)
        guard !asJSON, let value = try? JSONValue.parse(writer.bytes) else {
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        return of(value)
    }
}
