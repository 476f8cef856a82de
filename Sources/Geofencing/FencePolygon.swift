import Geodesy

/// A polygon with holes as 16 bytes a vertex; edges are straight in longitude and latitude.
final class FencePolygon: Sendable {
    /// It has the points.
    let fan: EdgeFan
    let bounds: Area.Box
    let squareMetres: Double
    /// It is one between meridians and parallels, of which the edges of the whole width enclose nothing by themselves.
    private let isBox: Bool

    init(_ polygon: Area.Polygon) {
        var points: [SIMD2<Double>] = []
        var ends: [Int] = []
        polygon.forEachEdge { from, to, beginsRing in
            if beginsRing {
                if !points.isEmpty { ends.append(points.count) }
                points.append(from)
            }
            points.append(to)
        }
        ends.append(points.count)
        fan = EdgeFan(points, ends, polygon.bounds)
        bounds = polygon.bounds
        squareMetres = polygon.squareMetres
        isBox = false
    }

    /// A box as a polygon: its parallels in pieces, as an edge spans less than half the earth.
    ///
    /// - Returns: nil where it has no edge at all.
    init?(_ box: Area.Box) {
        let width = box.width
        let pieces = max(1, Int((width / 90).rounded(.up)))
        var columns = (0..<pieces).map { box.west + width * Double($0) / Double(pieces) }
        // Exactly, not by a sum that is rounded.
        columns.append(box.west > box.east ? box.east + 360 : box.east)
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
        // All rings are equally long.
        fan = EdgeFan(rings.flatMap { $0 }, rings.indices.map { ($0 + 1) * rings[0].count }, box)
        bounds = box
        isBox = true
        let height = Turned.sine(box.north) - Turned.sine(box.south)
        squareMetres = width * .pi / 180 * height * Ellipsoid.meanRadius * Ellipsoid.meanRadius
    }

    deinit { fan.deallocate() }

    /// Whether a position lies in it, or on an edge.
    func contains(latitude: Double, longitude: Double) -> Bool {
        if isBox { return bounds.contains(latitude: latitude, longitude: longitude) }
        guard bounds.south <= latitude, latitude <= bounds.north else { return false }
        // A pole lies on every meridian.
        return abs(latitude) == 90 || fan.contains(fan.polar(latitude: latitude, longitude: longitude))
    }

    /// Whether a position lies outside by more than so many metres.
    func isBeyond(_ metres: Double, latitude: Double, longitude: Double) -> Bool {
        if let isBeyond = fan.isBeyond(metres, fan.polar(latitude: latitude, longitude: longitude)) { return isBeyond }
        guard !contains(latitude: latitude, longitude: longitude) else { return false }
        return metres <= 0 || metresToEdge(latitude: latitude, longitude: longitude) > metres
    }

    /// Whether a position lies inside, so many metres from any edge or more.
    func isInside(by metres: Double, latitude: Double, longitude: Double) -> Bool {
        if let isInside = fan.isInside(by: metres, fan.polar(latitude: latitude, longitude: longitude)) { return isInside }
        guard contains(latitude: latitude, longitude: longitude) else { return false }
        return metresToEdge(latitude: latitude, longitude: longitude) >= metres
    }

    /// Metres from a position to the nearest point of an edge, whichever side it is on.
    func metresToEdge(latitude: Double, longitude: Double) -> Double {
        let place = EdgePlace(latitude: latitude, longitude: longitude)
        // What an edge may be nearer than by a bound that costs little is looked at exactly.
        var reach = Double.infinity
        fan.forEachEdge { from, to in reach = min(reach, place.bounds(from, to).upper) }
        var nearest = Double.infinity
        fan.forEachEdge { from, to in
            guard place.bounds(from, to).lower <= min(reach, nearest) else { return }
            nearest = min(nearest, place.metres(from, to))
        }
        return nearest
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
