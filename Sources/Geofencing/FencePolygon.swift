import Geodesy

/// A polygon with holes as 16 bytes a vertex; edges are straight in longitude and latitude.
///
/// Most positions are decided by two circles around its middle: one without an edge, one with all of them; others by the edges near
/// them.
final class FencePolygon: Sendable {
    /// Degrees, x is the longitude, unwrapped so that the polygon is one piece. Each ring is closed: its first point comes again.
    ///
    /// Not an array: what is read first of one is its count, a miss of the cache of its own. Written by the initialiser only.
    private nonisolated(unsafe) let points: UnsafeMutableBufferPointer<SIMD2<Double>>
    /// Where each ring ends.
    private let ringEnds: [Int]
    /// Of each point, whether it is the last one of its ring; empty where there is only one.
    private let endsRing: [Bool]
    let bounds: Area.Box
    let squareMetres: Double
    private let west: Double
    /// It is one between meridians and parallels, of which the edges of the whole width enclose nothing by themselves.
    private let isBox: Bool
    private let discs: PolygonDiscs
    private let bands: EdgeBands

    init(_ polygon: Area.Polygon) {
        var count = 0
        polygon.forEachEdge { _, _, beginsRing in count += beginsRing ? 2 : 1 }
        var points: [SIMD2<Double>] = []
        // An array that grows has room for twice as many.
        points.reserveCapacity(count)
        var ends: [Int] = []
        polygon.forEachEdge { from, to, beginsRing in
            if beginsRing {
                if !points.isEmpty { ends.append(points.count) }
                points.append(from)
            }
            points.append(to)
        }
        ends.append(points.count)
        self.points = Self.stored(points)
        ringEnds = ends
        endsRing = Self.ends(ringEnds)
        bounds = polygon.bounds
        squareMetres = polygon.squareMetres
        west = points.reduce(Double.infinity) { min($0, $1.x) }
        discs = PolygonDiscs(points, ringEnds, bounds, west: west)
        bands = EdgeBands(points)
        isBox = false
    }

    /// A box as a polygon: its parallels in pieces, as an edge spans less than half the earth.
    ///
    /// - Returns: nil where it has no edge at all.
    init?(_ box: Area.Box) {
        let width = box.width
        let pieces = max(1, Int((width / 90).rounded(.up)))
        let columns = (0...pieces).map { box.west + width * Double($0) / Double(pieces) }
        var rings: [[SIMD2<Double>]] = []
        if width < 360 {
            var ring = columns.map { SIMD2<Double>($0, box.south) }
            ring += columns.reversed().map { SIMD2<Double>($0, box.north) }
            ring.append(ring[0])
            rings.append(ring)
        } else {
            // The two ends are the same meridian; a parallel at a pole is a point.
            if box.south > -90 { rings.append(columns.map { SIMD2<Double>($0, box.south) }) }
            if box.north < 90 { rings.append(columns.map { SIMD2<Double>($0, box.north) }) }
        }
        guard !rings.isEmpty else { return nil }
        let points = rings.flatMap { $0 }
        self.points = Self.stored(points)
        // All rings are equally long.
        ringEnds = rings.indices.map { ($0 + 1) * rings[0].count }
        endsRing = Self.ends(ringEnds)
        bounds = box
        west = box.west
        discs = PolygonDiscs(points, ringEnds, bounds, west: west)
        bands = EdgeBands(points)
        isBox = true
        let height = Turned.sine(box.north) - Turned.sine(box.south)
        squareMetres = width * .pi / 180 * height * Ellipsoid.meanRadius * Ellipsoid.meanRadius
    }

    deinit { points.deallocate() }

    private static func ends(_ ringEnds: [Int]) -> [Bool] {
        guard ringEnds.count > 1, let count = ringEnds.last else { return [] }
        var ends = Array(repeating: false, count: count)
        for end in ringEnds { ends[end - 1] = true }
        return ends
    }

    private static func stored(_ points: [SIMD2<Double>]) -> UnsafeMutableBufferPointer<SIMD2<Double>> {
        let stored = UnsafeMutableBufferPointer<SIMD2<Double>>.allocate(capacity: points.count)
        _ = stored.initialize(from: points)
        return stored
    }

    /// Whether a position lies in it, or on an edge.
    func contains(latitude: Double, longitude: Double) -> Bool {
        if isBox { return bounds.contains(latitude: latitude, longitude: longitude) }
        guard bounds.south <= latitude, latitude <= bounds.north else { return false }
        // A pole lies on every meridian.
        if abs(latitude) == 90 { return true }
        var x = longitude
        while x < west { x += 360 }
        while x - 360 >= west { x -= 360 }
        let point = SIMD2(x, latitude)
        if let isInside = discs.holds(point) { return isInside }
        var crossings = Crossings(point)
        forEachEdge(in: bands.runs(eastOf: point)) { crossings.add($0, $1) }
        return crossings.isInside
    }

