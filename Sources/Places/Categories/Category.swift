/// A kind of places.
public struct Category: Equatable, Sendable {
    /// 1…128 bytes, compared by its bytes.
    public var id: String
    public var name: String
    /// The kind it is a part of, which need not be declared.
    public var parentID: String?
    /// Who declared it first; nil: nobody in particular.
    public var owner: String?
    public var revision: String?

    public init(id: String, name: String, parentID: String? = nil, owner: String? = nil, revision: String? = nil) {
        self.id = id
        self.name = name
        self.parentID = parentID
        self.owner = owner
        self.revision = revision
    }
}

/// Why categories were not taken. Nothing was changed.
public enum CategoryError: Error, Equatable, Sendable {
    /// These are each other's descendants: from one of them by its parents back to itself.
    case cycle([String])
    case tooMany(limit: Int)
    /// The text of a field is empty or longer than so many bytes.
    case length(field: String, bytes: Int, limit: Int)

    /// The rule that was broken, as a sentence.
    public var message: String {
        switch self {
        case .cycle(let ids):
            "the categories must not be their own descendants: "
                + ids.prefix(10).joined(separator: " → ") + (ids.count > 10 ? " → …" : "") + " → " + (ids.first ?? "")
        case .tooMany(let limit): "there must be at most \(limit) categories"
        case .length(let field, let bytes, let limit): "`\(field)` must be 1 to \(limit) bytes, not \(bytes)"
        }
    }
}
