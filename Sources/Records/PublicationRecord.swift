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
