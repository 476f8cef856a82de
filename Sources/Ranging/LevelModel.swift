#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What levels heard of a beacon say against a place: how far they are from those that the log-distance model foresees there.
struct LevelModel {
    /// dB by which levels stray around the model.
    private static let deviation = 6.0
    /// What a level counts that is stronger or weaker than foreseen. Only what was calibrated is right on the average.
    private static let weights = (calibrated: (stronger: 1.5, weaker: 0.7), other: (stronger: 1.0, weaker: 1.0))
    /// What is supposed of observers that were not calibrated: the exponent of free space, and metres above or below the beacon.
    /// What calibrations know of heights lies in their exponents.
    private static let open = (n: 2.0, height: 1.0)
    private static let nearest = 0.1

    private let readings: [PositionEstimator.Reading]
    private let strength: BeaconStrength
    private let weights: (stronger: Double, weaker: Double)
    /// The inverse variance of the beacon's own strength.
    private let stiffness: Double

    /// - Parameter isCalibrated: All of the observers are.
    init(_ readings: [PositionEstimator.Reading], _ strength: BeaconStrength, isCalibrated: Bool) {
        self.readings = readings
        self.strength = strength
        let weights = isCalibrated ? Self.weights.calibrated : Self.weights.other
        let variance = Self.deviation * Self.deviation
        self.weights = (weights.stronger / variance, weights.weaker / variance)
        stiffness = 1 / (strength.deviation * strength.deviation)
    }

    /// Half the sum of squared residuals in units of their deviations, at the strength of the beacon that suits the place best: the
    /// exponent of a Gaussian likelihood; and that strength.
    func cost(at place: LocalPlane.Point) -> (cost: Double, strength: Double) {
        withUnsafeTemporaryAllocation(of: Double.self, capacity: readings.count) { residuals in
            for (number, reading) in readings.enumerated() { residuals[number] = foreseen(reading, at: place) - reading.loss }
            // Which residuals are on which side depends on the strength: two rounds settle that.
            var assumed = strength.decibels
            for _ in 0..<2 {
                var sum = stiffness * strength.decibels
                var weight = stiffness
                for residual in residuals {
                    let own = self.weight(residual - assumed)
                    sum += own * residual
                    weight += own
                }
                assumed = sum / weight
            }
            let off = assumed - strength.decibels
            var cost = stiffness * off * off
            for residual in residuals {
                let rest = residual - assumed
                cost += weight(rest) * rest * rest
            }
            return (cost / 2, assumed)
        }
    }

    /// dB below the power at 1 m.
    private func foreseen(_ reading: PositionEstimator.Reading, at place: LocalPlane.Point) -> Double {
        let off = place.distance(to: reading.place)
        guard !reading.isCalibrated else { return 10 * reading.n * log10(max(Self.nearest, off)) }
        return 5 * Self.open.n * log10(off * off + Self.open.height * Self.open.height)
    }

    private func weight(_ residual: Double) -> Double { residual > 0 ? weights.stronger : weights.weaker }
}
