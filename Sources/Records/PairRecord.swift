/// That a publication met a subscription, when and where: what `matchTTL` and `matchDTL` count from.
public struct PairRecord: Equatable, Sendable {
    public var dataset: String
    public var subscriptionId: String
    public var publicationId: String
    public var lastMatchAt: Int64
    /// Degrees WGS 84, where each side stood at that match; nil: nowhere.
    public var publicationLatitude: Double?
    public var publicationLongitude: Double?
    public var subscriptionLatitude: Double?
    public var subscriptionLongitude: Double?

    public init(
        dataset: String, subscriptionId: String, publicationId: String, lastMatchAt: Int64, publicationLatitude: Double?,
        publicationLongitude: Double?, subscriptionLatitude: Double?, subscriptionLongitude: Double?
    ) {
        self.dataset = dataset
        self.subscriptionId = subscriptionId
        self.publicationId = publicationId
        self.lastMatchAt = lastMatchAt
        self.publicationLatitude = publicationLatitude
        self.publicationLongitude = publicationLongitude
        self.subscriptionLatitude = subscriptionLatitude
        self.subscriptionLongitude = subscriptionLongitude
    }
}
