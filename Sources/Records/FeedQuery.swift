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
    /// The documents are to be counted, too, unless the feed still ends here.
    public var countsUnlessAt: Int64?

    public init(dataset: String, since: Int64, limit: Int, bytes: Int, reader: String?) {
        self.dataset = dataset
        self.since = since
        self.limit = limit
        self.bytes = bytes
        self.reader = reader
    }
}
