#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Where a beacon is that one or two observers hear, for which no ``PositionFilter`` is worth its while: at the one, or between them,
/// weighted by 1/distance².
public enum PositionEstimator {
    /// One observer and how far away it has the beacon.
    public struct Reading: Equatable, Sendable {
        public var place: LocalPlane.Point
        /// Metres.
        public var distance: Double

        public init(place: LocalPlane.Point, distance: Double) {
            self.place = place
            self.distance = distance
        }
    }

    /// So many observers are left to a ``PositionFilter``.
    public static let readingsMax = 2

    /// - Returns: nil: there is no reading.
    public static func estimate(_ readings: [Reading]) -> PositionFilter.Estimate? {
        let used = readings.filter { $0.distance.isFinite }
        guard let nearest = used.map(\.distance).min() else { return nil }
        var sum = (x: 0.0, y: 0.0, weight: 0.0)
        for reading in used {
            let weight = 1 / max(0.01, reading.distance * reading.distance)
            sum.x += weight * reading.place.x
            sum.y += weight * reading.place.y
            sum.weight += weight
        }
        let place = used.count == 1 ? used[0].place : LocalPlane.Point(x: sum.x / sum.weight, y: sum.y / sum.weight)
        return PositionFilter.Estimate(place: place, accuracy: max(1, min(nearest, 1000)))
    }
}
