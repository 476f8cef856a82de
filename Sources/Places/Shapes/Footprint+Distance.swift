import Geodesy

extension Footprint {
    /// Whether a position, in valid degrees, is in one of the polygons. What is on an edge is inside.
    func contains(latitude: Double, longitude: Double) -> Bool {
        for polygon in 0..<polygonCount {
            let bounds = bounds(ofPolygon: polygon)
            guard bounds.south <= latitude, latitude <= bounds.north else { continue }
            // A pole lies on every meridian.
            if abs(latitude) == 90 { return true }
            var x = longitude
            while x < bounds.west { x += 360 }
            while x - 360 >= bounds.west { x -= 360 }
            guard x <= bounds.east else { continue }
            if contains(SIMD2(x, latitude), polygon) { return true }
        }
        return false
    }

    /// Counts the edges of all rings that a ray to the east crosses; an edge's upper end does not belong to it.
    private func contains(_ point: SIMD2<Double>, _ polygon: Int) -> Bool {
        var crossing = Crossing(point: point, vertices: vertices)
        for ring in rings(ofPolygon: polygon) {
            let range = corners(ofRing: ring)
            guard hasStretches else {
                crossing.count(FootprintStretch(former: range.upperBound - 1, places: range))
                if crossing.isOnEdge { return true }
                continue
            }
            var number = firstStretch(ofRing: ring)
            for stretch in FootprintStretch.all(of: range) {
                let bounds = stretchBounds(number)
                number += 1
                guard bounds.south <= point.y, point.y <= bounds.north, point.x <= bounds.east else { continue }
                if point.x < bounds.west { crossing.countAll(stretch) } else { crossing.count(stretch) }
                if crossing.isOnEdge { return true }
            }
        }
        return crossing.isInside
    }

    /// Stretches are numbered through all rings.
    private func firstStretch(ofRing ring: Int) -> Int {
        (0..<ring).reduce(0) { $0 + FootprintStretch.count(ofEdges: corners(ofRing: $1).count) }
    }

    /// What a ray to the east crossed so far.
    private struct Crossing {
        let point: SIMD2<Double>
        let vertices: Vertices
        var isInside = false
        var isOnEdge = false

        init(point: SIMD2<Double>, vertices: Vertices) {
            self.point = point
            self.vertices = vertices
        }

        @inline(__always)
        mutating func count(_ stretch: FootprintStretch) {
            var from = vertices[stretch.former]
            for place in stretch.places {
                let to = vertices[place]
                defer { from = to }
                guard min(from.y, to.y) <= point.y, point.y <= max(from.y, to.y) else { continue }
                let side = (to.x - from.x) * (point.y - from.y) - (point.x - from.x) * (to.y - from.y)
                if side == 0, min(from.x, to.x) <= point.x, point.x <= max(from.x, to.x) {
                    isOnEdge = true
                    return
                }
                if (from.y > point.y) != (to.y > point.y), (side > 0) == (to.y > from.y) { isInside.toggle() }
            }
        }

        /// Of a stretch that lies to the east: an odd number is crossed where its ends are on both sides.
        @inline(__always)
        mutating func countAll(_ stretch: FootprintStretch) {
            let (from, to) = (vertices[stretch.former], vertices[stretch.places.upperBound - 1])
            if (from.y > point.y) != (to.y > point.y) { isInside.toggle() }
        }
    }

    /// The square of the straight distance from a point to the nearest edge, whichever side it is on, in square metres; right
    /// to 1 cm where it is below `limit`, else that.
    func squaredDistanceToEdge(from point: ECEF, latitude: Double, longitude: Double, limit: Double) -> Double {
        var squared = limit
        guard hasStretches else {
            let isSmall = isSmall
            for ring in 0..<ringCount {
                let range = corners(ofRing: ring)
                let edges = FootprintStretch(former: range.upperBound - 1, places: range)
                if isSmall {
                    nearest(to: point, straight: edges, squared: &squared)
                } else {
                    nearest(to: point, edges, squared: &squared)
                }
            }
            return squared
        }
        let axis = (point.x * point.x + point.y * point.y).squareRoot()
        var number = 0
        for ring in 0..<ringCount {
            let range = corners(ofRing: ring)
            for stretch in FootprintStretch.all(of: range) {
                let least = stretchBounds(number).leastDistance(latitude: latitude, longitude: longitude, axis: axis)
                number += 1
                if least * least < squared { nearest(to: point, stretch, squared: &squared) }
            }
        }
        return squared
    }

    @inline(__always)
    private func nearest(to point: ECEF, _ stretch: FootprintStretch, squared: inout Double) {
        let vertices = vertices
        let points = points
        let middle = GridPoint(point)
        var former = stretch.former
        var start = Self.step(middle, points[former])
        for place in stretch.places {
            let end = Self.step(middle, points[place])
            let step = vertices[place] - vertices[former]
            if abs(step.x) + abs(step.y) < Span.straight {
                squared = min(squared, Double(Self.squaredDistance(start, end)) * Self.squareMetres)
            } else {
                Span(vertices[former], vertices[place]).nearest(to: point, squared: &squared)
            }
            former = place
            start = end
        }
    }

    /// Whether none of its edges can be so long that it is not taken for straight.
    private var isSmall: Bool {
        (0..<polygonCount).allSatisfy { polygon in
            let bounds = bounds(ofPolygon: polygon)
            return bounds.east - bounds.west + bounds.north - bounds.south < Span.straight
        }
    }

    /// As the other one, of edges that all are taken for straight.
    @inline(__always)
    private func nearest(to point: ECEF, straight stretch: FootprintStretch, squared: inout Double) {
        let points = points
        let middle = GridPoint(point)
        var start = Self.step(middle, points[stretch.former])
        var least = Float.infinity
        for place in stretch.places {
            let end = Self.step(middle, points[place])
            least = min(least, Self.squaredDistance(start, end))
            start = end
        }
        squared = min(squared, Double(least) * Self.squareMetres)
    }

    /// From one point to another, in units of the grid: single precision has every one of them up to 65 km.
    @inline(__always)
    private static func step(_ from: GridPoint, _ to: GridPoint) -> SIMD4<Float> {
        SIMD4<Float>(SIMD4(to.x, to.y, to.z, 0) &- SIMD4(from.x, from.y, from.z, 0))
    }

    /// From the origin to the line between two points: of less than three hundred metres, or they would not be taken for straight.
    @inline(__always)
    private static func squaredDistance(_ start: SIMD4<Float>, _ end: SIMD4<Float>) -> Float {
        let away = (start * start).sum()
        // Beyond 3,000 km, where differences may wrap round: not near, whatever the line would be.
        guard away < 6e17 else { return away }
        let along = end - start
        let length = (along * along).sum()
        let share = length > 0 ? max(0, min(1, -(start * along).sum() / length)) : 0
        let rest = start + along * share
        return (rest * rest).sum()
    }

    /// In a square unit of the grid.
    private static let squareMetres = 1 / (GridPoint.unitsPerMetre * GridPoint.unitsPerMetre)
}

extension GridPoint {
    /// In metres.
    @inline(__always)
    var point: ECEF {
        let metres = 1 / Self.unitsPerMetre
        return ECEF(x: Double(x) * metres, y: Double(y) * metres, z: Double(z) * metres)
    }
}
