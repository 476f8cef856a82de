/// How near a beacon is, in the words and numbers of CoreLocation's `CLProximity`.
public enum ProximityBand: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    case unknown = 0
    case immediate = 1
    case near = 2
    case far = 3

    /// The word on the wire.
    public var name: String {
        switch self {
        case .unknown: "unknown"
        case .immediate: "immediate"
        case .near: "near"
        case .far: "far"
        }
    }

    public init?(name: String) {
        guard let band = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = band
    }

    /// Metres that stand for a band where nothing else is known; nil for `unknown`.
    public var distance: Double? {
        switch self {
        case .unknown: nil
        case .immediate: 0.5
        case .near: 3
        case .far: 50
        }
    }

    /// Up to here (metres) a beacon is immediate, and up to ``nearBelow`` near.
    public static let immediateUpTo = 0.5
    public static let nearBelow = 3.0

    /// The band of a distance without a past.
    public init(distance: Double) {
        self = distance <= Self.immediateUpTo ? .immediate : distance < Self.nearBelow ? .near : .far
    }

    /// The band of a distance after this one: at a boundary it stays what it was until the distance is a tenth beyond.
    public func next(at distance: Double) -> ProximityBand {
        guard self != .unknown else { return ProximityBand(distance: distance) }
        // Outwards the boundaries lie a tenth farther, inwards a tenth nearer.
        if distance <= (self == .immediate ? 0.55 : 0.45) { return .immediate }
        return distance < (self == .far ? 2.7 : 3.3) ? .near : .far
    }
}
