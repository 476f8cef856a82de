/// A level in dB that drifts slowly and is read with noise: the one-dimensional Kalman filter.
///
/// Source: R. E. Kalman, J. Basic Engineering 82 (1960), with a random walk as the model. The noise is that of a phone's readings indoors.
struct KalmanEstimate: BitwiseCopyable {
    /// dB; meaningless while ``variance`` is negative.
    private(set) var level: Float = 0
    /// dB²; negative: nothing was read yet.
    private var variance: Float = -1

    /// dB² a second that the level drifts.
    private static let drift: Float = 0.5
    /// dB² of a reading.
    private static let noise: Float = 16

    /// - Parameter milliseconds: Since the last reading.
    mutating func take(_ reading: Double, after milliseconds: Int64) {
        guard variance >= 0 else {
            level = Float(reading)
            variance = Self.noise
            return
        }
        variance += Self.drift * Float(min(max(milliseconds, 0), 600_000)) / 1000
        let gain = variance / (variance + Self.noise)
        level += gain * (Float(reading) - level)
        variance *= 1 - gain
    }
}
