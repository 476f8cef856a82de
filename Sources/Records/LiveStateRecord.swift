/// The last known state of one live topic, or that it was cleared.
public struct LiveStateRecord: Equatable, Sendable {
    public var dataset: String
    /// The seven levels, encoded and normalised, without `live/`.
    public var topic: String
    /// The event time; of a cleared state the time of clearing.
    public var timestamp: Int64
    public var receivedAt: Int64
    /// The rising number of the `live/…` message that reported it, for the mark of what a broker may have lost.
    public var number: Int64
    /// The `live/…` message as published; nil for a cleared state, which is remembered for 30 days.
    public var payload: [UInt8]?

    public init(dataset: String, topic: String, timestamp: Int64, receivedAt: Int64, number: Int64, payload: [UInt8]?) {
        self.dataset = dataset
        self.topic = topic
        self.timestamp = timestamp
        self.receivedAt = receivedAt
        self.number = number
        self.payload = payload
    }
}

extension LiveStateRecord: DurableRecord {
    public static var kind: Kind { .liveState }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(topic)
        fields.write(timestamp)
        fields.write(receivedAt)
        fields.write(number)
        fields.write(payload)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), topic: fields.text(), timestamp: fields.int64(), receivedAt: fields.int64(),
            number: fields.int64(), payload: fields.optionalBytes())
    }
}

extension RecordKey {
    package static func liveState(dataset: String, topic: String) -> Self { Self(.liveState, dataset, topic) }
}

extension DurableChange {
    package static func forgetLiveState(dataset: String, topic: String) -> Self {
        .delete(.liveState(dataset: dataset, topic: topic))
    }
}
