import Wire

/// JSON for people: two spaces for each level, and what is short on one line.
enum PrettyJSON {
    private static let lineMax = 100

    static func text(_ value: JSONValue) -> String {
        var text = ""
        append(value, indent: 0, to: &text)
        return text
    }

    // The depth is bounded by the parser, at 64.
    private static func append(_ value: JSONValue, indent: Int, to text: inout String) {
        let margin = String(repeating: " ", count: indent + 2)
        switch value {
        case .array(let elements) where !elements.isEmpty && !fits(value, indent):
            text += "[\n"
            for (index, element) in elements.enumerated() {
                text += margin
                append(element, indent: indent + 2, to: &text)
                text += index + 1 < elements.count ? ",\n" : "\n"
            }
            text += margin.dropLast(2) + "]"
        case .object(let object) where !object.isEmpty && (indent == 0 || !fits(value, indent)):
            text += "{\n"
            for (index, member) in object.members.enumerated() {
                text += margin + compact(.string(member.key)) + ": "
                append(member.value, indent: indent + 2, to: &text)
                text += index + 1 < object.count ? ",\n" : "\n"
            }
            text += margin.dropLast(2) + "}"
        default:
            text += compact(value)
        }
    }

    private static func fits(_ value: JSONValue, _ indent: Int) -> Bool {
        indent + compact(value).utf8.count <= lineMax
    }

    private static func compact(_ value: JSONValue) -> String {
        PlainText.printable(String(decoding: value.serialised(), as: UTF8.self))
    }
}
