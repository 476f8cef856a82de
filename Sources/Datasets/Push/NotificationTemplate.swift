import Wire

/// The text of a notification with placeholders: `{properties.NAME}`, `{distance}`, `{topic}`, `{device}`.
struct NotificationTemplate: Equatable {
    var title: String?
    var body: String?

    /// What is filled in.
    struct Values {
        var properties: JSONObject?
        /// Metres.
        var distance: Double?
        var topic: String?
        var device: String
    }

    init(title: String? = nil, body: String? = nil) {
        self.title = title
        self.body = body
    }

    /// - Parameter stored: `{"title","body"}` as a request brought it.
    /// - Returns: nil where it has neither.
    init?(stored: String?) {
        guard let stored, let object = (try? JSONValue.parse(stored))?.asObject else { return nil }
        title = object["title"]?.asString
        body = object["body"]?.asString
        if title == nil, body == nil { return nil }
    }

    /// The text with its values; what there is no value for is left out, and what is no placeholder stays.
    func filled(with values: Values) -> Self {
        Self(
            title: title.map { Self.fill($0, values, characters: Self.titleMax) },
            body: body.map { Self.fill($0, values, characters: Self.bodyMax) })
    }

    private static let titleMax = 256
    private static let bodyMax = 1024

    private static func fill(_ template: String, _ values: Values, characters: Int) -> String {
        var text = ""
        var rest = template[...]
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")) {
            let name = rest[rest.utf8.index(after: open)...]
            guard let end = name.utf8.firstIndex(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) else { break }
            // What another brace follows is no placeholder: so a text is gone through once, whatever it is.
            guard name.utf8[end] == UInt8(ascii: "}"), let value = values.value(of: name[..<end]) else {
                text += rest[..<end]
                rest = rest[end...]
                continue
            }
            text += rest[..<open]
            text += value
            rest = name[name.utf8.index(after: end)...]
        }
        text += rest
        guard text.unicodeScalars.count > characters else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(characters - 1))) + "…"
    }
}

extension NotificationTemplate.Values {
    /// - Returns: nil where it is no placeholder; empty where there is nothing to say.
    fileprivate func value(of name: Substring) -> String? {
        switch name {
        case "distance": distance.map { "\(Int64($0.rounded()))" } ?? ""
        case "topic": topic ?? ""
        case "device": device
        default:
            name.hasPrefix("properties.") ? Self.text(of: properties?[String(name.dropFirst("properties.".count))]) : nil
        }
    }

    /// A property as a person would write it.
    private static func text(of value: JSONValue?) -> String {
        switch value {
        case .string(let text): text
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): "\(value)"
        case .double(let value): value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
        case .array(let values): values.map { text(of: $0) }.joined(separator: ", ")
        case .null, .object, nil: ""
        }
    }
}
