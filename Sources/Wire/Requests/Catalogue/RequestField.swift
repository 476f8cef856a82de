/// One parameter of a request: what checks, help and error messages say of it.
public struct RequestField: Sendable {
    /// What may be inside the value.
    public enum Content: Sendable {
        /// Nothing is said of it here: a plain value, or an object with its own rules.
        case any
        /// An object with these members only.
        case object([RequestField])
        /// An area: an object with these members only, or a GeoJSON geometry, see ``geometry``.
        case area([RequestField])
        /// An array of objects with these members only.
        case list([RequestField])
    }

    /// The members of an area that is a GeoJSON geometry. Another one, such as `circle`, would be meant to change it.
    public static let geometry = [
        RequestField("type", "Polygon or MultiPolygon", required: true), RequestField("coordinates", "rings", required: true),
        // Tools write them; they are not looked at.
        RequestField("bbox", "GeoJSON's own"), RequestField("crs", "of GeoJSON before RFC 7946"),
    ]

    public let name: String
    /// Type, limits and default, in words.
    public let takes: String
    public let isRequired: Bool
    public let content: Content
    /// Other names that mean the same.
    public let aliases: [String]
    /// What the requests that take it check.
    public let limits: ValueLimits

    public init(
        _ name: String, _ takes: String, required: Bool = false, _ content: Content = .any, aliases: [String] = [],
        limits: ValueLimits = .none
    ) {
        self.limits = limits
        self.name = name
        self.takes = takes
        isRequired = required
        self.content = content
        self.aliases = aliases
    }
}

/// What a request takes, for checks and for help.
public struct RequestDescription: Sendable {
    /// `resource/verb`.
    public let name: String
    /// One sentence.
    public let abstract: String
    public let fields: [RequestField]
    /// The words behind `geomatch` of a command that works.
    public let example: String

    init(_ name: String, _ abstract: String, _ fields: [RequestField], example: String) {
        self.name = name
        self.abstract = abstract
        self.fields = fields
        self.example = example
    }

    public var resource: Substring { name.prefix { $0 != "/" } }
    public var verb: Substring { name.drop { $0 != "/" }.dropFirst() }

    /// - Throws: `invalid` for the first member that the request does not know, with the nearest name that it does.
    public func check(_ parameters: JSONObject) throws(WireError) {
        try Self.check(parameters, fields, path: "", of: name)
    }

    private static func check(
        _ object: JSONObject, _ fields: [RequestField], path: String, of name: String
    ) throws(WireError) {
        for member in object.members {
            guard let field = fields.first(where: { $0.name == member.key || $0.aliases.contains(member.key) }) else {
                throw unknown(member.key, fields, path: path, of: name)
            }
            let below = "\(path)\(member.key)"
            switch (field.content, member.value) {
            case (.object(let fields), .object(let inner)): try check(inner, fields, path: "\(below).", of: name)
            case (.area(let fields), .object(let inner)):
                let kind = inner["type"]
                // Another `type` is refused for what it is, where the area is read.
                guard kind == nil || kind == "Polygon" || kind == "MultiPolygon" else { break }
                try check(inner, kind == nil ? fields : RequestField.geometry, path: "\(below).", of: name)
            case (.list(let fields), .array(let elements)):
                for (index, element) in elements.enumerated() {
                    if let inner = element.asObject { try check(inner, fields, path: "\(below)[\(index)].", of: name) }
                }
            default: break
            }
        }
    }

    private static func unknown(_ key: String, _ fields: [RequestField], path: String, of name: String) -> WireError {
        let names = fields.flatMap { [$0.name] + $0.aliases }
        let shown = String(String.UnicodeScalarView(key.unicodeScalars.prefix(64)))
        let advice =
            Nearness.nearest(to: key, of: names).map { "did you mean `\(path)\($0)`?" }
            ?? (fields.isEmpty
                ? "it takes none" : "it takes " + fields.map { "`\(path)\($0.name)`" }.joined(separator: ", "))
        return WireError(.invalid, "`\(path)\(shown)` is no parameter of `\(name)`; \(advice)", field: path + shown)
    }
}
