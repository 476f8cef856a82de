/// What the store found of a feed.
public struct FeedPage: Equatable, Sendable {
    /// The highest `seq` of the dataset; 0 before the first.
    public var last: Int64
    /// The highest `seq` of a tombstone that is not kept any more: who has seen less has missed deletions.
    public var purgedThrough: Int64
    /// By rising `seq`.
    public var rows: [FeedRow]
    /// There are further rows behind these.
    public var isPart: Bool

    public init(last: Int64, purgedThrough: Int64, rows: [FeedRow], isPart: Bool) {
        self.last = last
        self.purgedThrough = purgedThrough
        self.rows = rows
        self.isPart = isPart
    }
}

/// One document as the feed shows it.
public struct FeedRow: Equatable, Sendable {
    public var seq: Int64
    public var type: String
    public var id: String
    public var revision: String
    public var isDeleted: Bool
    /// The revisions of the other leaves that are live, best first.
    public var conflicts: [String]
    /// nil for objects of ours, and where it is deleted.
    public var content: [UInt8]?

    public init(
        seq: Int64, type: String, id: String, revision: String, isDeleted: Bool, conflicts: [String], content: [UInt8]?
    ) {
        self.seq = seq
        self.type = type
        self.id = id
        self.revision = revision
        self.isDeleted = isDeleted
        self.conflicts = conflicts
        self.content = content
    }
}
