import CPrefetch
import Geodesy

/// What a sector's edges reach from the middle, in steps.
struct EdgeReach {
    /// Where there is no edge, the nearest one is as far as any.
    var near = UInt8.max
    var far: UInt8 = 0
}

/// The plane that touches the earth at the middle of a polygon, and the circles there that all edges lie between.
struct EdgePlane {
    /// Degrees of the middle; the longitude as of the points, which may be beyond 180.
    let longitude, latitude: Double
    /// Metres a degree.
    let east, north: Float
    /// Metres in the plane that distances of edges count.
    let step: Float
    /// Degrees from the middle within which all points are.
    let half: Float
    /// Steps from the middle to the nearest edge.
    var nearest: UInt8 = 0
    var isMiddleInside = false

    /// Degrees from the middle, and how far to the north.
    private static let planeMax = 0.1
    private static let latitudeMax = 75.0
    /// What plane distances are wrong by at most: of themselves for each degree from the middle, and in metres. A
    /// parallel is shorter than the next one a degree away by 7 % where the plane ends, and by less before.
    private static let errorPerDegree = 0.2
    private static let slack = 0.001
    /// What is rounded, ``east`` and ``north`` too.
    private static let rounding = 1e-7

    var middle: SIMD2<Double> { SIMD2(longitude, latitude) }
    var scale: SIMD2<Double> { SIMD2<Double>(SIMD2(east, north)) }
    /// All is so near that distances in the plane are known.
    var isPlane: Bool { Double(half) <= Self.planeMax && abs(latitude) <= Self.latitudeMax }

    @inline(__always)
    func metres(_ steps: UInt8) -> Double { Double(steps) * Double(step) }
    /// No edge is nearer to the middle.
    private var inner: Double { metres(nearest) }
    /// No edge is farther from the middle.
    private var outer: Double { metres(.max) }

    // MARK: Positions

    /// Where a position is, seen from the middle.
    struct Polar {
        /// Degrees, as the points.
        var point: SIMD2<Double>
        /// Degrees from the middle.
        var offset: SIMD2<Double>
        /// In the plane.
        var vector: SIMD2<Double>
        var metres: Double

        var sector: Int { Direction(vector).sector }
    }

    @inline(__always)
    func polar(latitude: Double, longitude: Double) -> Polar {
        var point = SIMD2(longitude, latitude)
        while point.x - self.longitude > 180 { point.x -= 360 }
        while point.x - self.longitude < -180 { point.x += 360 }
        let offset = point - middle
        let vector = offset * scale
        return Polar(point: point, offset: offset, vector: vector, metres: EdgeFan.length(vector))
    }

    /// Whether a position lies inside; nil between the circles.
    @inline(__always)
    func contains(_ polar: Polar) -> Bool? {
        if polar.metres > outer { return false }
        return polar.metres < inner ? isMiddleInside : nil
    }

    /// Whether a position lies outside by more than a bound; nil where the circles do not say.
    @inline(__always)
    func isBeyond(_ bound: (lower: Double, upper: Double), _ polar: Polar) -> Bool? {
        if polar.metres - outer > bound.upper { return true }
        // Between the middle and what is outside there is an edge.
        return isMiddleInside && polar.metres - inner < bound.lower ? false : nil
    }

    /// Whether a position lies inside by a bound or more; nil where the circles do not say.
    @inline(__always)
    func isInside(by bound: (lower: Double, upper: Double), _ polar: Polar) -> Bool? {
        // Beyond what is inside there is an edge.
        if outer - polar.metres < bound.lower { return false }
        return isMiddleInside && polar.metres + bound.upper <= inner ? true : nil
    }

    /// What is less in the plane is surely less than so many metres, and what is more is surely more; nil far from the middle.
    @inline(__always)
    func bound(_ metres: Double, _ polar: Polar) -> (lower: Double, upper: Double)? {
        let farthest = max(abs(polar.offset.x), abs(polar.offset.y), Double(half))
        guard farthest <= Self.planeMax, abs(latitude) <= Self.latitudeMax else { return nil }
        let error = Self.error(farthest)
        return ((metres - Self.slack) / (1 + error), (metres + Self.slack) / (1 - error))
    }

    private static func error(_ degrees: Double) -> Double { degrees * errorPerDegree + rounding }

