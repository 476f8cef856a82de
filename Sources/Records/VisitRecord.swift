/// That a publication is within a subscription of mode `visit`: what its end will refer to.
public struct VisitRecord: Equatable, Sendable {
    public var dataset: String
    public var subscriptionId: String
    public var publicationId: String
    /// The id of the match that told its begin.
    public var id: String
    /// Milliseconds since 1970 UTC.
    public var since: Int64

    public init(dataset: String, subscriptionId: String, publicationId: String, id: String, since: Int64) {
        self.dataset = dataset
        self.subscriptionId = subscriptionId
        self.publicationId = publicationId
        self.id = id
        self.since = since
    }
}