    /// Whether a position lies outside by more than so many metres.
    func isBeyond(_ metres: Double, latitude: Double, longitude: Double) -> Bool {
        guard !contains(latitude: latitude, longitude: longitude) else { return false }
        guard metres > 0 else { return true }
        if let offset = discs.offset(latitude: latitude, longitude: longitude) {
            if discs.isBeyond(metres, offset) { return true }
            if let isNear = isNear(offset, metres) { return !isNear }
        }
        return metresToEdge(latitude: latitude, longitude: longitude) > metres
    }

    /// Whether a position lies inside, so many metres from any edge or more.
    func isInside(by metres: Double, latitude: Double, longitude: Double) -> Bool {
        guard contains(latitude: latitude, longitude: longitude) else { return false }
        if let offset = discs.offset(latitude: latitude, longitude: longitude) {
            if discs.isInside(by: metres, offset) { return true }
            if let isNear = isNear(offset, metres) { return !isNear }
        }
        return metresToEdge(latitude: latitude, longitude: longitude) >= metres
    }

    /// Whether an edge is surely nearer than so many metres, or surely farther; nil between.
    private func isNear(_ offset: SIMD2<Double>, _ metres: Double) -> Bool? {
        let reach = PolygonDiscs.reach(metres)
        var nearest = discs.nearest(discs.point(offset))
        forEachEdge(in: bands.runs(around: nearest.point, discs.degrees(reach))) { nearest.add($0, $1) }
        return discs.isNear(min(nearest.metres, reach), metres)
    }

    /// See ``PolygonDiscs/metres``.
    var discMetres: (middle: ECEF, inner: Double, outer: Double)? { discs.metres }

    /// Metres that ``depth`` is at least.
    var leastDepth: Double { discs.leastDepth }

    /// Metres from a position to the nearest point of an edge, whichever side it is on.
    func metresToEdge(latitude: Double, longitude: Double) -> Double {
        let place = EdgePlace(latitude: latitude, longitude: longitude)
        // What an edge may be nearer than by a bound that costs little is looked at exactly.
        var reach = Double.infinity
        forEachEdge { from, to in reach = min(reach, place.bounds(from, to).upper) }
        var nearest = Double.infinity
        forEachEdge { from, to in
            guard place.bounds(from, to).lower <= min(reach, nearest) else { return }
            nearest = min(nearest, place.metres(from, to))
        }
        return nearest
    }

    /// Calls `body` with the edges of runs, which are bits.
    @inline(__always)
    private func forEachEdge(in runs: UInt32, _ body: (SIMD2<Double>, SIMD2<Double>) -> Void) {
        let isOneRing = endsRing.isEmpty
        var rest = runs
        while rest != 0 {
            let edges = bands.edges(of: rest.trailingZeroBitCount, points.count)
            rest &= rest - 1
            for index in edges where isOneRing || !endsRing[index] { body(points[index], points[index + 1]) }
        }
    }

    @inline(__always)
    private func forEachEdge(_ body: (SIMD2<Double>, SIMD2<Double>) -> Void) {
        var start = 0
        for end in ringEnds {
            for index in start..<(end - 1) { body(points[index], points[index + 1]) }
            start = end
        }
    }

    /// Metres from the edge to the point that lies deepest inside, within two hundredths.
    ///
    /// Source: the pole of inaccessibility by squares that are halved, as in mapbox/polylabel.
    var depth: Double {
        let (width, height) = (bounds.width, bounds.north - bounds.south)
        let side = max(min(width, height), max(width, height) / 16)
        var cells: [DepthCell] = []
        var x = bounds.west
        while x < bounds.west + width {
            var y = bounds.south
            while y < bounds.north {
                cells.append(cell(SIMD2(x + side / 2, y + side / 2), side / 2))
                y += side
            }
            x += side
        }
        var best = cells.reduce(0) { max($0, $1.depth) }
        for _ in 0..<Self.depthStepsMax {
            guard let index = cells.indices.max(by: { cells[$0].most < cells[$1].most }), cells[index].most > best * 1.02 else {
                break
            }
            let cell = cells.remove(at: index)
            let half = cell.half / 2
            for corner in [SIMD2(-half, -half), SIMD2(-half, half), SIMD2(half, -half), SIMD2(half, half)] {
                let quarter = self.cell(cell.middle + corner, half)
                best = max(best, quarter.depth)
                cells.append(quarter)
            }
        }
        return best
    }

    private static let depthStepsMax = 200

    private struct DepthCell {
        var middle: SIMD2<Double>
        /// Half its side in degrees.
        var half: Double
        /// Of its middle: negative outside.
        var depth: Double
        /// More than any point of it can have.
        var most: Double
    }

    private func cell(_ middle: SIMD2<Double>, _ half: Double) -> DepthCell {
        let latitude = max(-90, min(90, middle.y))
        let longitude = wrapped(middle.x)
        let distance = metresToEdge(latitude: latitude, longitude: longitude)
        let depth = contains(latitude: latitude, longitude: longitude) ? distance : -distance
        return DepthCell(middle: middle, half: half, depth: depth, most: depth + half * 2.0.squareRoot() * 111_700)
    }
}

/// Degrees east within ±180.
func wrapped(_ longitude: Double) -> Double {
    var degrees = longitude
    while degrees > 180 { degrees -= 360 }
    while degrees < -180 { degrees += 360 }
    return degrees
}
