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
        var crossings = Crossings(middle)
        var nearest = NearestEdge(middle, scale)
        var start = 0
        for end in ringEnds {
            for index in start..<(end - 1) {
                crossings.add(points[index], points[index + 1])
                nearest.add(points[index], points[index + 1])
            }
            start = end
        }
        inner = crossings.isInside ? nearest.metres * (1 - 1e-9) : 0
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

    /// What lies so far from the middle.
    func point(_ offset: SIMD2<Double>) -> SIMD2<Double> { middle + offset }

    func nearest(_ point: SIMD2<Double>) -> NearestEdge { NearestEdge(point, scale) }

    /// Metres in the plane within which an edge is, if it is within so many.
    static func reach(_ metres: Double) -> Double { (metres + slack) / (1 - error) * (1 + 1e-9) }

    func degrees(_ metres: Double) -> SIMD2<Double> { metres / scale }

    /// Whether what is so far in the plane is surely nearer than so many metres, or surely farther; nil between.
    func isNear(_ distance: Double, _ metres: Double) -> Bool? {
        if distance * (1 - Self.error) - Self.slack > metres { return false }
        return distance * (1 + Self.error) + Self.slack < metres ? true : nil
    }

    /// What is within so many metres of the middle is inside, what is beyond so many is not; nil where that is not known.
    var metres: (middle: ECEF, inner: Double, outer: Double)? {
        guard isPlane else { return nil }
        return (
            ECEF(latitude: middle.y, longitude: wrapped(middle.x)), leastDepth, outer * (1 + Self.error) + Self.slack
        )
    }

    var leastDepth: Double { isPlane ? max(0, inner * (1 - Self.error) - Self.slack) : 0 }

    private static func length(_ metres: SIMD2<Double>) -> Double { (metres * metres).sum().squareRoot() }
}

/// Whether a point is inside of rings, or on one, in degrees: by the edges that a line to the east crosses.
struct Crossings {
    private let point: SIMD2<Double>
    private var isOdd = false
    private var isOnEdge = false

    init(_ point: SIMD2<Double>) { self.point = point }

    var isInside: Bool { isOdd || isOnEdge }

    @inline(__always)
    mutating func add(_ from: SIMD2<Double>, _ to: SIMD2<Double>) {
        let isAbove = from.y > point.y
        // Most edges lie wholly above or below.
        guard isAbove != (to.y > point.y) || from.y == point.y || to.y == point.y else { return }
        let side = (to.x - from.x) * (point.y - from.y) - (point.x - from.x) * (to.y - from.y)
        if side == 0, spans(from, to) { isOnEdge = true }
        if isAbove != (to.y > point.y), (side > 0) == (to.y > from.y) { isOdd.toggle() }
    }

    private func spans(_ from: SIMD2<Double>, _ to: SIMD2<Double>) -> Bool {
        min(from.x, to.x) <= point.x && point.x <= max(from.x, to.x) && min(from.y, to.y) <= point.y
            && point.y <= max(from.y, to.y)
    }
}

/// How far the nearest of some edges is from a point, in a plane.
struct NearestEdge {
    /// Degrees.
    let point: SIMD2<Double>
    private let scale: SIMD2<Double>
    private var least = Double.infinity

    init(_ point: SIMD2<Double>, _ scale: SIMD2<Double>) {
        self.point = point
        self.scale = scale
    }

    var metres: Double { least.squareRoot() }

    @inline(__always)
    mutating func add(_ from: SIMD2<Double>, _ to: SIMD2<Double>) {
        let from = (from - point) * scale
        let along = (to - point) * scale - from
        let length = (along * along).sum()
        let share = length > 0 ? max(0, min(1, -(from * along).sum() / length)) : 0
        let nearest = from + along * share
        least = min(least, (nearest * nearest).sum())
    }
}
