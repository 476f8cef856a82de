#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What a walk with a beacon at known distances says of a receiver: its exponent of the path loss and its offset.
///
/// A straight line through the readings over the logarithm of the distance, by least squares. Readings farther than three deviations
/// from it are left out, once.
public struct Calibration: Sendable {
    /// One reading of the walk, with where it was taken.
    public struct Sample: Equatable, Sendable {
        /// Metres, above 0.
        public var distance: Double
        /// dBm as received.
        public var rssi: Double
        /// Metres east and north of the receiver; nil: not known.
        public var place: LocalPlane.Point?

        public init(distance: Double, rssi: Double, place: LocalPlane.Point? = nil) {
            self.distance = distance
            self.rssi = rssi
            self.place = place
        }
    }

    /// What fits the walk best, and how well.
    public struct Result: Equatable, Sendable {
        public var n: Double
        /// dB to add to every reading.
        public var rssiOffset: Double
        /// dB by which readings stray around the line.
        public var deviation: Double
        public var used: Int
        /// Nearest and farthest, metres.
        public var distances: ClosedRange<Double>
        /// False where the walk was too short, or kept its distance: `n` is then the standard one.
        public var fitsExponent: Bool
        /// What it does to the tenth of the walk that it was not fitted on; nil with too few readings to hold any back.
        public var trial: Trial?

        /// What the walk measured beyond the line, where its readings have places and it fits what was held back better than the line.
        public var map: RadioMap?

        /// False where readings hardly fall with the distance, as they do where gateways were taken for each other.
        public var falls = true

        /// Whether what was held back agrees no better with it than with what was set before, or the walk cannot be right.
        public var hurts: Bool { !falls || trial.map { min($0.fitted, $0.mapped ?? .infinity) >= $0.former } ?? false }
    }

    /// dB by which the readings that were held back stray, with the settings of before and with those fitted on the others.
    public struct Trial: Equatable, Sendable {
        public var former: Double
        public var fitted: Double
        /// With a map beside the line.
        public var mapped: Double?
    }

    /// Where an observer hung during a walk, degrees.
    public typealias Site = (latitude: Double, longitude: Double)

    /// Of every so many stretches of a walk one is held back, of so many readings at least. Single readings would not do: their
    /// neighbours, a moment before, say nearly the same.
    private static let heldBack = (every: 10, from: 40, stretch: 10)

    public static let samplesMin = 10
    /// Less steep is no path loss.
    private static let slopeMin = 0.5

    /// - Parameters:
    ///   - txPower: dBm at 1 m that the beacon announces.
    ///   - former: What the receiver has so far.
    ///   - site: Where it hangs; nil: no map is made.
    /// - Returns: nil with less than ``samplesMin`` readings.
    public static func fit(
        _ samples: [Sample], txPower: Double = PathLoss.standardTxPower, instead former: RangingSettings = .standard,
        at site: Site? = nil
    ) -> Result? {
        guard var result = fitted(samples, txPower) else { return nil }
        guard samples.count >= heldBack.from else { return result }
        let stretch = min(heldBack.stretch, samples.count / 30)
        func isHeld(_ place: Int) -> Bool { place / stretch % heldBack.every == 0 }
        let (held, others) = (
            samples.indices.filter { isHeld($0) }.map { samples[$0] },
            samples.indices.filter { !isHeld($0) }.map { samples[$0] }
        )
        guard let line = fitted(others, txPower) else { return result }
        var settings = RangingSettings(n: line.n, rssiOffset: line.rssiOffset)
        var trial = Trial(former: stray(held, former, txPower), fitted: stray(held, settings, txPower))
        if let site, let map = map(others, line, txPower, at: site) {
            settings.map = map
            let mapped = stray(held, settings, txPower)
            trial.mapped = mapped
            if mapped < trial.fitted { result.map = self.map(samples, result, txPower, at: site) }
        }
        result.trial = trial
        return result
    }

    /// What the walk measured beyond a line.
    private static func map(_ samples: [Sample], _ line: Result, _ txPower: Double, at site: Site) -> RadioMap? {
        let readings = samples.compactMap { sample in
            sample.place.map { (place: $0, decibels: -line.residual(sample, txPower)) }
        }
        return RadioMap(readings, latitude: site.latitude, longitude: site.longitude)
    }

    /// The mean of how far readings are from what settings foresee, dB: a mean of sizes, which outliers do not decide.
    private static func stray(_ samples: [Sample], _ settings: RangingSettings, _ txPower: Double) -> Double {
        let sum = samples.reduce(0) { sum, sample in
            let beyond = sample.place.flatMap { settings.map?.known(east: $0.x, north: $0.y).decibels }.map { Double($0) } ?? 0
            let foreseen = txPower - 10 * settings.n * log10(max(0.1, sample.distance)) - beyond
            return sum + abs(sample.rssi + settings.rssiOffset - foreseen)
        }
        return sum / Double(max(1, samples.count))
    }

    private static func fitted(_ samples: [Sample], _ txPower: Double) -> Result? {
        let valid = samples.filter { $0.distance > 0 && $0.distance.isFinite && $0.rssi < 0 && $0.rssi > -200 }
        guard let rough = line(valid, txPower) else { return nil }
        let kept = valid.filter { abs(rough.residual($0, txPower)) <= 3 * max(1, rough.deviation) }
        return line(kept, txPower) ?? rough
    }

    private static func line(_ samples: [Sample], _ txPower: Double) -> Result? {
        guard samples.count >= samplesMin, let nearest = samples.map(\.distance).min(),
            let farthest = samples.map(\.distance).max()
        else { return nil }
        let count = Double(samples.count)
        let x = samples.map { 10 * log10(max(0.1, $0.distance)) }
        let meanX = x.reduce(0, +) / count
        let meanY = samples.reduce(0) { $0 + $1.rssi } / count
        var products = 0.0
        var squares = 0.0
        for (x, sample) in zip(x, samples) {
            products += (x - meanX) * (sample.rssi - meanY)
            squares += (x - meanX) * (x - meanX)
        }
        // 1 dB of spread: distances that differ by half, say.
        let fits = squares / count >= 1
        let slope = fits ? -products / squares : RangingSettings.standard.n
        let n = min(max(slope, 1.2), 5)
        let offset = txPower - (meanY + n * meanX)
        var result = Result(
            n: n, rssiOffset: min(max(offset, RangingSettings.offsets.lowerBound), RangingSettings.offsets.upperBound),
            deviation: 0,
            used: samples.count, distances: nearest...farthest, fitsExponent: fits && n == slope)
        result.falls = !fits || slope >= slopeMin
        let sum = samples.reduce(0) { $0 + result.residual($1, txPower) * result.residual($1, txPower) }
        result.deviation = (sum / count).squareRoot()
        return result
    }
}

extension Calibration.Result {
    fileprivate func residual(_ sample: Calibration.Sample, _ txPower: Double) -> Double {
        sample.rssi + rssiOffset - (txPower - 10 * n * log10(max(0.1, sample.distance)))
    }
}
