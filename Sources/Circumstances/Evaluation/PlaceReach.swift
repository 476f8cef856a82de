/// How far the words `at` and `near` reach, in metres.
public enum PlaceReach {
    /// Where a device that sent this accuracy is at a place: within max(50, min(accuracy, 100)) of its point or edge.
    public static func at(accuracy: Double?) -> Double { max(50, min(accuracy ?? 0, 100)) }

    /// How far an `at` or `near` reaches where `at` reaches so far: what is `at` is `near`, whatever its radius.
    ///
    /// - Parameter nearRadius: nil for `at`.
    @inline(__always)
    static func reach(nearRadius: Double?, at reach: Double) -> Double { max(nearRadius ?? 0, reach) }

    static let atMax = 100.0
    /// How near the point of a place a device is surely at it.
    static let high = 20.0
    /// Beyond this accuracy nothing is sure.
    static let highAccuracyMax = 25.0
    /// How much further than `at` a visit lasts.
    static let visitMargin = 10.0
}
