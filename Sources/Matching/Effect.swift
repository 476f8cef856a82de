import Geodesy

/// One publication met one subscription.
public struct Meeting: Equatable, Sendable {
    public var publication: PublicationRef
    public var subscription: SubscriptionRef
    /// Metres along the ellipsoid, right to 1 cm.
    public var distance: Double
    public var publicationPosition: Position
    public var subscriptionPosition: Position
    /// Milliseconds since 1970 UTC: the instant of the input that caused it.
    public var at: Int64

    public init(
        publication: PublicationRef, subscription: SubscriptionRef, distance: Double, publicationPosition: Position,
        subscriptionPosition: Position, at: Int64
    ) {
        self.publication = publication
        self.subscription = subscription
        self.distance = distance
        self.publicationPosition = publicationPosition
        self.subscriptionPosition = subscriptionPosition
        self.at = at
    }
}

/// What an input to the engine led to.
///
/// The effects of one input come in this order: expiries by instant, publications before subscriptions, then index; meetings by
/// subscription, then publication; mismatches by subscription.
public enum Effect: Equatable, Sendable {
    case met(Meeting)
    /// It is gone from the engine already, with what was remembered of its pairs.
    case publicationExpired(PublicationRef)
    case subscriptionExpired(SubscriptionRef)
    /// The selector can hardly ever be TRUE here: why, in words for its author. At most once for each subscription.
    case mismatch(SubscriptionRef, [String])
}

/// What a pair's `matchTTL` and `matchDTL` count from: its last match.
///
/// Positions that come out of the engine are right to 4 mm and carry neither altitude nor accuracy.
public struct Suppression: Equatable, Sendable {
    /// Milliseconds since 1970 UTC.
    public var lastMatchAt: Int64
    public var publicationPosition: Position
    public var subscriptionPosition: Position

    public init(lastMatchAt: Int64, publicationPosition: Position, subscriptionPosition: Position) {
        self.lastMatchAt = lastMatchAt
        self.publicationPosition = publicationPosition
        self.subscriptionPosition = subscriptionPosition
    }
}

/// A device's next position.
public struct Move: Equatable, Sendable {
    public var device: DeviceRef
    public var position: Position

    public init(device: DeviceRef, position: Position) {
        self.device = device
        self.position = position
    }
}
