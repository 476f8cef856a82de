/// Rows of a dataset's feed that one client may see.
public struct FeedQuery: Equatable, Sendable {
    public var dataset: String
    /// Rows behind this `seq`.
    public var since: Int64
    /// At least 1.
    public var limit: Int
    /// Rows are added until their content has so many bytes.
    public var bytes: Int
    /// Whose objects it may see beside those for everybody; nil for all.
    public var reader: String?

    public init(dataset: String, since: Int64, limit: Int, bytes: Int, reader: String?) {
        self.dataset = dataset
        self.since = since
        self.limit = limit
        self.bytes = bytes
        self.reader = reader
    }
}

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

/// What a push must know of a document before it is decided.
public struct DocumentLookup: Equatable, Sendable {
    public var dataset: String
    public var type: String
    public var id: String
    /// Which revisions it is asked for whether they are ancestors.
    public var revisions: [String]

    public init(dataset: String, type: String, id: String, revisions: [String]) {
        self.dataset = dataset
        self.type = type
        self.id = id
        self.revisions = revisions
    }
}

/// What the store knows of a document.
public struct KnownDocument: Equatable, Sendable {
    public var owner: String?
    /// Who may read it beside administrators; nil for everybody.
    public var reader: String?
    /// Those ancestors that were asked for; with the content of what lost, but not where a push asks for a document that is not ours.
    public var history: DocumentHistory

    public init(owner: String?, reader: String?, history: DocumentHistory) {
        self.owner = owner
        self.reader = reader
        self.history = history
    }
}
