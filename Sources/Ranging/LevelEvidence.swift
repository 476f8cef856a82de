#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What levels say against a place: how far they are from those that the log-distance model foresees there.
struct LevelEvidence {
    /// What is supposed of observers that were not calibrated: an exponent as along corridors and in rooms with a line of sight, and metres
    /// above or below the beacon. What calibrations know of heights lies in their exponents.
    private static let open = (n: 1.8, height: 1.3)
    private static let nearest = 0.3
    /// Levels of one beacon stray together, by walls and bodies: they count for less than if each strayed alone.
    private static let shared = 0.85
    /// How much smaller the noise is with a radio map.
    private static let mapped = 1.4
    /// dB by which beacons of one kind differ, where all observers are calibrated.
    private static let asSaid = 2.0

    private struct Level {
        var place: LocalPlane.Point
        var loss, n, squaredHeight: Double
        var map: RadioMap?
    }

    private let levels: [Level]
    private let strength: (decibels: Double, stiffness: Double)
    var count: Int { levels.count }

    /// Whether the beacon's strength may be learned from it.
    let learns: Bool

    init(_ evidence: [(PositionFilter.Observer, PositionFilter.Evidence)], _ strength: BeaconStrength) {
        levels = evidence.compactMap { observer, evidence in
            guard case .loss(let loss) = evidence else { return nil }
            let isCalibrated = observer.isCalibrated
            let height = isCalibrated ? Self.nearest : Self.open.height
            return Level(
                place: observer.place, loss: loss, n: isCalibrated && observer.n >= 1 ? min(observer.n, 6) : Self.open.n,
                squaredHeight: height * height, map: isCalibrated ? observer.map : nil)
        }
        let isCalibrated = evidence.allSatisfy { $0.0.isCalibrated }
        let deviation = isCalibrated ? Self.asSaid : strength.deviation
        self.strength = (isCalibrated ? 0 : strength.decibels, 1 / (deviation * deviation))
        learns = !isCalibrated && levels.count > 1
    }

    /// The cost of a place, and the beacon's strength that suits it best: dB.
    func cost(at place: LocalPlane.Point) -> (cost: Double, strength: Double) {
        guard !levels.isEmpty else { return (0, strength.decibels) }
        return withUnsafeTemporaryAllocation(of: (off: Double, scale: Double).self, capacity: levels.count) { residuals in
            var sum = strength.stiffness * strength.decibels
            var weights = strength.stiffness
            for (number, level) in levels.enumerated() {
                let (x, y) = (place.x - level.place.x, place.y - level.place.y)
                var residual = 5 * level.n * log10(x * x + y * y + level.squaredHeight) - level.loss
                // Everywhere the same: elsewhere, more noise would speak for where the walk did not pass.
                let scale = level.map == nil ? 1 : Self.mapped
                residual += level.map?.decibels(east: x, north: y) ?? 0
                residuals[number] = (residual, scale)
                let weight = StrayCost.weight((residual - strength.decibels) * scale) * scale * scale
                sum += weight * residual
                weights += weight
            }
            let assumed = sum / weights
            let off = assumed - strength.decibels
            var cost = strength.stiffness * off * off / 2
            for residual in residuals { cost += Self.shared * StrayCost.decibels((residual.off - assumed) * residual.scale) }
            return (cost, assumed)
        }
    }
}

/// The negative logarithm of how probable it is to be so far off.
enum StrayCost {
    /// dB by which levels stray that are stronger, or weaker, than foreseen.
    private static let deviations = (stronger: 6.0, weaker: 8.0)
    /// Degrees of freedom of the heavy tails, and what a level counts at most that is stronger.
    private static let freedom = 6.0
    private static let most = 20.0

    static func decibels(_ residual: Double) -> Double {
        if residual > 0 {
            let ratio = residual / deviations.stronger
            return min(most, ratio * ratio / 2)
        }
        let ratio = residual / deviations.weaker
        return tail(ratio * ratio)
    }

    /// - Parameter ratio: The square of how many standard deviations it is off.
    static func metres(_ ratio: Double) -> Double { tail(ratio) }

    private static func tail(_ ratio: Double) -> Double { (freedom + 1) / 2 * log(1 + ratio / freedom) }

    /// What a residual counts in a mean: the less the further off it is.
    static func weight(_ residual: Double) -> Double {
        let squared = residual * residual / (deviations.weaker * deviations.weaker)
        return 1 / (deviations.weaker * deviations.weaker) / (1 + squared / 9)
    }
}
