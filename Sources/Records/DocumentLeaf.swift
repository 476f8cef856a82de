/// A revision of a document that no other one names as its parent.
public struct DocumentLeaf: Equatable, Sendable {
    public var revision: RevisionID
    public var isDeleted: Bool
    /// The document as JSON; empty for a deleted one, and nil where it is kept elsewhere or was not asked for.
    public var content: [UInt8]?

    public init(revision: RevisionID, isDeleted: Bool, content: [UInt8]? = nil) {
        self.revision = revision
        self.isDeleted = isDeleted
        self.content = content
    }

    /// Live over deleted, then the higher generation, then the higher hash: no order of arrival changes who wins.
    public func wins(over other: Self) -> Bool {
        if isDeleted != other.isDeleted { return !isDeleted }
        return other.revision < revision
    }
}
