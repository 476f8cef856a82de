#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// One beacon as one observer saw it.
public struct Sighting: Equatable, Sendable {
    public var beacon: BeaconKey
    /// dBm as received; 0: nothing was measured.
    public var rssi: Double?
    /// dBm at 1 m, below 0.
    public var txPower: Double?
    /// Metres, as the observer knows it.
    public var distance: Double?
    /// Metres, one standard deviation of ``distance``; nil: the usual.
    public var distanceAccuracy: Double?
    /// Degrees, in the observer's frame: clockwise from where it faces, and upwards.
    public var azimuth: Double?
    public var elevation: Double?
    /// Degrees, one standard deviation of ``azimuth`` and ``elevation``; nil: the usual.
    public var angleAccuracy: Double?
    public var proximity: ProximityBand?
    /// Milliseconds since 1970 UTC; nil: that of its message.
    public var timestamp: Int64?

    public init(
        beacon: BeaconKey, rssi: Double? = nil, txPower: Double? = nil, distance: Double? = nil, distanceAccuracy: Double? = nil,
        proximity: ProximityBand? = nil, timestamp: Int64? = nil
    ) {
        self.beacon = beacon
        self.rssi = rssi
        self.txPower = txPower
        self.distance = distance
        self.distanceAccuracy = distanceAccuracy
        self.proximity = proximity
        self.timestamp = timestamp
    }

    /// What a sighting says of the distance.
    enum Measure {
        case metres(Double)
        /// The band as it is written, and the metres that stand for it.
        case band(ProximityBand, Double)
        /// dB below the power at 1 m, before any offset of the observer.
        case loss(Double)
        /// Nothing: the beacon was seen.
        case nothing
    }

    var measure: Measure {
        if let distance { return .metres(distance) }
        if let proximity { return proximity.distance.map { .band(proximity, $0) } ?? .nothing }
        guard let rssi, rssi != 0 else { return .nothing }
        return .loss((txPower ?? PathLoss.standardTxPower) - rssi)
    }

    /// What it says of how far the beacon is, in the plane; nil: nothing.
    public func evidence(_ settings: RangingSettings, _ orientation: Orientation = .standard) -> PositionFilter.Evidence? {
        switch measure {
        case .metres(let metres):
            let level = elevation.map { orientation.bearing(azimuth: azimuth ?? 0, elevation: $0).level } ?? 1
            return .metres(metres * level, deviation: max(0.01, (distanceAccuracy ?? max(0.3, metres / 10))))
        // A band is as wide as it is far.
        case .band(_, let metres): return .metres(metres, deviation: max(0.5, metres / 2))
        case .loss(let loss): return .loss(loss - settings.rssiOffset)
        case .nothing: return nil
        }
    }

    /// What it says of the direction; nil: nothing, or that the beacon is right above or below.
    public func bearing(_ orientation: Orientation) -> PositionFilter.Evidence? {
        guard let azimuth else { return nil }
        let (bearing, level) = orientation.bearing(azimuth: azimuth, elevation: elevation ?? 0)
        guard level > 0.1 else { return nil }
        return .bearing(bearing, deviation: max(0.1, (angleAccuracy ?? 5)) / level)
    }
}

/// How an observer hangs.
public struct Orientation: Equatable, Sendable {
    /// Degrees clockwise from north that it faces.
    public var heading: Double
    /// Degrees by which it faces upwards.
    public var tilt: Double

    public static let standard = Orientation()
    public static let headings = -360.0...360.0
    public static let tilts = -90.0...90.0

    public init(heading: Double = 0, tilt: Double = 0) {
        self.heading = heading
        self.tilt = tilt
    }

    /// Degrees clockwise from north of a direction in the observer's frame, and how much of it is level, 0…1.
    func bearing(azimuth: Double, elevation: Double) -> (degrees: Double, level: Double) {
        let (azimuth, elevation, tilt) = (azimuth * .pi / 180, elevation * .pi / 180, tilt * .pi / 180)
        let forward = cos(elevation) * cos(azimuth) * cos(tilt) - sin(elevation) * sin(tilt)
        let right = cos(elevation) * sin(azimuth)
        let level = (forward * forward + right * right).squareRoot()
        return ((atan2(right, forward) * 180 / .pi + heading).remainder(dividingBy: 360), level)
    }
}
