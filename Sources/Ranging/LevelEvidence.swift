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
    /// With outlines: what is left to the exponent, and dB for each room that a signal leaves. Doors stand open: it is less than walls take.
    private static let outlined = (n: 1.6, wall: Float(1))
    private static let nearest = 0.3
    /// Levels of one beacon stray together, by walls and bodies: they count for less than if each strayed alone. What walls do is in maps.
    private static let shared = 0.85
    /// How much smaller the noise is with a radio map, and dB² by which the mean of a second's readings strays around one that is exact: two
    /// walks through a flat, each taken alone, say 17 and 14.
    private static let mapped = (scale: Float(1.4), variance: Float(15))
    /// dB by which beacons of one kind differ, where all observers are calibrated.
    private static let asSaid = 2.0

    /// Numbers alone: it is read for each cell.
    private struct Level {
        var place: LocalPlane.Point
        var loss, squaredHeight: Double
        /// dB by which a signal falls with each e-fold of the square of the distance.
        var fall: Double
    }

    private var levels: [Level] = []
    /// dB that walls and maps take off the signal, by level and cell, and by how much strays from that count more, as a map knows it.
    private var beyond: [(decibels: Float, scale: Float)]
    /// What is against each cell for its being known worse than others; empty without maps.
    private var doubt: [Float] = []
    private let strength: (decibels: Double, stiffness: Double)
    var count: Int { levels.count }

    /// Whether the beacon's strength may be learned from it.
    let learns: Bool

    /// Whether all levels have maps.
    private(set) var isMapped = false

    /// - Parameter walls: How many rooms a signal leaves from a place to each cell; nil without outlines.
    init(
        _ evidence: [(observer: PositionFilter.Observer, what: PositionFilter.Evidence)], _ strength: BeaconStrength,
        on grid: FilterGrid, walls: (LocalPlane.Point) -> [UInt8]?
    ) {
        beyond = .init(repeating: (0, 1), count: evidence.count * PositionFilter.cells)
        var mappedCount = 0
        for (observer, what) in evidence {
            guard case .loss(let loss) = what else { continue }
            let first = levels.count * PositionFilter.cells
            let isCalibrated = observer.isCalibrated
            let height = isCalibrated ? Self.nearest : Self.open.height
            var n = isCalibrated && observer.n >= 1 ? min(observer.n, 6) : Self.open.n
            let map = isCalibrated ? observer.map : nil
            if let map {
                mappedCount += 1
                if doubt.isEmpty { doubt = [Float](repeating: 1, count: PositionFilter.cells) }
                for (cell, known) in map.known(of: grid, from: observer.place).enumerated() {
                    let doubtful = 1 + known.variance / Self.mapped.variance
                    beyond[first + cell] = (known.decibels, Self.mapped.scale / doubtful.squareRoot())
                    doubt[cell] *= doubtful
                }
            } else if !isCalibrated, let walls = walls(observer.place) {
                n = Self.outlined.n
                for cell in 0..<PositionFilter.cells { beyond[first + cell].decibels = Self.outlined.wall * Float(walls[cell]) }
            }
            levels.append(
                Level(
                    place: observer.place, loss: loss, squaredHeight: height * height, fall: 5 * n / log(10)))
        }
        // Twelve levels come to 1e5 at most.
        for cell in doubt.indices { doubt[cell] = log(doubt[cell]) / 2 }
        isMapped = mappedCount > 0 && mappedCount == levels.count
        let isCalibrated = evidence.allSatisfy { $0.observer.isCalibrated }
        let deviation = isCalibrated ? Self.asSaid : strength.deviation
        self.strength = (isCalibrated ? 0 : strength.decibels, 1 / (deviation * deviation))
        learns = !isCalibrated && levels.count > 1
    }

    /// The cost of a place, and the beacon's strength that suits it best: dB.
    func cost(at place: LocalPlane.Point, in cell: Int) -> (cost: Double, strength: Double) {
        guard !levels.isEmpty else { return (0, strength.decibels) }
        return withUnsafeTemporaryAllocation(of: (off: Double, scale: Double).self, capacity: levels.count) { residuals in
            var sum = strength.stiffness * strength.decibels
            var weights = strength.stiffness
            for (number, level) in levels.enumerated() {
                let (x, y) = (place.x - level.place.x, place.y - level.place.y)
                var residual = level.fall * log(x * x + y * y + level.squaredHeight) - level.loss
                let beyond = beyond[number * PositionFilter.cells + cell]
                residual += Double(beyond.decibels)
                let scale = Double(beyond.scale)
                residuals[number] = (residual, scale)
                let weight = StrayCost.weight((residual - strength.decibels) * scale) * scale * scale
                sum += weight * residual
                weights += weight
            }
            let assumed = sum / weights
            let off = assumed - strength.decibels
            var cost = doubt.isEmpty ? 0 : Double(doubt[cell])
            for residual in residuals { cost += StrayCost.decibels((residual.off - assumed) * residual.scale) }
            return (strength.stiffness * off * off / 2 + (isMapped ? 1 : Self.shared) * cost, assumed)
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
