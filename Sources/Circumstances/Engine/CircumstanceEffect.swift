/// What an input of ``CircumstanceEngine`` brings about, in order: first what must be remembered, then what is reported.
public enum CircumstanceEffect: Equatable, Sendable {
    /// The last definite value is now true, or no longer. Durable: a row for each pair that is true;
    /// ``CircumstanceEngine/restoreHeld(_:_:)`` takes it back.
    case held(CircumstanceRef, device: UInt32, Bool)
    /// A visit began or ended. Durable: a row for each device and place; ``CircumstanceEngine/restoreVisit(_:of:)`` takes it back.
    case visit(device: UInt32, VisitRow)
    /// The place gave way to newer ones in the device's history: its row is gone.
    case visitForgotten(device: UInt32, placeID: String)
    /// A stay or a motion began, or what its last fix says of a stay is no longer all. Durable: a row for each device;
    /// ``CircumstanceEngine/restore(_:at:heardAt:stay:)`` takes it back.
    case stay(device: UInt32, StayRow)
    case occurred(CircumstanceEvent)
}

/// A circumstance that became true or false of a device.
public struct CircumstanceEvent: Equatable, Sendable {
    public var circumstance: CircumstanceRef
    public var device: UInt32
    public var trigger: CircumstanceRule.Trigger
    /// Of what it is true now: those that `at` and `near` are about, nearest first, each once, at most 10 and 20.
    public var atPlaces: [NearbyPlace]
    public var nearPlaces: [NearbyPlace]
    /// Where the device is.
    public var fix: Fix
    /// Milliseconds since 1970 UTC.
    public var timestamp: Int64
}

/// Since when a device is where it is.
public struct StayRow: Equatable, Sendable {
    /// Degrees of the first fix of the stay, and its time.
    public var latitude: Double
    public var longitude: Double
    public var since: Int64
    public var isMoving: Bool?
    /// The least time from a fix of the stay to the instant at which it was heard, milliseconds; nil where that was not kept.
    public var delay: Int64?

    public init(latitude: Double, longitude: Double, since: Int64, isMoving: Bool?, delay: Int64?) {
        self.latitude = latitude
        self.longitude = longitude
        self.since = since
        self.isMoving = isMoving
        self.delay = delay
    }
}

/// The value of a circumstance that was asked for.
public struct CircumstanceAnswer: Equatable, Sendable {
    /// Nil is unknown.
    public var value: Bool?
    /// As in ``CircumstanceEvent``.
    public var atPlaces: [NearbyPlace]
    public var nearPlaces: [NearbyPlace]
}

/// A part of an expression and its value; of a rule inside `at` or `near`, whether it is true of any place within reach.
public struct TraceLine: Equatable, Sendable {
    public var expression: String
    public var value: Bool?
    /// 0 for the whole, 1 for its parts.
    public var depth: Int
}
