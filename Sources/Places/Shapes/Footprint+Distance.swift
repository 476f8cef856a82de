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
        let vertices = vertices
        var isInside = false
        for ring in rings(ofPolygon: polygon) {
            let range = corners(ofRing: ring)
            var from = vertices[range.upperBound - 1]
            for place in range {
                let to = vertices[place]
                defer { from = to }
                guard min(from.y, to.y) <= point.y, point.y <= max(from.y, to.y) else { continue }
                let side = (to.x - from.x) * (point.y - from.y) - (point.x - from.x) * (to.y - from.y)
                if side == 0, min(from.x, to.x) <= point.x, point.x <= max(from.x, to.x) { return true }
                if (from.y > point.y) != (to.y > point.y), (side > 0) == (to.y > from.y) { isInside.toggle() }
            }
        }
        return isInside
    }

    /// The square of the straight distance from a point to the nearest edge, whichever side it is on, in square metres; right
    /// to 1 cm where it is below `limit`, else that.
    func squaredDistanceToEdge(from point: ECEF, limit: Double) -> Double {
        let vertices = vertices
        let points = points
        var squared = limit
        for ring in 0..<ringCount {
            let range = corners(ofRing: ring)
            var former = range.upperBound - 1
            for place in range {
                let step = vertices[place] - vertices[former]
                if abs(step.x) + abs(step.y) < Span.straight {
                    squared = min(squared, Chord.squaredDistance(point, points[former].point, points[place].point))
                } else {
                    Span(vertices[former], vertices[place]).nearest(to: point, squared: &squared)
                }
                former = place
            }
        }
        return squared
    }
}

extension GridPoint {
    /// In metres.
    @inline(__always)
    var point: ECEF {
        let metres = 1 / Self.unitsPerMetre
        return ECEF(x: Double(x) * metres, y: Double(y) * metres, z: Double(z) * metres)
    }
}
