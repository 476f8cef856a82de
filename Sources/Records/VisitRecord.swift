/// That a publication is within a subscription of mode `visit`: what its end will refer to, or what its `dwell` counts from.
public struct VisitRecord: Equatable, Sendable {
    public var dataset: String
    public var subscriptionId: String
    public var publicationId: String
    /// The id of the match that reported its begin; empty: it has not begun, the pair stays for its `dwell`.
    public var id: String
    /// Milliseconds since 1970 UTC.
    public var since: Int64
    /// With accuracy `likely`, when the first of the fixes was that are all outside; nil where the last one was not.
    public var outsideSince: Int64?
    package var isStay: Bool { id.isEmpty }

    public init(
        dataset: String, subscriptionId: String, publicationId: String, id: String, since: Int64, outsideSince: Int64? = nil
    ) {
        self.dataset = dataset
        self.subscriptionId = subscriptionId
        self.publicationId = publicationId
        self.id = id
        self.since = since
        self.outsideSince = outsideSince
    }
}

extension VisitRecord: DurableRecord {
    public static var kind: Kind { .visit }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(subscriptionId)
        fields.write(publicationId)
        fields.write(id)
        fields.write(since)
        fields.write(outsideSince)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), subscriptionId: fields.text(), publicationId: fields.text(), id: fields.text(),
            since: fields.int64(), outsideSince: fields.optionalInt64())
    }
}

extension DurableChange {
    /// The visit of the pair, or its stay, is over.
    package static func deleteVisit(dataset: String, subscriptionId: String, publicationId: String) -> Self {
        .delete(RecordKey(.visit, dataset, subscriptionId, publicationId))
    }
}
