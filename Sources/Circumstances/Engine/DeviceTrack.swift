import Glibc

/// What the engine remembers of a device's way: small, because most fixes touch nothing else. Not to be copied: that would count the
/// references of what it holds.
struct DeviceTrack: ~Copyable {
    enum Motion: UInt8 {
        case unknown, still, moving

        init(_ isMoving: Bool?) { self = isMoving.map { $0 ? .moving : .still } ?? .unknown }
        var isMoving: Bool? { self == .unknown ? nil : self == .moving }
    }

    // Every fix needs these: two lines of the cache.

    // The last fix. Its accuracy: metres, negative where none was sent.
    var latitude = 0.0
    var longitude = 0.0
    var timestamp: Int64 = 0
    var accuracy = -1.0
    /// From the fix before to the last one.
    var sincePrevious = CompactDuration.zero
    /// The least time from a fix of its stay to the instant at which it was heard.
    var delay = CompactDuration.zero

    // Where its circumstances were last evaluated, in steps of the surface grid, and how far it can go from there with nothing changing.
    var anchorLatitude: Int32 = 0
    var anchorLongitude: Int32 = 0
    var longitudeScale: Float = 0
    var safe: Float = 0
    /// As far as it does not cross any of its circles.
    var outer: Float = 0
    /// How far `at` reached then.
    var reach: Float = 0

    // The first fix of its stay; `Int64.min` while there is none.
    var stayLatitude = 0.0
    var stayLongitude = 0.0
    var since = Int64.min

    /// Registrations it was evaluated with.
    var epoch: UInt32 = 0
    var owner: UInt32 = 0
    /// Metres per second; negative where none was sent.
    var speed: Float = -1
    var motion = Motion.unknown
    private var flags: Flags = []
    /// When time alone may change something, and the earliest entry for it in the heap.
    var due = Int64.max
    var queued = Int64.max
    /// Circumstances whose last definite value is true, in order of their numbers.
    var held: [UInt32] = []

    // The rest is for when it has gone farther than what is safe.

    var circles = BoundaryCircles()

    var fix: Fix {
        Fix(
            latitude: latitude, longitude: longitude, accuracy: sentAccuracy, speed: speed < 0 ? nil : Double(speed),
            timestamp: timestamp)
    }

    var previousTimestamp: Int64 { timestamp &- sincePrevious.milliseconds }

    /// Since when it has been where it stays, on the clock of the instants at which fixes are heard.
    var dwellingSince: Int64? { since == .min ? nil : since &+ delay.milliseconds }

    var sentAccuracy: Double? { accuracy < 0 ? nil : accuracy }
}

extension DeviceTrack {
    private struct Flags: OptionSet {
        let rawValue: UInt8

        static let exists = Flags(rawValue: 1)
        static let isKnown = Flags(rawValue: 2)
        static let wasEvaluated = Flags(rawValue: 4)
        static let isStayRecorded = Flags(rawValue: 8)
        static let hasOpenVisits = Flags(rawValue: 16)
        static let hasAskedLive = Flags(rawValue: 32)
        static let isStayKept = Flags(rawValue: 64)
        static let isDelayKept = Flags(rawValue: 128)

        @inline(__always)
        mutating func set(_ flag: Flags, _ isSet: Bool) { if isSet { insert(flag) } else { remove(flag) } }
    }

    var exists: Bool {
        get { flags.contains(.exists) }
        set { flags.set(.exists, newValue) }
    }

    /// It has a position.
    var isKnown: Bool {
        get { flags.contains(.isKnown) }
        set { flags.set(.isKnown, newValue) }
    }

    /// Its circumstances were evaluated where it is, now or before a restart: since it had no position last. Then it is among the
    /// ``DeviceCells`` where its anchor is.
    var wasEvaluated: Bool {
        get { flags.contains(.wasEvaluated) }
        set { flags.set(.wasEvaluated, newValue) }
    }

    /// The stay is long enough for visits, and they were recorded.
    var isStayRecorded: Bool {
        get { flags.contains(.isStayRecorded) }
        set { flags.set(.isStayRecorded, newValue) }
    }

    var hasOpenVisits: Bool {
        get { flags.contains(.hasOpenVisits) }
        set { flags.set(.hasOpenVisits, newValue) }
    }

    var hasAskedLive: Bool {
        get { flags.contains(.hasAskedLive) }
        set { flags.set(.hasAskedLive, newValue) }
    }

    /// There is a row of the stay.
    var isStayKept: Bool {
        get { flags.contains(.isStayKept) }
        set { flags.set(.isStayKept, newValue) }
    }

    /// The row has the stay's least delay.
    var isDelayKept: Bool {
        get { flags.contains(.isDelayKept) }
        set { flags.set(.isDelayKept, newValue) }
    }
}

/// Lengths that are never too short, for deciding quickly that something is still near.
enum QuickDistance {
    /// Metres of a degree along the meridian where it is longest, at the poles. Source: WGS 84, a²/b · π/180.
    static let degree = 111_695.0

    /// Up to so many metres a length is not too short, and too long by less than this factor where the scale is not less than the least:
    /// farther than 1.3 degrees from the poles. A degree of a meridian has 110,574 m at least, one of a parallel 0.3 % less than is reckoned,
    /// and within a kilometre the cosine of the latitude changes by 0.000 16.
    static let farthest = 400.0
    static let excess = 1.025
    static let leastScale = 2_500.0

    /// Metres of a degree of longitude, at most, anywhere within 500 m of this latitude.
    static func longitudeScale(latitude: Double) -> Double { degree * (max(0, cos(latitude * .pi / 180)) + 1e-4) }

    /// The square of an upper bound for the distance of two positions, one of them within 500 m of where the scale was made.
    @inline(__always)
    static func squared(
        _ latitude: Double, _ longitude: Double, _ otherLatitude: Double, _ otherLongitude: Double, scale: Double
    ) -> Double {
        let north = (latitude - otherLatitude) * degree
        let east = (longitude - otherLongitude) * scale
        return north * north + east * east
    }
}
