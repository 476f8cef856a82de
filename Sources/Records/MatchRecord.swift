/// One match or end of a visit as it was delivered, kept among the newest hundred of its subscription's device.
public struct MatchRecord: Equatable, Sendable {
    /// Rises with every match of the store, over all datasets: the order of delivery.
    public var number: Int64
    public var dataset: String
    public var id: String
    public var deviceId: String
    public var subscriptionId: String
    public var publicationId: String
    /// The subscription's owner, whose tree it is delivered to; nil for none.
    public var owner: String?
    public var createdAt: Int64
    /// The JSON as published.
    public var body: [UInt8]
    /// Not yet with everyone it is for.
    public var pending: Bool
    /// Whom it is for beside the match topic, as the subscription named them when it was made; empty once it is not pending.
    public var pushers: [String]
    /// What webhooks are signed with; nil once it is not pending.
    public var secret: String?
    /// A bit for each target that took it or never will: the match topic first, then the pushers.
    public var settled: UInt32 = 0
    /// The worst that became of those.
    public var fate: MatchFate = .delivered

    public init(
        number: Int64, dataset: String, id: String, deviceId: String, subscriptionId: String, publicationId: String,
        owner: String?, createdAt: Int64, body: [UInt8], pending: Bool, pushers: [String] = [], secret: String? = nil
    ) {
        self.number = number
        self.dataset = dataset
        self.id = id
        self.deviceId = deviceId
        self.subscriptionId = subscriptionId
        self.publicationId = publicationId
        self.owner = owner
        self.createdAt = createdAt
        self.body = body
        self.pending = pending
        self.pushers = pushers
        self.secret = secret
    }
}
