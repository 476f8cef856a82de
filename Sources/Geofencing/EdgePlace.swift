import Geodesy
import Glibc

/// Sines in degrees.
enum Turned {
    static func sine(_ degrees: Double) -> Double { sin(degrees * .pi / 180) }
    static func cosine(_ degrees: Double) -> Double { cos(degrees * .pi / 180) }
}

/// A position that distances to edges are measured from.
struct EdgePlace {
    private let latitude, longitude: Double
    private let point: ECEF
    /// Metres a degree to the east and to the north here.
    private let scale: SIMD2<Double>

    init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
        point = ECEF(latitude: latitude, longitude: longitude)
        let sine = Turned.sine(latitude)
        let curve = 1 - Ellipsoid.eccentricitySquared * sine * sine
        let normal = Ellipsoid.equatorialRadius / curve.squareRoot()
        let meridian = Ellipsoid.equatorialRadius * (1 - Ellipsoid.eccentricitySquared) / (curve * curve.squareRoot())
        scale = SIMD2(normal * Turned.cosine(latitude), meridian) * (Double.pi / 180)
    }

    /// Degrees within which a plane is right to some hundredths, and how far to the north.
    private static let planeMax = 0.25
    private static let planeLatitudeMax = 75.0

    /// Metres that the edge is away at least and at most.
    func bounds(_ from: SIMD2<Double>, _ to: SIMD2<Double>) -> (lower: Double, upper: Double) {
        let start = offset(from)
        let end = start + (to - from)
        let widest = max(max(abs(start.x), abs(end.x)), max(abs(start.y), abs(end.y)))
        if widest <= Self.planeMax, abs(latitude) <= Self.planeLatitudeMax {
            let metres = Self.fromOrigin(start * scale, end * scale)
            return (metres * 0.96 - 0.001, metres * 1.04 + 0.001)
        }
        // No point of it is nearer than both ends are, less its length.
        let first = point.squaredChord(to: Self.ecef(from)).squareRoot()
        let second = point.squaredChord(to: Self.ecef(to)).squareRoot()
        let flattest = from.y * to.y <= 0 ? 0 : min(abs(from.y), abs(to.y))
        let length = SIMD2((to.x - from.x) * 111_320 * Turned.cosine(flattest), (to.y - from.y) * 111_700)
        let reach = (length * length).sum().squareRoot()
        // An arc is longer than its chord by 57 % at most.
        return (max(0, (first + second - reach) / 2), min(first, second) * 1.6)
    }

    /// Metres to the nearest point of the edge, along the ellipsoid.
    func metres(_ from: SIMD2<Double>, _ to: SIMD2<Double>) -> Double {
        let step = to - from
        // Within pieces of a degree the distance has one minimum.
        let pieces = max(1, min(180, Int(max(abs(step.x), abs(step.y)).rounded(.up))))
        var best = 0.0
        if pieces > 1 {
            var nearest = Double.infinity
            for piece in 0...(2 * pieces) {
                let share = Double(piece) / Double(2 * pieces)
                let chord = squaredChord(from, step, share)
                if chord < nearest { (nearest, best) = (chord, share) }
            }
        } else {
            best = 0.5
        }
        let half = 1 / Double(pieces)
        let share = nearestShare(from, step, max(0, best - half), min(1, best + half))
        let nearest = min(squaredChord(from, step, share), squaredChord(from, step, 0), squaredChord(from, step, 1))
        let chord = nearest.squareRoot()
        guard chord > 20_000 else { return Geodesic.arc(ofChord: chord) }
        return Geodesic.distance(from: point, to: Self.ecef(from + step * share))
    }

    /// The golden section; to 0.1 mm of an edge of a degree.
    private func nearestShare(_ from: SIMD2<Double>, _ step: SIMD2<Double>, _ low: Double, _ high: Double) -> Double {
        let golden = 0.618_033_988_749_894_9
        var (low, high) = (low, high)
        var left = high - golden * (high - low)
        var right = low + golden * (high - low)
        var (leftChord, rightChord) = (squaredChord(from, step, left), squaredChord(from, step, right))
        for _ in 0..<44 {
            if leftChord < rightChord {
                (high, right, rightChord) = (right, left, leftChord)
                left = high - golden * (high - low)
                leftChord = squaredChord(from, step, left)
            } else {
                (low, left, leftChord) = (left, right, rightChord)
                right = low + golden * (high - low)
                rightChord = squaredChord(from, step, right)
            }
        }
        return (low + high) / 2
    }

    private func squaredChord(_ from: SIMD2<Double>, _ step: SIMD2<Double>, _ share: Double) -> Double {
        point.squaredChord(to: Self.ecef(from + step * share))
    }

    private static func ecef(_ degrees: SIMD2<Double>) -> ECEF { ECEF(latitude: degrees.y, longitude: wrapped(degrees.x)) }

    /// Degrees from here, the shorter way round.
    private func offset(_ degrees: SIMD2<Double>) -> SIMD2<Double> {
        SIMD2(wrapped(degrees.x - longitude), degrees.y - latitude)
    }

    /// From the origin to the line between two points of a plane.
    private static func fromOrigin(_ start: SIMD2<Double>, _ end: SIMD2<Double>) -> Double {
        let along = end - start
        let length = (along * along).sum()
        let share = length > 0 ? max(0, min(1, -(start * along).sum() / length)) : 0
        let nearest = start + along * share
        return (nearest * nearest).sum().squareRoot()
    }
}
