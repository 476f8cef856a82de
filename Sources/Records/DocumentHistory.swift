/// What is known of one document's revisions: its leaves, and which revisions others name as their parent.
///
/// A document is what was ever added to it: the leaves are the added revisions that nobody names, in whatever order they came.
public struct DocumentHistory: Equatable, Sendable {
    /// The winner first. Empty only before the first revision.
    public private(set) var leaves: [DocumentLeaf] = []
    /// Revisions that are no leaves any more, or never will be.
    public private(set) var ancestors: Set<String> = []

    /// The most leaves of one document: beyond, a further one is refused.
    public static let leavesMaximum = 64

    public init() {}

    /// - Parameter leaves: In any order.
    public init(leaves: [DocumentLeaf], ancestors: Set<String>) {
        self.leaves = leaves.sorted { $0.wins(over: $1) }
        self.ancestors = ancestors
    }

    public var winner: DocumentLeaf? { leaves.first }
    public var losers: ArraySlice<DocumentLeaf> { leaves.dropFirst() }

    /// What became of a revision.
    public enum Fate: String, Sendable {
        /// It is the winner, or took the place of the leaf it named.
        case written
        /// It was known, or its child was, and nothing else changed.
        case exists
        /// It is kept beside the winner.
        case conflict
    }

    /// Whether one more revision, with this parent, would be one leaf too many.
    public func isFull(for leaf: DocumentLeaf, parent: RevisionID?) -> Bool {
        guard leaves.count >= Self.leavesMaximum, !isKnown(leaf.revision) else { return false }
        return !leaves.contains { $0.revision == parent }
    }

    /// Adds a revision; the parent it names stops being a leaf, also where that comes later.
    ///
    /// - Parameter parent: Of a lower generation: nobody is their own ancestor.
    public mutating func add(_ leaf: DocumentLeaf, parent: RevisionID?) -> Fate {
        let isNew = !isKnown(leaf.revision)
        var replaces = false
        if let parent, parent < leaf.revision {
            let count = leaves.count
            leaves.removeAll { $0.revision == parent }
            replaces = leaves.count < count
            ancestors.insert(parent.text)
        }
        guard isNew else { return replaces ? .written : .exists }
        let place = leaves.firstIndex { leaf.wins(over: $0) } ?? leaves.endIndex
        leaves.insert(leaf, at: place)
        return place == leaves.startIndex || replaces ? .written : .conflict
    }

    /// Takes out a leaf that cannot be what the document is.
    package mutating func discard(_ revision: RevisionID) {
        leaves.removeAll { $0.revision == revision }
        ancestors.insert(revision.text)
    }

    /// The content of the winner, which a caller keeps elsewhere.
    package mutating func describeWinner(_ content: [UInt8]) {
        if !leaves.isEmpty { leaves[0].content = content }
    }

    /// Whether the revision is a leaf, or was one within the generations that are remembered.
    public func isKnown(_ revision: RevisionID) -> Bool {
        ancestors.contains(revision.text) || leaves.contains { $0.revision == revision }
    }
}
