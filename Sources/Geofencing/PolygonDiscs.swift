import Geodesy

/// Two circles around the middle of a polygon, in a plane that touches the earth there.
///
/// Edges are straight in degrees, and so in the plane: what lies within the inner circle is inside without a look at an edge, what
/// lies beyond the outer one is not. Distances in the plane are right to some hundredths where all is near.
struct PolygonDiscs {
    /// Degrees; the longitude as in the polygon, beyond 180 where that goes on.
    private let middle: SIMD2<Double>
    /// Metres a degree.
    private let scale: SIMD2<Double>
    /// Metres in the plane: no edge is nearer to the middle; 0 where that is not inside.
    private let inner: Double
    /// All edges are within.
    private let outer: Double
    private let isPlane: Bool

    /// Degrees from the middle, and how far to the north.
    private static let planeMax = 0.1
    private static let latitudeMax = 75.0
    /// What plane distances are wrong by at most, of themselves and in metres.
    private static let error = 0.02
    private static let slack = 0.001

    init(_ points: [SIMD2<Double>], _ ringEnds: [Int], _ box: Area.Box, west: Double) {
        let half = SIMD2(box.width, box.north - box.south) / 2
        let middle = SIMD2(west, box.south) + half
        let sine = Turned.sine(middle.y)
        let curve = 1 - Ellipsoid.eccentricitySquared * sine * sine
        let normal = Ellipsoid.equatorialRadius / curve.squareRoot()
        let meridian = Ellipsoid.equatorialRadius * (1 - Ellipsoid.eccentricitySquared) / (curve * curve.squareRoot())
        scale = SIMD2(normal * Turned.cosine(middle.y), meridian) * (Double.pi / 180)
        self.middle = middle
        isPlane = max(half.x, half.y) <= Self.planeMax && abs(middle.y) <= Self.latitudeMax
        var farthest = 0.0
        for point in points {
            let offset = (point - middle) * scale
            farthest = max(farthest, (offset * offset).sum())
        }
        // A little more and less than what is rounded.
        outer = farthest.squareRoot() * (1 + 1e-9)
        let nearest = Self.nearest(points, ringEnds, middle, scale)
        inner = FencePolygon.crosses(points, ringEnds, middle) ? nearest * (1 - 1e-9) : 0
    }

    /// Whether a point in degrees is inside; nil where its edges say.
    @inline(__always)
    func holds(_ point: SIMD2<Double>) -> Bool? {
        let offset = (point - middle) * scale
        let squared = (offset * offset).sum()
        if squared < inner * inner { return true }
        return squared > outer * outer ? false : nil
    }

    /// Degrees from the middle; nil where a plane is not right enough.
    func offset(latitude: Double, longitude: Double) -> SIMD2<Double>? {
        guard isPlane else { return nil }
        let offset = SIMD2(wrapped(longitude - middle.x), latitude - middle.y)
        return max(abs(offset.x), abs(offset.y)) <= Self.planeMax ? offset : nil
    }

    func isBeyond(_ metres: Double, _ offset: SIMD2<Double>) -> Bool {
        (Self.length(offset * scale) - outer) * (1 - Self.error) - Self.slack > metres
    }

    func isInside(by metres: Double, _ offset: SIMD2<Double>) -> Bool {
        (inner - Self.length(offset * scale)) * (1 - Self.error) - Self.slack >= metres
    }

    /// Metres that the nearest edge is away at least and at most.
    func bounds(_ offset: SIMD2<Double>, _ points: [SIMD2<Double>], _ ringEnds: [Int]) -> (lower: Double, upper: Double) {
        let metres = Self.nearest(points, ringEnds, middle + offset, scale)
        return (metres * (1 - Self.error) - Self.slack, metres * (1 + Self.error) + Self.slack)
    }

    var leastDepth: Double { isPlane ? max(0, inner * (1 - Self.error) - Self.slack) : 0 }

    private static func length(_ metres: SIMD2<Double>) -> Double { (metres * metres).sum().squareRoot() }

    /// Metres in the plane from a point to the nearest edge.
    private static func nearest(
        _ points: [SIMD2<Double>], _ ringEnds: [Int], _ point: SIMD2<Double>, _ scale: SIMD2<Double>
    ) -> Double {
        var least = Double.infinity
        points.withUnsafeBufferPointer { points in
            var start = 0
            for end in ringEnds {
                var from = (points[start] - point) * scale
                for index in (start + 1)..<end {
                    let to = (points[index] - point) * scale
                    let along = to - from
                    let length = (along * along).sum()
                    let share = length > 0 ? max(0, min(1, -(from * along).sum() / length)) : 0
                    let nearest = from + along * share
                    least = min(least, (nearest * nearest).sum())
                    from = to
                }
                start = end
            }
        }
        return least.squareRoot()
    }
}
