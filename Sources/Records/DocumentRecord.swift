/// What a document is from now on, with all its leaves. It gets the next `seq` of its dataset's feed.
public struct DocumentRecord: Equatable, Sendable {
    public var dataset: String
    public var type: String
    /// Known by type and id.
    public var id: String
    /// The client that wrote it first; nil for none.
    public var owner: String?
    /// Who may read it beside administrators; nil for everybody.
    public var reader: String?
    /// The winner first. Content that is nil is what is stored of that revision; the winner of a type of ours has none: its object has it.
    public var leaves: [DocumentLeaf]
    /// Revisions that are no leaves any more, or never will be; those known already may be left out.
    public var ancestors: [String]
    /// Which revision was made from which; what is known already may be left out.
    public var links: [RevisionLink]

    public init(
        dataset: String, type: String, id: String, owner: String?, reader: String?, leaves: [DocumentLeaf], ancestors: [String],
        links: [RevisionLink] = []
    ) {
        self.dataset = dataset
        self.type = type
        self.id = id
        self.owner = owner
        self.reader = reader
        self.leaves = leaves
        self.ancestors = ancestors
        self.links = links
    }
}

/// A client that the feed of its dataset is sent to.
public struct FollowerRecord: Equatable, Sendable {
    public var dataset: String
    public var client: String
    /// Everything up to here was sent and taken by the broker.
    public var since: Int64
    /// Seconds.
    public var lease: Double
    /// The first instant at which it is over.
    public var leaseUntil: Int64

    public init(dataset: String, client: String, since: Int64, lease: Double, leaseUntil: Int64) {
        self.dataset = dataset
        self.client = client
        self.since = since
        self.lease = lease
        self.leaseUntil = leaseUntil
    }
}

/// How a change of an object enters the feed: the store knows the object's former revision, which becomes the parent.
public enum FeedEntry: Equatable, Sendable {
    /// The object has this revision from now on. Nothing happens where it is the winner already.
    case object(type: DocumentType, id: String, revision: String, owner: String?, reader: String?)
    /// The object is gone: the revision is ``RevisionID/ofDeletion(after:)``, and every conflict is over.
    /// Nothing happens where it is deleted already.
    case burial(type: DocumentType, id: String)
}

extension FollowerRecord: DurableRecord {
    public static var kind: Kind { .follower }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(client)
        fields.write(since)
        fields.write(lease)
        fields.write(leaseUntil)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), client: fields.text(), since: fields.int64(), lease: fields.double(),
            leaseUntil: fields.int64())
    }
}

extension RecordKey {
    package static func follower(dataset: String, client: String) -> Self { Self(.follower, dataset, client) }
}

extension DurableChange {
    package static func deleteFollower(dataset: String, client: String) -> Self {
        .delete(.follower(dataset: dataset, client: client))
    }
}
