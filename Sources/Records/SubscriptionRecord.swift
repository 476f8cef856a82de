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

    /// What becomes of the horizontal accuracies of both sides: ignored, subtracted from the distance, or added to it.
    public enum Accuracy: String, Sendable, CaseIterable { case centre, possible, certain }

    /// Whether both sides must be known to be on one floor of one building.
    public enum Floor: String, Sendable, CaseIterable { case any, same }

    /// Metres.
    public static let defaultExitMargin: Double = 10
}
