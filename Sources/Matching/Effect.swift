import Geodesy

/// One publication met one subscription.
public struct Meeting: Equatable, Sendable {
    public var publication: PublicationRef
    public var subscription: SubscriptionRef
    /// Metres along the ellipsoid, right to 1 cm; where one side is a beacon, as far as the other sees it.
    public var distance: Double
    /// nil: the side is a beacon, or sees one and has no position itself. So below.
    public var publicationPosition: Position?
    public var subscriptionPosition: Position?
    /// Milliseconds since 1970 UTC: the instant of the input that caused it.
    public var at: Int64

    public init(
        publication: PublicationRef, subscription: SubscriptionRef, distance: Double, publicationPosition: Position?,
        subscriptionPosition: Position?, at: Int64
    ) {
        self.publication = publication
        self.subscription = subscription
        self.distance = distance
        self.publicationPosition = publicationPosition
        self.subscriptionPosition = subscriptionPosition
        self.at = at
    }
}

/// A visit ended.
public struct VisitEnd: Equatable, Sendable {
    /// Why it ended; the wire has the same words.
    public enum Reason: Sendable {
        /// Out of range by more than the exit margin, or an update made the visit impossible.
        case left
        /// The time of a side is over.
        case expired
        /// A side was removed, alone or with its device.
        case deleted
        /// A side has no position any more, or was not heard of for `staleAfter`.
        case lost
    }

    public var publication: PublicationRef
    public var subscription: SubscriptionRef
    public var reason: Reason
    /// Metres along the ellipsoid, right to 1 cm, or as far as one side sees the other; nil: nothing is known.
    public var distance: Double?
    /// The position of the side; nil: none.
    public var publicationPosition: Position?
    public var subscriptionPosition: Position?
    /// Milliseconds since 1970 UTC: the instant of the input that caused it.
    public var at: Int64

    public init(
        publication: PublicationRef, subscription: SubscriptionRef, reason: Reason, distance: Double?,
        publicationPosition: Position?, subscriptionPosition: Position?, at: Int64
    ) {
        self.publication = publication
        self.subscription = subscription
        self.reason = reason
        self.distance = distance
        self.publicationPosition = publicationPosition
        self.subscriptionPosition = subscriptionPosition
        self.at = at
    }
}

/// A pair of a subscription with a `dwell` came into range, or what it stayed for came to nothing.
public struct PairStay: Equatable, Sendable {
    public var publication: PublicationRef
    public var subscription: SubscriptionRef
    /// Since when it has been in range, milliseconds since 1970 UTC; nil: it stays no longer, and no visit began.
    public var since: Int64?

    public init(publication: PublicationRef, subscription: SubscriptionRef, since: Int64?) {
        self.publication = publication
        self.subscription = subscription
        self.since = since
    }
}

/// A subscription, or the engine, has as many partners as it may: meetings were not made (``EngineLimits``).
public struct CapacityExceeded: Equatable, Sendable {
    public var subscription: SubscriptionRef
    /// Meetings, begins or stays this input did not make.
    public var missed: Int
    /// Milliseconds since 1970 UTC: the instant of the input.
    public var at: Int64

    public init(subscription: SubscriptionRef, missed: Int, at: Int64) {
        self.subscription = subscription
        self.missed = missed
        self.at = at
    }
}

/// What an input to the engine led to.
///
/// The effects of one input (of each move of a burst) come in this order:
/// 1. expiries by instant, publications before subscriptions, then number, each after the ends (`expired`) of the visits it
///    ends, those by subscription, then publication;
/// 2. ends of visits for another reason, by subscription, then publication;
/// 3. stays that began or came to nothing, by subscription, then publication;
/// 4. meetings and begins of visits, by subscription, then publication;
/// 5. capacities exceeded, by subscription;
/// 6. mismatches, by subscription.
///
/// The references of what expired or was removed are given out again only after the call: until then they name what they named.
public enum Effect: Equatable, Sendable {
    /// A pair of a subscription of mode `once` met.
    case met(Meeting)
    /// A pair of a subscription of mode `visit` met, and stays together until ``visitEnded(_:)``.
    case visitBegan(Meeting)
    case visitEnded(VisitEnd)
    /// A pair waits for its `dwell`, from now on or no longer: for who keeps it, nothing to report. What begins a visit, and what goes
    /// with a side, is not said.
    case stay(PairStay)
    /// At most once for each input and subscription.
    case capacityExceeded(CapacityExceeded)
    /// It is gone from the engine already, with what was remembered of its pairs.
    case publicationExpired(PublicationRef)
    case subscriptionExpired(SubscriptionRef)
    /// The selector can hardly ever be TRUE here: why, in words for its author. At most once for each subscription, from the first
    /// few publications it is evaluated with; where many selectors share a topic, not every publication in range is.
    case mismatch(SubscriptionRef, [String])
}

/// A visit under way.
public struct Visit: Equatable, Sendable {
    public var publication: PublicationRef
    /// Milliseconds since 1970 UTC: when it began.
    public var since: Int64

    public init(publication: PublicationRef, since: Int64) {
        self.publication = publication
        self.since = since
    }
}

/// What a pair's `matchTTL` and `matchDTL` count from: its last match.
///
/// Positions that come out of the engine are right to 4 mm and carry neither altitude nor accuracy.
public struct Suppression: Equatable, Sendable {
    /// Milliseconds since 1970 UTC.
    public var lastMatchAt: Int64
    /// nil: it had no position. So below.
    public var publicationPosition: Position?
    public var subscriptionPosition: Position?

    public init(lastMatchAt: Int64, publicationPosition: Position?, subscriptionPosition: Position?) {
        self.lastMatchAt = lastMatchAt
        self.publicationPosition = publicationPosition
        self.subscriptionPosition = subscriptionPosition
    }
}

/// A device's next position.
public struct Move: Equatable, Sendable {
    public var device: DeviceRef
    public var position: Position
    public var floor: FloorRef
    /// When it was there, milliseconds since 1970 UTC; nil: when it is moved.
    public var fixedAt: Int64?

    public init(device: DeviceRef, position: Position, floor: FloorRef = .unknown, fixedAt: Int64? = nil) {
        self.device = device
        self.position = position
        self.floor = floor
        self.fixedAt = fixedAt
    }
}
