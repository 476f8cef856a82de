/// A circumstance as it is registered.
public struct CircumstanceRule: Sendable {
    /// When it is reported.
    public enum Trigger: String, Sendable, CaseIterable {
        /// When it becomes true.
        case arriving
        /// When it becomes false after it was true.
        case departing
    }

    /// Metres; how far `near` may reach, which is no less than `at`.
    public static let nearRadiusRange = 10.0...5000.0
    /// Metres; how far the exit margin may be.
    public static let exitMarginRange = 0.0...1000.0

    public var expression: CircumstanceExpression
    /// Nil: evaluated on demand only.
    public var trigger: Trigger?
    /// Whose it is: it sees this client's devices and those without an owner.
    public var owner: String
    /// Ids and groups of the devices it is limited to; empty for no limit.
    public var devices: [String]
    /// Metres, in ``nearRadiusRange``.
    public var nearRadius: Double
    /// Metres, in ``exitMarginRange``.
    public var exitMargin: Double

    public init(
        _ expression: CircumstanceExpression, trigger: Trigger?, owner: String, devices: [String] = [], nearRadius: Double = 250,
        exitMargin: Double = 10
    ) {
        self.expression = expression
        self.trigger = trigger
        self.owner = owner
        self.devices = devices
        self.nearRadius = nearRadius
        self.exitMargin = exitMargin
    }
}

/// A circumstance of an engine. The same number is given out again after it was unregistered.
public struct CircumstanceRef: Hashable, Sendable {
    public let index: UInt32
    public init(index: UInt32) { self.index = index }
}

/// By what circumstances choose devices.
public struct DeviceIdentity: Equatable, Sendable {
    public var id: String
    /// Nil: no client owns it, and the circumstances of all see it.
    public var owner: String?
    public var groups: [String]

    public init(id: String, owner: String? = nil, groups: [String] = []) {
        self.id = id
        self.owner = owner
        self.groups = groups
    }
}

/// Where a device is.
public struct Fix: Equatable, Sendable {
    /// Degrees; must be valid.
    public var latitude: Double
    public var longitude: Double
    /// Metres, not negative; nil where none was sent.
    public var accuracy: Double?
    /// Metres per second as sent; nil where none was.
    public var speed: Double?
    /// Milliseconds since 1970 UTC, not later than the instant it is handed in at.
    public var timestamp: Int64

    public init(latitude: Double, longitude: Double, accuracy: Double? = nil, speed: Double? = nil, timestamp: Int64) {
        self.latitude = latitude
        self.longitude = longitude
        self.accuracy = accuracy
        self.speed = speed
        self.timestamp = timestamp
    }
}
