/// What a live subscription managed by the daemon is durably.
public struct LiveSubscriptionRecord: Equatable, Sendable {
    public var dataset: String
    /// Whose it is; ids are the client's own.
    public var client: String
    public var id: String
    /// An MQTT filter over the seven encoded levels.
    public var criteria: String
    /// A selector over the update's properties; nil lets all through.
    public var condition: String?
    /// The area as it was asked for, JSON; nil for everywhere.
    public var within: String?
    /// Milliseconds between two messages of one topic; 0 for no bound.
    public var minInterval: Int64
    /// 0 or 1.
    public var qos: UInt8
    public var snapshot: Bool
    /// Seconds.
    public var lease: Double
    /// The first instant at which it no longer lives.
    public var leaseUntil: Int64
    public var createdAt: Int64
    /// The number of the last `live/…` message before it.
    public var number: Int64

    public init(
        dataset: String, client: String, id: String, criteria: String, condition: String? = nil, within: String? = nil,
        minInterval: Int64 = 0, qos: UInt8 = 0, snapshot: Bool = true, lease: Double, leaseUntil: Int64, createdAt: Int64,
        number: Int64
    ) {
        self.dataset = dataset
        self.client = client
        self.id = id
        self.criteria = criteria
        self.condition = condition
        self.within = within
        self.minInterval = minInterval
        self.qos = qos
        self.snapshot = snapshot
        self.lease = lease
        self.leaseUntil = leaseUntil
        self.createdAt = createdAt
        self.number = number
    }
}

extension LiveSubscriptionRecord: DurableRecord {
    public static var kind: Kind { .liveSubscription }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(client)
        fields.write(id)
        fields.write(criteria)
        fields.write(condition)
        fields.write(within)
        fields.write(minInterval)
        fields.write(Int64(qos))
        fields.write(snapshot)
        fields.write(lease)
        fields.write(leaseUntil)
        fields.write(createdAt)
        fields.write(number)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), client: fields.text(), id: fields.text(), criteria: fields.text(),
            condition: fields.optionalText(), within: fields.optionalText(), minInterval: fields.int64(),
            qos: fields.int64() == 1 ? 1 : 0, snapshot: fields.flag(), lease: fields.double(), leaseUntil: fields.int64(),
            createdAt: fields.int64(), number: fields.int64())
    }
}

extension RecordKey {
    package static func liveSubscription(dataset: String, client: String, id: String) -> Self {
        Self(.liveSubscription, dataset, client, id)
    }
}

extension DurableChange {
    package static func deleteLiveSubscription(dataset: String, client: String, id: String) -> Self {
        .delete(.liveSubscription(dataset: dataset, client: client, id: id))
    }
}