    /// The sectors that come within so many metres of a position in the plane, counted on from 63 or down from 0.
    @inline(__always)
    func sectors(within metres: Double, of polar: Polar) -> ClosedRange<Int> {
        // Radians of a sector at least, see ``Direction``; up to three quarters a sine is nine tenths of its angle and more.
        let width = 4 / Double(EdgeFan.sectorCount)
        let steps = (metres / (polar.metres * width * 0.9)).rounded(.up)
        guard steps * width <= 0.75 else { return 0...(EdgeFan.sectorCount - 1) }
        let sector = polar.sector
        return (sector - Int(steps))...(sector + Int(steps))
    }

    // MARK: On the ellipsoid

    /// Whether a point is farther than so many metres from all that the outer circle holds, also far from the middle.
    func isFar(_ metres: Double, _ point: ECEF) -> Bool {
        let reach = outer * (1 + Self.error(Double(half))) + Self.slack + metres
        guard isPlane, reach <= FenceCore.arcMax else { return false }
        return ECEF(latitude: latitude, longitude: wrapped(longitude)).squaredChord(to: point)
            > FenceCore.squaredChord(ofArc: reach)
    }

    /// Metres that the polygon is deep at least.
    var leastDepth: Double {
        guard isPlane, isMiddleInside else { return 0 }
        return max(0, inner * (1 - Self.error(Double(half))) - Self.slack)
    }
}

/// A polygon as the distances of its edges by direction: what lies nearer to its middle than any edge of a sector is where the middle
/// is, what lies beyond all is outside, and what lies between is decided by the edges of the sector.
struct EdgeOutline {
    let plane: EdgePlane
    /// Of all sectors.
    let reaches: UnsafePointer<EdgeReach>
    let fan: EdgeFan

    /// Whether a position lies inside, or on an edge.
    @inline(__always)
    func contains(latitude: Double, longitude: Double) -> Bool {
        let polar = plane.polar(latitude: latitude, longitude: longitude)
        return plane.contains(polar) ?? contains(polar)
    }

    @inline(__always)
    private func contains(_ polar: EdgePlane.Polar) -> Bool {
        let reach = reaches[polar.sector]
        if polar.metres > plane.metres(reach.far) { return false }
        if polar.metres < plane.metres(reach.near) { return plane.isMiddleInside }
        return fan.isInside(polar)
    }

    /// Whether a position lies outside by more than so many metres, at least 0; nil where the plane is not right enough to say.
    @inline(__always)
    func isBeyond(_ metres: Double, latitude: Double, longitude: Double) -> Bool? {
        let polar = plane.polar(latitude: latitude, longitude: longitude)
        guard let bound = plane.bound(metres, polar) else { return nil }
        if let isBeyond = plane.isBeyond(bound, polar) { return isBeyond }
        if plane.isMiddleInside, polar.metres - plane.metres(reaches[polar.sector].near) < bound.lower { return false }
        if contains(polar) { return false }
        let span = plane.sectors(within: bound.upper, of: polar)
        let far = span.reduce(UInt8.min) { max($0, reach($1).far) }
        if polar.metres - plane.metres(far) > bound.upper { return true }
        return fan.isEdge(within: bound, of: polar, span).map { !$0 }
    }

    /// Whether a position lies inside, so many metres from any edge or more; nil where the plane is not right enough to say.
    @inline(__always)
    func isInside(by metres: Double, latitude: Double, longitude: Double) -> Bool? {
        let polar = plane.polar(latitude: latitude, longitude: longitude)
        guard let bound = plane.bound(metres, polar) else { return nil }
        if let isInside = plane.isInside(by: bound, polar) { return isInside }
        if plane.metres(reaches[polar.sector].far) - polar.metres < bound.lower { return false }
        let span = plane.sectors(within: bound.upper, of: polar)
        let near = span.reduce(UInt8.max) { min($0, reach($1).near) }
        if plane.isMiddleInside, polar.metres + bound.upper <= plane.metres(near) { return true }
        guard contains(polar) else { return false }
        return fan.isEdge(within: bound, of: polar, span).map { !$0 }
    }

    @inline(__always)
    private func reach(_ sector: Int) -> EdgeReach { reaches[sector & (EdgeFan.sectorCount - 1)] }

    /// Asks for the memory that decides a position which the circles do not.
    @inline(__always)
    func prefetch(latitude: Double, longitude: Double) {
        let polar = plane.polar(latitude: latitude, longitude: longitude)
        if plane.contains(polar) == nil { geomatch_prefetch(reaches + polar.sector) }
    }
}
