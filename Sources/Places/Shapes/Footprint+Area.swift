import Geodesy

extension Footprint {
    /// Whether any part of it lies in an area; what only touches its boundary does.
    ///
    /// Edges are straight in latitude and longitude, on both sides. Of a circle of more than 20 km only corners and the centre count.
    func meets(_ area: Area) -> Bool {
        switch area {
        case .circle(let circle): meets(circle)
        case .box(let box): meets(box)
        case .polygon(let polygon): meets(polygon)
        }
    }

    private func meets(_ circle: Area.Circle) -> Bool {
        guard circle.radius > PlaceTable.radiusMax else {
            return isWithin(
                Geodesic.chord(ofArc: circle.radius), ofLatitude: circle.latitude, longitude: circle.longitude)
        }
        if contains(latitude: circle.latitude, longitude: circle.longitude) { return true }
        let vertices = vertices
        return (0..<vertexCount).contains { place in
            circle.contains(latitude: vertices[place].y, longitude: Longitude.wrapped(vertices[place].x))
        }
    }

    // Where no edges meet, the one is inside the other or they are apart: one corner decides.

    private func meets(_ box: Area.Box) -> Bool {
        if contains(latitude: box.south, longitude: box.west) { return true }
        let bounds = Bounds(west: box.west, south: box.south, east: box.west + box.width, north: box.north)
        return (0..<polygonCount).contains { polygon in
            self.bounds(ofPolygon: polygon).turns(onto: bounds).contains { turn in
                edges(ofPolygon: polygon, turn: turn, within: bounds).contains { bounds.isMet(by: $0) }
            }
        }
    }

    private func meets(_ area: Area.Polygon) -> Bool {
        var theirs: [Line] = []
        var bounds = Bounds(west: .infinity, south: .infinity, east: -.infinity, north: -.infinity)
        var cornersOfRings: [SIMD2<Double>] = []
        area.forEachEdge { from, to, beginsRing in
            theirs.append((from, to))
            if beginsRing { cornersOfRings.append(from) }
            bounds.west = min(bounds.west, from.x)
            bounds.east = max(bounds.east, from.x)
            bounds.south = min(bounds.south, from.y)
            bounds.north = max(bounds.north, from.y)
        }
        if cornersOfRings.contains(where: { contains(latitude: $0.y, longitude: Longitude.wrapped($0.x)) }) { return true }
        let vertices = vertices
        let isInside = (0..<ringCount).contains { ring in
            let corner = vertices[corners(ofRing: ring).lowerBound]
            return area.contains(latitude: corner.y, longitude: Longitude.wrapped(corner.x))
        }
        return isInside
            || (0..<polygonCount).contains { polygon in
                self.bounds(ofPolygon: polygon).turns(onto: bounds).contains { turn in
                    edges(ofPolygon: polygon, turn: turn, within: bounds).contains { edge in
                        theirs.contains { Self.meet(edge, $0) }
                    }
                }
            }
    }

    /// Whether two lines have a point in common.
    private static func meet(_ left: Line, _ right: Line) -> Bool {
        func side(_ line: Line, _ point: SIMD2<Double>) -> Double {
            let along = line.to - line.from
            let away = point - line.from
            return along.x * away.y - away.x * along.y
        }
        func spans(_ line: Line, _ point: SIMD2<Double>) -> Bool {
            min(line.from.x, line.to.x) <= point.x && point.x <= max(line.from.x, line.to.x)
                && min(line.from.y, line.to.y) <= point.y && point.y <= max(line.from.y, line.to.y)
        }
        let a = side(left, right.from)
        let b = side(left, right.to)
        let c = side(right, left.from)
        let d = side(right, left.to)
        if (a > 0 && b < 0 || a < 0 && b > 0) && (c > 0 && d < 0 || c < 0 && d > 0) { return true }
        return a == 0 && spans(left, right.from) || b == 0 && spans(left, right.to)
            || c == 0 && spans(right, left.from) || d == 0 && spans(right, left.to)
    }
}

extension Footprint.Bounds {
    /// By how many degrees it is to be moved round the earth to overlap another box, or touch it: mostly by none.
    fileprivate func turns(onto other: Self) -> [Double] {
        guard south <= other.north, other.south <= north else { return [] }
        return [-720, -360, 0, 360, 720].filter { west + $0 <= other.east && other.west <= east + $0 }
    }

    /// Whether a line has a point in the box. Source: Liang, Barsky, ACM TOG 3(1), 1984.
    fileprivate func isMet(by line: Footprint.Line) -> Bool {
        let along = line.to - line.from
        var (first, last) = (0.0, 1.0)
        for (start, step, low, high) in [
            (line.from.x, along.x, west, east), (line.from.y, along.y, south, north),
        ] {
            guard step != 0 else {
                guard low <= start, start <= high else { return false }
                continue
            }
            let entry = (low - start) / step
            let exit = (high - start) / step
            first = max(first, min(entry, exit))
            last = min(last, max(entry, exit))
        }
        return first <= last
    }
}
