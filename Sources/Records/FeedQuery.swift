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
    /// What everybody sees (for administrators: all) is to be counted, too, unless the feed still ends here; nil: it is not.
    public var countsSharedUnlessAt: Int64?
    /// What the reader alone sees is to be counted.
    public var countsOwn = false

    public init(dataset: String, since: Int64, limit: Int, bytes: Int, reader: String?) {
        self.dataset = dataset
        self.since = since
        self.limit = limit
        self.bytes = bytes
        self.reader = reader
    }
}
