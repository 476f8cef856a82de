/// That a publication met a subscription, when and where: what `matchTTL` and `matchDTL` count from.
public struct PairRecord: Equatable, Sendable {
    public var dataset: String
    public var subscriptionId: String
    public var publicationId: String
    public var lastMatchAt: Int64
    /// Degrees WGS 84, where each side was at that match; nil: without a position.
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

extension PairRecord: DurableRecord {
    public static var kind: Kind { .pair }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(subscriptionId)
        fields.write(publicationId)
        fields.write(lastMatchAt)
        fields.write(publicationLatitude)
        fields.write(publicationLongitude)
        fields.write(subscriptionLatitude)
        fields.write(subscriptionLongitude)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), subscriptionId: fields.text(), publicationId: fields.text(), lastMatchAt: fields.int64(),
            publicationLatitude: fields.optionalDouble(), publicationLongitude: fields.optionalDouble(),
            subscriptionLatitude: fields.optionalDouble(), subscriptionLongitude: fields.optionalDouble())
    }
}
