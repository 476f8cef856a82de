/// Waiting times between tries: full jitter, so that a thousand clients of a broker that comes back do not come at once.
///
/// Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
struct Backoff {
    let minimum: Double
    let maximum: Double
    private(set) var failures = 0

    init(minimum: Double, maximum: Double) {
        self.minimum = max(0, minimum)
        self.maximum = max(self.minimum, maximum)
    }

    /// Seconds until the next try; `random` is from 0 to 1.
    mutating func next(random: Double) -> Double {
        // 2^30 times the minimum is beyond any maximum that makes sense: stop counting there.
        let ceiling = min(maximum, minimum * Double(1 << min(failures, 30)))
        failures += 1
        return ceiling * random
    }

    /// Seconds until the next try where only somebody's action helps: near the maximum, still spread.
    mutating func slow(random: Double) -> Double {
        failures += 1
        return maximum * (0.75 + 0.25 * random)
    }

    mutating func reset() { failures = 0 }
}
