import Geodesy
import Glibc

extension Footprint {
    /// A point in the largest polygon: its centre of gravity, where that is inside, else the middle of the longest stretch of a
    /// parallel through it.
    var representativePoint: (latitude: Double, longitude: Double) {
        let largest = (0..<polygonCount).max { squareDegrees($0) < squareDegrees($1) } ?? 0
        let bounds = bounds(ofPolygon: largest)
        let centre = centre(ofPolygon: largest)
        if contains(latitude: centre.y, longitude: Longitude.wrapped(centre.x)) {
            return (centre.y, Longitude.wrapped(centre.x))
        }
        for share in [0.5, 0.33, 0.67, 0.2, 0.8, 0.1, 0.9, 0.03, 0.97] {
            let latitude = bounds.south + (bounds.north - bounds.south) * share
            if let x = widest(latitude, ofPolygon: largest),
                contains(latitude: latitude, longitude: Longitude.wrapped(x))
            {
                return (latitude, Longitude.wrapped(x))
            }
        }
        // Too narrow for any of these: a corner belongs to it.
        let corner = vertices[corners(ofRing: rings(ofPolygon: largest).lowerBound).lowerBound]
        return (corner.y, Longitude.wrapped(corner.x))
    }

    /// The area of a polygon, holes left out, in square metres; right to a percent up to the size of a city.
    func squareMetres(ofPolygon number: Int) -> Double {
        let bounds = bounds(ofPolygon: number)
        let metres = Ellipsoid.meanRadius * .pi / 180
        return squareDegrees(number) * metres * metres * cos((bounds.south + bounds.north) / 2 * .pi / 180)
    }

    /// The area of all polygons.
    var squareMetres: Double { (0..<polygonCount).reduce(0) { $0 + squareMetres(ofPolygon: $1) } }

    private func squareDegrees(_ polygon: Int) -> Double {
        var sum = 0.0
        for (number, ring) in rings(ofPolygon: polygon).enumerated() {
            let area = abs(moments(ofRing: ring).area)
            sum += number == 0 ? area : -area
        }
        return max(0, sum)
    }

    /// The centre of gravity of its outer ring, holes left out of account.
    private func centre(ofPolygon number: Int) -> SIMD2<Double> {
        let ring = rings(ofPolygon: number).lowerBound
        let (area, moment) = moments(ofRing: ring)
        let origin = vertices[corners(ofRing: ring).lowerBound]
        return area == 0 ? origin : origin + moment / (6 * area)
    }

    /// Area and first moments on the plane of degrees, about the first vertex, so that small outlines keep their digits.
    private func moments(ofRing ring: Int) -> (area: Double, moment: SIMD2<Double>) {
        let range = corners(ofRing: ring)
        let vertices = vertices
        let origin = vertices[range.lowerBound]
        var doubled = 0.0
        var moment = SIMD2<Double>.zero
        var from = vertices[range.upperBound - 1] - origin
        for place in range {
            let to = vertices[place] - origin
            let cross = from.x * to.y - to.x * from.y
            doubled += cross
            moment += (from + to) * cross
            from = to
        }
        return (doubled / 2, moment)
    }

    /// The middle of the longest stretch of a parallel that is inside.
    private func widest(_ latitude: Double, ofPolygon polygon: Int) -> Double? {
        let vertices = vertices
        var crossings: [Double] = []
        for ring in rings(ofPolygon: polygon) {
            let range = corners(ofRing: ring)
            var from = vertices[range.upperBound - 1]
            for place in range {
                let to = vertices[place]
                if (from.y > latitude) != (to.y > latitude) {
                    crossings.append(from.x + (to.x - from.x) * (latitude - from.y) / (to.y - from.y))
                }
                from = to
            }
        }
        crossings.sort()
        var best: (width: Double, middle: Double)?
        for place in stride(from: 1, to: crossings.count, by: 2) {
            let width = crossings[place] - crossings[place - 1]
            if width > best?.width ?? 0 { best = (width, (crossings[place] + crossings[place - 1]) / 2) }
        }
        return best?.middle
    }
}
