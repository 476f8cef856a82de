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
        /// The band as it stands, and the metres that stand for it.
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

    /// What it says of where the beacon is; nil: nothing.
    public func evidence(_ settings: RangingSettings) -> PositionFilter.Evidence? {
        switch measure {
        case .metres(let metres): .metres(metres, deviation: distanceAccuracy ?? max(0.3, metres / 10))
        // A band is as wide as it is far.
        case .band(_, let metres): .metres(metres, deviation: max(0.3, metres / 2))
        case .loss(let loss): .loss(loss - settings.rssiOffset)
        case .nothing: nil
        }
    }
}
