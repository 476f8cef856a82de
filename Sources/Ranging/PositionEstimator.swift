import Glibc

/// Where a beacon is, from what several observers of known position hear of it.
///
/// One observer: its own place. Two: between them, weighted by 1/distance². From three on: the point of least squares between the levels
/// heard and those the log-distance model foresees. Walls and bodies take something off a signal and add nothing, so a level that is
/// higher than foreseen speaks louder against a point than one that is lower.
public enum PositionEstimator {
    /// One observer and what it hears.
    public struct Reading: Equatable, Sendable {
        public var place: LocalPlane.Point
        /// dB below the beacon's power at 1 m.
        public var loss: Double
        /// Its exponent of the path loss.
        public var n: Double
        /// Its exponent and offset were measured: what is heard is right on the average.
        public var isCalibrated: Bool

        public init(place: LocalPlane.Point, loss: Double, n: Double, isCalibrated: Bool = false) {
            self.place = place
            self.loss = loss
            self.n = n
            self.isCalibrated = isCalibrated
        }

        /// Metres.
        public var distance: Double { PathLoss.distance(loss: loss, n: n) }
    }

    public struct Estimate: Equatable, Sendable {
        public var place: LocalPlane.Point
        /// Metres: two of three estimates lie within, as measured in a furnished flat.
        public var accuracy: Double
    }

    /// The nearest so many are used: the others say next to nothing.
    public static let readingsMax = 8
    /// Over so many milliseconds readings are averaged for a position: long enough against fading, short enough for somebody who walks.
    public static let window: Int64 = 4_000

    /// dB by which levels stray around the model.
    private static let deviation = 6.0
    private static let weights = (stronger: 1.5, weaker: 0.7)
    /// dB by which a beacon may be stronger or weaker than it says: where all observers were calibrated, and where not.
    private static let deviations = (calibrated: 2.0, other: 12.0)
    /// Metres around the observers where a beacon may be: they mostly hang at the edges of what they cover.
    private static let margin = 0.3
    private static let nearest = 0.1

    /// nil: there is no reading.
    public static func estimate(_ readings: [Reading]) -> Estimate? {
        let used = readings.filter { $0.loss.isFinite && $0.n > 0 }.sorted { $0.distance < $1.distance }.prefix(readingsMax)
        guard let first = used.first else { return nil }
        guard used.count > 1 else { return Estimate(place: first.place, accuracy: max(1, min(first.distance, 1000))) }
        guard used.count > 2 else { return centroid(Array(used)) }
        return leastSquares(Array(used))
    }

    private static func centroid(_ readings: [Reading]) -> Estimate {
        var sum = (x: 0.0, y: 0.0, weight: 0.0)
        for reading in readings {
            let weight = 1 / max(0.01, reading.distance * reading.distance)
            sum.x += weight * reading.place.x
            sum.y += weight * reading.place.y
            sum.weight += weight
        }
        let place = LocalPlane.Point(x: sum.x / sum.weight, y: sum.y / sum.weight)
        return Estimate(place: place, accuracy: max(1, min(readings[0].distance, 1000)))
    }

    // MARK: Least squares

    /// Steps to each side of the centre: first over all, then around the best of the last round.
    private static let steps = (coarse: 8, fine: 2)
    private static let refinements = 5

    private static func leastSquares(_ readings: [Reading]) -> Estimate {
        let model = Model(readings)
        var low = readings[0].place
        var high = low
        for reading in readings {
            low = LocalPlane.Point(x: min(low.x, reading.place.x), y: min(low.y, reading.place.y))
            high = LocalPlane.Point(x: max(high.x, reading.place.x), y: max(high.y, reading.place.y))
        }
        let centre = LocalPlane.Point(x: (low.x + high.x) / 2, y: (low.y + high.y) / 2)
        var span = LocalPlane.Point(x: (high.x - low.x) / 2 + margin, y: (high.y - low.y) / 2 + margin)
        let bounds = (
            low: LocalPlane.Point(x: centre.x - span.x, y: centre.y - span.y),
            high: LocalPlane.Point(x: centre.x + span.x, y: centre.y + span.y)
        )
        let costs = Lattice(centre: centre, span: span, steps: steps.coarse).places.map { ($0, model.cost(at: $0)) }
        guard var best = costs.min(by: { $0.1 < $1.1 }) else { return centroid(readings) }
        let accuracy = spread(costs, around: best)
        // The cost has several valleys; within the deepest one it is smooth.
        for _ in 0..<refinements {
            span = LocalPlane.Point(x: span.x * 0.4, y: span.y * 0.4)
            for finer in Lattice(centre: best.0, span: span, steps: steps.fine).places {
                // Outside the observers the model is at its worst, and its valleys run on for ever.
                let place = LocalPlane.Point(
                    x: min(max(finer.x, bounds.low.x), bounds.high.x), y: min(max(finer.y, bounds.low.y), bounds.high.y))
                let cost = model.cost(at: place)
                if cost < best.1 { best = (place, cost) }
            }
        }
        return Estimate(place: best.0, accuracy: min(max(1, accuracy), 1000))
    }

    /// The root mean square distance from the best place over where else the beacon may be, by likelihood.
    private static func spread(
        _ costs: [(place: LocalPlane.Point, cost: Double)], around best: (place: LocalPlane.Point, cost: Double)
    ) -> Double {
        var sum = (weight: 0.0, squares: 0.0)
        for (place, cost) in costs {
            let weight = exp(best.cost - cost)
            let off = place.distance(to: best.place)
            sum.weight += weight
            sum.squares += weight * off * off
        }
        return (sum.squares / sum.weight).squareRoot()
    }

    private struct Lattice {
        var centre: LocalPlane.Point
        var span: LocalPlane.Point
        var steps: Int

        var places: [LocalPlane.Point] {
            (-steps...steps).flatMap { column in
                (-steps...steps).map { row in
                    LocalPlane.Point(
                        x: centre.x + span.x * Double(column) / Double(steps), y: centre.y + span.y * Double(row) / Double(steps))
                }
            }
        }
    }

    /// What the readings say against a place.
    private struct Model {
        let readings: [Reading]
        /// The inverse variance of the beacon's own strength.
        let stiffness: Double

        init(_ readings: [Reading]) {
            self.readings = readings
            let deviation = readings.allSatisfy(\.isCalibrated) ? deviations.calibrated : deviations.other
            stiffness = 1 / (deviation * deviation)
        }

        /// Half the sum of squared residuals in units of their deviations, at the strength of the beacon that suits the place best: the
        /// exponent of a Gaussian likelihood.
        func cost(at place: LocalPlane.Point) -> Double {
            withUnsafeTemporaryAllocation(of: Double.self, capacity: readings.count) { residuals in
                for (number, reading) in readings.enumerated() {
                    let foreseen = 10 * reading.n * log10(max(nearest, place.distance(to: reading.place)))
                    residuals[number] = foreseen - reading.loss
                }
                // Which residuals are on which side depends on the strength: two rounds settle that.
                var strength = 0.0
                for _ in 0..<2 {
                    var sum = 0.0
                    var weight = stiffness
                    for residual in residuals {
                        let own = Self.weight(residual - strength)
                        sum += own * residual
                        weight += own
                    }
                    strength = sum / weight
                }
                var cost = stiffness * strength * strength
                for residual in residuals {
                    let rest = residual - strength
                    cost += Self.weight(rest) * rest * rest
                }
                return cost / 2
            }
        }

        private static func weight(_ residual: Double) -> Double {
            (residual > 0 ? weights.stronger : weights.weaker) / (deviation * deviation)
        }
    }
}
