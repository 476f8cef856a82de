#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// How an observer turns signal strengths into metres.
public struct RangingSettings: Equatable, Sendable {
    /// What becomes of the readings of one beacon.
    public enum Filter: String, Sendable, CaseIterable {
        /// The mean of the last 20 s without the strongest and the weakest tenth.
        case trimmedMean
        /// One-dimensional, over the readings in decibels.
        case kalman
        /// The last reading as it is.
        case none
    }

    /// The exponent of the path loss: 2 in free space, 1.8 to 3.5 indoors.
    public var n: Double
    /// dB, added to every reading: what this receiver hears too weakly, or with its sign turned too strongly.
    public var rssiOffset: Double
    public var filter: Filter
    /// What a walk measured beyond that.
    public var map: RadioMap?

    public static let standard = RangingSettings()
    public static let exponents = 1.0...6.0
    public static let offsets = -60.0...60.0

    public init(n: Double = 2.7, rssiOffset: Double = 0, filter: Filter = .trimmedMean, map: RadioMap? = nil) {
        self.n = n
        self.rssiOffset = rssiOffset
        self.filter = filter
        self.map = map
    }
}

/// The log-distance model: a signal loses 10·n dB with every tenfold of the distance.
public enum PathLoss {
    /// dBm at 1 m, where a beacon does not say.
    public static let standardTxPower = -59.0
    /// Metres: what a model can say at most, and at least.
    public static let distances = 0.01...10_000.0

    /// Metres, within ``distances``.
    ///
    /// - Parameter loss: dB below the power at 1 m.
    public static func distance(loss: Double, n: Double) -> Double {
        let metres = pow(10, loss / (10 * n))
        return min(max(metres, distances.lowerBound), distances.upperBound)
    }

    /// dB below the power at 1 m: the inverse of ``distance(loss:n:)``.
    public static func loss(distance: Double, n: Double) -> Double {
        10 * n * log10(min(max(distance, distances.lowerBound), distances.upperBound))
    }
}
