#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The position of a beacon that one or two observers hear: each estimate pulls it, the more the longer the last one is ago.
public struct PositionTrack: Equatable, Sendable {
    /// Seconds after which two thirds of a jump are made.
    private static let inertia = 2.0
    /// Milliseconds without an estimate after which the next one counts alone.
    private static let forgetful: Int64 = 30_000

    /// Milliseconds over which readings are averaged for it.
    public static let window: Int64 = 4_000

    public private(set) var estimate: PositionFilter.Estimate?
    private var at: Int64 = .min

    public init() {}

    /// Takes what observers hear now.
    public mutating func take(_ readings: [PositionEstimator.Reading], at instant: Int64) {
        guard let next = PositionEstimator.estimate(readings) else { return }
        let (elapsed, overflow) = instant.subtractingReportingOverflow(at)
        guard let last = estimate, !overflow, (0..<Self.forgetful).contains(elapsed) else {
            estimate = next
            at = instant
            return
        }
        at = instant
        let part = 1 - exp(-Double(elapsed) / 1000 / Self.inertia)
        estimate = PositionFilter.Estimate(
            place: LocalPlane.Point(
                x: last.place.x + part * (next.place.x - last.place.x), y: last.place.y + part * (next.place.y - last.place.y)),
            accuracy: last.accuracy + part * (next.accuracy - last.accuracy))
    }

    /// It was here when it was last heard of.
    public mutating func restore(_ estimate: PositionFilter.Estimate, at instant: Int64) {
        self.estimate = estimate
        at = instant
    }
}
