/// What is known of one document's revisions: its leaves, and which revisions others name as their parent.
///
/// A document is what was ever added to it: the leaves are the added revisions that nobody names, in whatever order they came.
public struct DocumentHistory: Equatable, Sendable {
    /// The winner first. Empty only before the first revision.
    public private(set) var leaves: [DocumentLeaf] = []
    /// Revisions that are no leaves any more, or never will be.
    public private(set) var ancestors: Set<String> = []
    /// Which revision was made from which, as far as it was asked for or added.
    public private(set) var links: Set<RevisionLink> = []

    /// The most leaves of one document: beyond, a further one is refused.
    public static let leavesMaximum = 64

    /// The most that is known of which revision was made from which: beyond, nothing is added that names more.
    public static let linksMaximum = 20_000

    public init() {}

    /// - Parameter leaves: In any order.
    public init(leaves: [DocumentLeaf], ancestors: Set<String>, links: Set<RevisionLink> = []) {
        self.leaves = leaves.sorted { $0.wins(over: $1) }
        self.ancestors = links.reduce(into: ancestors) { $0.insert($1.parent) }
        self.links = links
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

    /// Whether one more revision, with these ancestors, would be one leaf too many.
    public func isFull(for leaf: DocumentLeaf, ancestors lineage: [RevisionID]) -> Bool {
        guard leaves.count >= Self.leavesMaximum, !isKnown(leaf.revision) else { return false }
        return !leaves.contains { lineage.contains($0.revision) }
    }

    /// Adds a revision; the ancestors it names stop being leaves, also where those come later.
    ///
    /// - Parameter lineage: The parent first, each of a lower generation than the one before: nobody is their own ancestor.
    public mutating func add(_ leaf: DocumentLeaf, ancestors lineage: [RevisionID]) -> Fate {
        let isNew = !isKnown(leaf.revision)
        var replaces = false
        var child = leaf.revision
        for ancestor in lineage where ancestor.generation < child.generation {
            let count = leaves.count
            leaves.removeAll { $0.revision == ancestor }
            replaces = replaces || leaves.count < count
            ancestors.insert(ancestor.text)
            links.insert(RevisionLink(child.text, from: ancestor.text))
            child = ancestor
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

    /// What each revision was made from, as far as that is known.
    public var parents: [String: RevisionID] {
        var parents: [String: RevisionID] = [:]
        for link in links {
            guard let parent = RevisionID(link.parent) else { continue }
            // Who lies may name two: every store decides for the same.
            if let known = parents[link.child], parent < known { continue }
            parents[link.child] = parent
        }
        return parents
    }

    /// The ancestors of a revision, the parent first, as far as they are known without a gap.
    ///
    /// - Parameter parents: ``parents``, made once for all leaves.
    public static func lineage(of revision: RevisionID, in parents: [String: RevisionID], limit: Int = .max) -> [RevisionID] {
        var lineage: [RevisionID] = []
        var last = revision
        while lineage.count < limit, let parent = parents[last.text], parent.generation == last.generation - 1 {
            lineage.append(parent)
            last = parent
        }
        return lineage
    }
}

/// One revision was made from another.
public struct RevisionLink: Hashable, Comparable, Sendable {
    public var parent: String
    public var child: String

    public init(_ child: String, from parent: String) {
        self.parent = parent
        self.child = child
    }

    public static func < (left: Self, right: Self) -> Bool { (left.parent, left.child) < (right.parent, right.child) }
}
