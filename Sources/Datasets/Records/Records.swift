/// What a dataset is durably: a tenant with its structure policy.
public struct DatasetRecord: Equatable, Sendable {
    /// 1–64 of `A-Z a-z 0-9 . _ -`, not `live` or `geomatch`.
    public var id: String
    public var name: String?
    /// `open` or `strict`.
    public var policy: String
    /// The domains that are active in a strict dataset; nil where all are.
    public var domains: [String]?
    public var autoCreateDevices: Bool
    public var derivedOccupancy: Bool
    /// IANA name.
    public var timeZone: String
    public var createdAt: Int64
    public var updatedAt: Int64
    /// `N-<hash>`.
    public var revision: String

    public init(
        id: String, name: String? = nil, policy: String = "open", domains: [String]? = nil, autoCreateDevices: Bool = true,
        derivedOccupancy: Bool = false, timeZone: String = "UTC", createdAt: Int64, updatedAt: Int64, revision: String
    ) {
        self.id = id
        self.name = name
        self.policy = policy
        self.domains = domains
        self.autoCreateDevices = autoCreateDevices
        self.derivedOccupancy = derivedOccupancy
        self.timeZone = timeZone
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}

import Ranging

/// The three kinds of device; the raw value is the `deviceType` on the wire.
public enum DeviceType: String, Sendable, CaseIterable {
    case mobile = "MobileDevice"
    case pin = "PinDevice"
    case beacon = "IBeaconDevice"
}

/// A beacon's identity: canonical upper-case UUID with hyphens, major and minor 0…65535.
public struct BeaconIdentity: Hashable, Sendable {
    public var proximityUUID: String
    public var major: Int
    public var minor: Int

    public init(proximityUUID: String, major: Int, minor: Int) {
        self.proximityUUID = proximityUUID
        self.major = major
        self.minor = minor
    }

    /// nil: it is none that a parser let through.
    var key: BeaconKey? {
        guard let major = UInt16(exactly: major), let minor = UInt16(exactly: minor) else { return nil }
        return BeaconKey(uuid: proximityUUID.utf8, major: major, minor: minor)
    }
}

/// What a device is durably. Its position is not here: that is the live state of its position topic.
public struct DeviceRecord: Equatable, Sendable {
    public var dataset: String
    public var id: String
    public var type: DeviceType
    public var name: String
    public var group: [String]
    public var platform: String?
    public var deviceToken: String?
    public var beacon: BeaconIdentity?
    /// The beacon that it carries about: by it, gateways know where the device is.
    public var carries: BeaconIdentity?
    /// How it ranges the beacons it sees; nil: as everybody.
    public var ranging: RangingSettings?
    /// The client that created it; nil for a device made by its first position.
    public var owner: String?
    public var createdAt: Int64
    public var updatedAt: Int64
    public var revision: String

    public init(
        dataset: String, id: String, type: DeviceType, name: String = "", group: [String] = [], platform: String? = nil,
        deviceToken: String? = nil, beacon: BeaconIdentity? = nil, owner: String? = nil, createdAt: Int64, updatedAt: Int64,
        revision: String
    ) {
        self.dataset = dataset
        self.id = id
        self.type = type
        self.name = name
        self.group = group
        self.platform = platform
        self.deviceToken = deviceToken
        self.beacon = beacon
        self.owner = owner
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}

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

    public enum Floor: String, Sendable, CaseIterable { case any, same }

    /// Metres.
    public static let defaultExitMargin: Double = 10
}

/// How far the messages of one subscription have come.
///
/// `matched = delivered + expired + dropped + pending`, always.
public struct Delivery: Equatable, Sendable {
    public var matched: Int64 = 0
    public var delivered: Int64 = 0
    /// How often a message was sent again.
    public var retried: Int64 = 0
    public var expired: Int64 = 0
    public var dropped: Int64 = 0
    public var lastMatchAt: Int64?
    public var lastError: String?

    public init() {}

    public var pending: Int64 { matched - delivered - expired - dropped }
}

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

/// What becomes of a match, or of one of its targets: the later, the worse.
public enum MatchFate: String, Sendable, CaseIterable, Comparable {
    case delivered
    /// A target gave up after its hour.
    case expired
    /// Refused for good, or over a maximum.
    case dropped

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    /// As it is stored.
    public var rank: Int {
        switch self {
        case .delivered: 0
        case .expired: 1
        case .dropped: 2
        }
    }

    public init?(rank: Int) {
        guard let fate = Self.allCases.first(where: { $0.rank == rank }) else { return nil }
        self = fate
    }
}

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

/// The last known state of one live topic, or that it was cleared.
public struct LiveStateRecord: Equatable, Sendable {
    public var dataset: String
    /// The seven levels, encoded and normalised, without `live/`.
    public var topic: String
    /// The event time; of a cleared state the time of clearing.
    public var timestamp: Int64
    public var receivedAt: Int64
    /// The rising number of the `live/…` message that told it, for the mark of what a broker may have lost.
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

/// The first reply to a client's `requestId`, given again for 24 hours.
public struct ReplyRecord: Equatable, Sendable {
    public var dataset: String
    public var client: String
    public var requestId: String
    public var at: Int64
    /// The JSON as published.
    public var body: [UInt8]

    public init(dataset: String, client: String, requestId: String, at: Int64, body: [UInt8]) {
        self.dataset = dataset
        self.client = client
        self.requestId = requestId
        self.at = at
        self.body = body
    }
}
