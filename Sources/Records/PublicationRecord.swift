/// What a publication is durably.
public struct PublicationRecord: Equatable, Sendable {
    public var dataset: String
    public var id: String
    public var deviceId: String
    public var topic: String
    /// Metres, 1…5000.
    public var range: Double
    /// Seconds, above 0: a publication of duration 0 is never stored.
    public var duration: Double
    /// A JSON object: strings, numbers, booleans and arrays of those.
    public var properties: String
    public var owner: String?
    public var createdAt: Int64
    public var updatedAt: Int64
    public var revision: String

    public init(
        dataset: String, id: String, deviceId: String, topic: String, range: Double, duration: Double, properties: String,
        owner: String?, createdAt: Int64, updatedAt: Int64, revision: String
    ) {
        self.dataset = dataset
        self.id = id
        self.deviceId = deviceId
        self.topic = topic
        self.range = range
        self.duration = duration
        self.properties = properties
        self.owner = owner
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}

extension PublicationRecord: DurableRecord {
    public static var kind: Kind { .publication }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(id)
        fields.write(deviceId)
        fields.write(topic)
        fields.write(range)
        fields.write(duration)
        fields.write(properties)
        fields.write(owner)
        fields.write(createdAt)
        fields.write(updatedAt)
        fields.write(revision)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), id: fields.text(), deviceId: fields.text(), topic: fields.text(), range: fields.double(),
            duration: fields.double(), properties: fields.text(), owner: fields.optionalText(), createdAt: fields.int64(),
            updatedAt: fields.int64(), revision: fields.text())
    }

    public var feedEntry: FeedEntry? {
        .object(type: .publication, id: id, revision: revision, owner: owner, reader: owner)
    }
}

extension DurableChange {
    /// Removes the publication with its pairs and visits.
    package static func deletePublication(dataset: String, id: String) -> Self { .delete(RecordKey(.publication, dataset, id)) }
}
