/// Beacons that belong together: all of a UUID, or those of one major, or one beacon.
public struct BeaconRegion: Hashable, Sendable {
    /// The UUID, with major and minor 0.
    public var uuid: BeaconKey
    public var major: UInt16?
    public var minor: UInt16?

    /// - Parameter minor: Only with a major.
    public init(uuid: BeaconKey, major: UInt16? = nil, minor: UInt16? = nil) {
        self.uuid = BeaconKey(high: uuid.high, low: uuid.low, major: 0, minor: 0)
        self.major = major
        self.minor = major == nil ? nil : minor
    }

    public func contains(_ beacon: BeaconKey) -> Bool {
        beacon.high == uuid.high && beacon.low == uuid.low && (major.map { $0 == beacon.major } ?? true)
            && (minor.map { $0 == beacon.minor } ?? true)
    }
}

/// Which observers are in a region: from the first beacon of it that they see until so long after the last one.
///
/// Observers are the caller's keys; what comes at one time comes in their order.
public struct RegionPresence<Observer: Hashable & Comparable & Sendable>: Sendable {
    /// Milliseconds that an observer stays without a sighting: radio is patchy, and nobody wants to hear of it.
    public static var holdMilliseconds: Int64 { 30_000 }

    private var seenAt: [Observer: Int64] = [:]
    /// Nothing ends before this.
    public private(set) var nextEnd: Int64 = .max

    public init() {}

    public var count: Int { seenAt.count }
    public func contains(_ observer: Observer) -> Bool { seenAt[observer] != nil }

    /// - Returns: Whether the observer has entered.
    public mutating func see(_ observer: Observer, at instant: Int64) -> Bool {
        let known = seenAt[observer]
        seenAt[observer] = max(instant, known ?? .min)
        nextEnd = min(nextEnd, instant + Self.holdMilliseconds)
        return known == nil
    }

    /// The observers that have left by now, each with the time of its exit.
    public mutating func end(at now: Int64) -> [(observer: Observer, at: Int64)] {
        guard now >= nextEnd else { return [] }
        var ended: [(observer: Observer, at: Int64)] = []
        nextEnd = .max
        for (observer, instant) in seenAt {
            let end = instant + Self.holdMilliseconds
            if end <= now { ended.append((observer, end)) } else { nextEnd = min(nextEnd, end) }
        }
        ended.sort { $0.observer < $1.observer }
        for (observer, _) in ended { seenAt[observer] = nil }
        return ended
    }

    public mutating func forget(_ observer: Observer) { seenAt[observer] = nil }
}
