/// What a subscription is durably.
public struct SubscriptionRecord: Equatable, Sendable {
    public var dataset: String
    public var id: String
    public var deviceId: String
    public var topic: String
    /// Metres, 1…5000.
    public var range: Double
    /// Seconds, above 0: a subscription of duration 0 is never stored.
    public var duration: Double
    /// Empty matches all.
    public var selector: String
    /// Seconds; nil means the subscription's duration.
    public var matchTTL: Double?
    /// Metres; nil means twice the range.
    public var matchDTL: Double?
    public var excludeSelf: Bool
    public var mode: Mode = .once
    /// Metres beyond the reach at which a visit ends, 0…100,000.
    public var exitMargin: Double = Self.defaultExitMargin
    /// Seconds a pair stays in range before a visit begins, at least 0.
    public var dwell: Double = 0
    /// Seconds after which a side that has not been heard of ends a visit, above 0; nil: never.
    public var staleAfter: Double?
    public var accuracy: Accuracy = .centre
    public var floor: Floor = .any
    public var pushers: [String]
    /// What webhooks are signed with. Write-only: no reply, match or log ever holds it.
    public var secret: String?
    /// Home Assistant discovers its matches as events.
    public var homeAssistant = false
    /// `{"title","body"}` of its push messages, as it was sent.
    public var notification: String?
    public var delivery: Delivery
    public var hints: [String]
    public var owner: String?
    public var createdAt: Int64
    public var updatedAt: Int64
    public var revision: String

    public init(
        dataset: String, id: String, deviceId: String, topic: String, range: Double, duration: Double, selector: String = "",
        matchTTL: Double? = nil, matchDTL: Double? = nil, excludeSelf: Bool = false, pushers: [String] = [],
        delivery: Delivery = Delivery(), hints: [String] = [], owner: String?, createdAt: Int64, updatedAt: Int64,
        revision: String
    ) {
        self.dataset = dataset
        self.id = id
        self.deviceId = deviceId
        self.topic = topic
        self.range = range
        self.duration = duration
        self.selector = selector
        self.matchTTL = matchTTL
        self.matchDTL = matchDTL
        self.excludeSelf = excludeSelf
        self.pushers = pushers
        self.delivery = delivery
        self.hints = hints
        self.owner = owner
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}

extension SubscriptionRecord {
    /// The raw values of these are the words on the wire.
    public enum Mode: String, Sendable, CaseIterable { case once, visit }

    /// What becomes of the horizontal accuracies of both sides: ignored, subtracted from the distance, added to it, or
    /// deciding by themselves whether a fix counts.
    public enum Accuracy: String, Sendable, CaseIterable { case centre, possible, certain, likely }

    /// Whether both sides must be known to be on one floor of one building.
    public enum Floor: String, Sendable, CaseIterable { case any, same }

    /// Metres.
    public static let defaultExitMargin: Double = 10
}

extension SubscriptionRecord: DurableRecord {
    public static var kind: Kind { .subscription }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(id)
        fields.write(deviceId)
        fields.write(topic)
        fields.write(range)
        fields.write(duration)
        fields.write(selector)
        fields.write(matchTTL)
        fields.write(matchDTL)
        fields.write(excludeSelf)
        fields.write(list: pushers)
        fields.write(list: hints)
        fields.write(owner)
        fields.write(createdAt)
        fields.write(updatedAt)
        fields.write(revision)
        delivery.write(to: &fields)
        fields.write(mode.rawValue)
        fields.write(exitMargin)
        fields.write(dwell)
        fields.write(staleAfter)
        fields.write(accuracy.rawValue)
        fields.write(floor.rawValue)
        fields.write(secret)
        fields.write(homeAssistant)
        fields.write(notification)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        let (dataset, id, deviceId, topic) = (fields.text(), fields.text(), fields.text(), fields.text())
        let (range, duration, selector) = (fields.double(), fields.double(), fields.text())
        let (matchTTL, matchDTL, excludeSelf) = (fields.optionalDouble(), fields.optionalDouble(), fields.flag())
        let pushers = try fields.list()
        let hints = try fields.list()
        let (owner, createdAt) = (fields.optionalText(), fields.int64())
        let (updatedAt, revision) = (fields.int64(), fields.text())
        self.init(
            dataset: dataset, id: id, deviceId: deviceId, topic: topic, range: range, duration: duration, selector: selector,
            matchTTL: matchTTL, matchDTL: matchDTL, excludeSelf: excludeSelf, pushers: pushers,
            delivery: Delivery(from: &fields), hints: hints, owner: owner, createdAt: createdAt, updatedAt: updatedAt,
            revision: revision)
        mode = try fields.word()
        exitMargin = fields.double()
        dwell = fields.double()
        staleAfter = fields.optionalDouble()
        accuracy = try fields.word()
        floor = try fields.word()
        secret = fields.optionalText()
        homeAssistant = fields.flag()
        notification = fields.optionalText()
    }

    public var feedEntry: FeedEntry? {
        .object(type: .subscription, id: id, revision: revision, owner: owner, reader: owner)
    }
}

/// The delivery counters of a subscription.
public struct DeliveryAmendment: RecordAmendment {
    public static var kind: Kind { .subscription }
    public static let columns = ["matched", "delivered", "retried", "expired", "dropped", "lastMatchAt", "lastError"]
    public static var isReplaced: Bool { true }
    public let key: RecordKey
    public let delivery: Delivery

    public func write(to fields: inout some FieldWriter) { delivery.write(to: &fields) }
}

/// The hints of a subscription.
public struct HintsAmendment: RecordAmendment {
    public static var kind: Kind { .subscription }
    public static let columns = ["hints"]
    public static var isEvaluated: Bool { true }
    public let key: RecordKey
    public let hints: [String]

    public func write(to fields: inout some FieldWriter) { fields.write(list: hints) }
}

extension DurableChange {
    /// Removes the subscription with its pairs and visits; matches stay.
    package static func deleteSubscription(dataset: String, id: String) -> Self { .delete(RecordKey(.subscription, dataset, id)) }
    package static func putDelivery(dataset: String, subscriptionId: String, _ delivery: Delivery) -> Self {
        .amend(DeliveryAmendment(key: RecordKey(.subscription, dataset, subscriptionId), delivery: delivery))
    }
    package static func putHints(dataset: String, subscriptionId: String, _ hints: [String]) -> Self {
        .amend(HintsAmendment(key: RecordKey(.subscription, dataset, subscriptionId), hints: hints))
    }
}
