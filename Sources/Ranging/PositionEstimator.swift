#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Where a beacon is, from what several observers of known position hear of it.
///
/// One observer: its own place. Two: between them, weighted by 1/distance². From three on: the point of least squares between the levels
/// heard and those the log-distance model foresees. Bodies and doors take something off a signal and add nothing, so where observers were
/// calibrated a level that is higher than foreseen speaks louder against a point than one that is lower. Where the observers were not calibrated the model is that of
/// free space to receivers a metre above or below, at whatever strength the beacon turns out to have, and the point is pulled towards the
/// observers by the power that each hears: what the model gets wrong there, walls mostly, errs in other directions.
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

    /// Where the beacon is taken to be.
    public struct Estimate: Equatable, Sendable {
        public var place: LocalPlane.Point
        /// Metres: two of three estimates lie within, as measured in a furnished flat.
        public var accuracy: Double
        /// dB by which the beacon seems stronger than it says; nil: it was not reckoned, or observers were calibrated.
        public var strength: Double?

        public init(place: LocalPlane.Point, accuracy: Double, strength: Double? = nil) {
            self.place = place
            self.accuracy = accuracy
            self.strength = strength
        }
    }

    /// The nearest so many are used: the others say next to nothing.
    public static let readingsMax = 8
    /// Over so many milliseconds readings are averaged for a position: long enough against fading, short enough for somebody who walks.
    public static let window: Int64 = 4_000

    /// What part of the spread by likelihood is told: so far two of three estimates were off on a long drive through the flat.
    private static let spreadTold = 0.8
    /// How far the point is pulled towards the observers where they were not calibrated.
    private static let pull = 0.25

    /// - Parameter strength: What is known of the beacon's from earlier estimates; it counts where observers were not calibrated.
    /// - Returns: nil: there is no reading.
    public static func estimate(_ readings: [Reading], strength: BeaconStrength = BeaconStrength()) -> Estimate? {
        let used = readings.filter { $0.loss.isFinite && $0.n > 0 }.sorted { $0.distance < $1.distance }.prefix(readingsMax)
        guard let first = used.first else { return nil }
        guard used.count > 1 else { return Estimate(place: first.place, accuracy: max(1, min(first.distance, 1000))) }
        guard used.count > 2 else { return centroid(Array(used)) }
        return leastSquares(Array(used), strength)
    }

    private static func centroid(_ readings: [Reading]) -> Estimate {
        let place = mean(of: readings) { 1 / max(0.01, $0.distance * $0.distance) }
        return Estimate(place: place, accuracy: max(1, min(readings[0].distance, 1000)))
    }

    private static func mean(of readings: [Reading], weight: (Reading) -> Double) -> LocalPlane.Point {
        var sum = (x: 0.0, y: 0.0, weight: 0.0)
        for reading in readings {
            let weight = weight(reading)
            sum.x += weight * reading.place.x
            sum.y += weight * reading.place.y
            sum.weight += weight
        }
        return LocalPlane.Point(x: sum.x / sum.weight, y: sum.y / sum.weight)
    }

    // MARK: Least squares

    /// Steps to each side of the centre: first over all, then around the best of the last round.
    private static let steps = (coarse: 8, fine: 2)
    private static let refinements = 5

    private static func leastSquares(_ readings: [Reading], _ strength: BeaconStrength) -> Estimate {
        let isCalibrated = readings.allSatisfy(\.isCalibrated)
        let model = LevelModel(readings, isCalibrated ? .asSaid : strength, isCalibrated: isCalibrated)
        let bounds = Bounds(readings.map(\.place))
        let costs = bounds.lattice(steps: steps.coarse).map { ($0, model.cost(at: $0).cost) }
        guard var best = costs.min(by: { $0.1 < $1.1 }) else { return centroid(readings) }
        // The cost has several valleys; within the deepest one it is smooth.
        var span = bounds
        for _ in 0..<refinements {
            span = span.around(best.0, scaledBy: 0.4)
            for finer in span.lattice(steps: steps.fine) {
                // Outside the observers the model is at its worst, and its valleys run on for ever.
                let place = bounds.nearest(to: finer)
                let cost = model.cost(at: place).cost
                if cost < best.1 { best = (place, cost) }
            }
        }
        let strength = isCalibrated ? nil : model.cost(at: best.0).strength
        let place = isCalibrated ? best.0 : pulled(best.0, by: readings)
        return Estimate(
            place: place, accuracy: min(max(1, spreadTold * spread(costs, around: place, least: best.1)), 1000),
            strength: strength)
    }

    /// Nearer to the observers, weighted by the power that each hears: 1/distance² in free space.
    private static func pulled(_ place: LocalPlane.Point, by readings: [Reading]) -> LocalPlane.Point {
        let strongest = readings.map(\.loss).min() ?? 0
        let middle = mean(of: readings) { pow(10, (strongest - $0.loss) / 10) }
        return LocalPlane.Point(x: place.x + pull * (middle.x - place.x), y: place.y + pull * (middle.y - place.y))
    }

    /// The root mean square distance from a place over where else the beacon may be, by likelihood.
    private static func spread(
        _ costs: [(place: LocalPlane.Point, cost: Double)], around told: LocalPlane.Point, least: Double
    ) -> Double {
        var sum = (weight: 0.0, squares: 0.0)
        for (place, cost) in costs {
            let weight = exp(least - cost)
            let off = place.distance(to: told)
            sum.weight += weight
            sum.squares += weight * off * off
        }
        return (sum.squares / sum.weight).squareRoot()
    }

    /// Where a beacon may be: observers mostly hang at the edges of what they cover.
    private struct Bounds {
        var centre: LocalPlane.Point
        /// Metres to each side of the centre.
        var span: LocalPlane.Point

        init(_ places: [LocalPlane.Point]) {
            let x = (low: places.map(\.x).min() ?? 0, high: places.map(\.x).max() ?? 0)
            let y = (low: places.map(\.y).min() ?? 0, high: places.map(\.y).max() ?? 0)
            centre = LocalPlane.Point(x: (x.low + x.high) / 2, y: (y.low + y.high) / 2)
            span = LocalPlane.Point(x: (x.high - x.low) / 2, y: (y.high - y.low) / 2)
        }

        func around(_ place: LocalPlane.Point, scaledBy factor: Double) -> Bounds {
            var smaller = self
            smaller.centre = place
            smaller.span = LocalPlane.Point(x: span.x * factor, y: span.y * factor)
            return smaller
        }

        func nearest(to place: LocalPlane.Point) -> LocalPlane.Point {
            LocalPlane.Point(
                x: min(max(place.x, centre.x - span.x), centre.x + span.x),
                y: min(max(place.y, centre.y - span.y), centre.y + span.y))
        }

        func lattice(steps: Int) -> [LocalPlane.Point] {
            (-steps...steps).flatMap { column in
                (-steps...steps).map { row in
                    LocalPlane.Point(
                        x: centre.x + span.x * Double(column) / Double(steps), y: centre.y + span.y * Double(row) / Double(steps))
                }
            }
        }
    }
}
