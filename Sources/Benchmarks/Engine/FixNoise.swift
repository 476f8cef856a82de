import Glibc

/// What makes fixes differ from where a device is: normal noise in both directions that lasts, and now and then a fix that is far off.
struct FixNoise {
    /// Metres, in each direction.
    var sigma: Double
    /// Seconds after which two thirds of the noise are forgotten.
    var correlationSeconds = 60.0
    /// How much of its error a fix that is off reports as its accuracy, 0…1.
    var honesty = 0.0

    private var offset = (east: 0.0, north: 0.0)
    private(set) var random: SplitMix64

    init(sigma: Double, honesty: Double = 0, seed: UInt64) {
        self.sigma = sigma
        self.honesty = honesty
        random = SplitMix64(seed: seed)
    }

    struct Error {
        /// Metres.
        var east, north: Double
        /// Metres, as the fix reports it.
        var accuracy: Double
    }

    /// The error of a fix so many seconds after the last one.
    mutating func next(after seconds: Double) -> Error {
        let kept = exp(-seconds / correlationSeconds)
        let fresh = (1 - kept * kept).squareRoot() * sigma
        let step = normals()
        offset = (offset.east * kept + fresh * step.0, offset.north * kept + fresh * step.1)
        var error = Error(east: offset.east, north: offset.north, accuracy: 1.5 * sigma)
        if Int.random(in: 0..<100, using: &random) == 0 {
            let length = Double.random(in: 40..<150, using: &random)
            let direction = Double.random(in: 0..<2 * .pi, using: &random)
            error.east += length * cos(direction)
            error.north += length * sin(direction)
            error.accuracy = max(error.accuracy, length * honesty)
        }
        return error
    }

    /// A fix by the cells of a telephone network: hundreds of metres off, and honest about it.
    mutating func coarse() -> Error {
        let accuracy = Double.random(in: 300..<2500, using: &random)
        let step = normals()
        return Error(east: step.0 * accuracy / 1.5, north: step.1 * accuracy / 1.5, accuracy: accuracy)
    }

    mutating func uniform(_ range: Range<Double>) -> Double { Double.random(in: range, using: &random) }

    /// Two independent standard normal values (Box and Muller, 1958).
    private mutating func normals() -> (Double, Double) {
        let radius = (-2 * log(1 - Double.random(in: 0..<1, using: &random))).squareRoot()
        let angle = Double.random(in: 0..<2 * .pi, using: &random)
        return (radius * cos(angle), radius * sin(angle))
    }
}
