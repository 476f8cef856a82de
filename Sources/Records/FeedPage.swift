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
    /// How many documents of the whole feed everybody sees, or an administrator; nil where they were not counted.
    public var sharedCount: FeedCount?
    /// How many more the reader sees.
    public var ownCount: FeedCount?

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
    /// The other leaves, best first, without what they say.
    public var losers: [DocumentLeaf]
    /// nil for objects of ours, and where it is deleted.
    public var content: [UInt8]?

    public init(
        seq: Int64, type: String, id: String, revision: String, isDeleted: Bool, losers: [DocumentLeaf], content: [UInt8]?
    ) {
        self.seq = seq
        self.type = type
        self.id = id
        self.revision = revision
        self.isDeleted = isDeleted
        self.losers = losers
        self.content = content
    }

    /// The revisions of the other leaves that are live, best first.
    public var conflicts: [String] { losers.filter { !$0.isDeleted }.map(\.revision.text) }
}

/// How many documents a feed shows to a reader.
public struct FeedCount: Equatable, Sendable {
    public var live: Int
    public var deleted: Int

    public init(live: Int, deleted: Int) {
        self.live = live
        self.deleted = deleted
    }
}
