import Geodesy

extension Footprint {
    var middle: ECEF { ECEF(latitude: latitude, longitude: longitude) }

    /// Whether a position is inside, or at most so many metres from an edge.
    func isWithin(_ metres: Double, ofLatitude latitude: Double, longitude: Double) -> Bool {
        let point = ECEF(latitude: latitude, longitude: longitude)
        let reach = reach + metres
        guard middle.squaredChord(to: point) <= reach * reach else { return false }
        if contains(latitude: latitude, longitude: longitude) { return true }
        let limit = metres * metres * (1 + 1e-12)
        return squaredDistanceToEdge(from: point, latitude: latitude, longitude: longitude, limit: limit) < limit
    }

    /// Whether another outline overlaps this one, or an edge of it is at most so many metres from one of this.
    ///
    /// What does not cross is nearest at a corner of one of the two. Outlines whose corners and edges lie among each other by the hundreds
    /// count as overlapping: to compare all of them would take a third of a second. Whether they do is asked first, as it costs the least.
    func isWithin(_ metres: Double, of other: Footprint) -> Bool {
        let reach = reach + other.reach + metres
        guard middle.squaredChord(to: other.middle) <= reach * reach else { return false }
        let areLarge = vertexCount * other.vertexCount > Self.comparisonsMax
        if areLarge, crosses(other) { return true }
        return isWithin(metres, ofCornersOf: other) || other.isWithin(metres, ofCornersOf: self) || !areLarge && crosses(other)
    }

    private func isWithin(_ metres: Double, ofCornersOf other: Footprint) -> Bool {
        let vertices = other.vertices
        let middle = middle
        let reach = reach + metres
        let boxes = (0..<polygonCount).map(bounds(ofPolygon:))
        // Of each stretch the box is looked at twice, and of some the edges.
        let cost = hasStretches ? 2 * FootprintStretch.count(ofEdges: vertexCount) + 64 : vertexCount
        var comparisons = 0
        return (0..<other.vertexCount).contains { place in
            let (latitude, longitude) = (vertices[place].y, Longitude.wrapped(vertices[place].x))
            let point = ECEF(latitude: latitude, longitude: longitude)
            guard middle.squaredChord(to: point) <= reach * reach else { return false }
            let axis = (point.x * point.x + point.y * point.y).squareRoot()
            guard boxes.contains(where: { $0.leastDistance(latitude: latitude, longitude: longitude, axis: axis) <= metres })
            else { return false }
            comparisons += cost
            return comparisons > Self.comparisonsMax || isWithin(metres, ofLatitude: latitude, longitude: longitude)
        }
    }

    /// Whether an edge crosses one of another outline, corners left out.
    private func crosses(_ other: Footprint) -> Bool {
        var comparisons = 0
        for polygon in 0..<polygonCount {
            let own = bounds(ofPolygon: polygon)
            for otherPolygon in 0..<other.polygonCount {
                let theirs = other.bounds(ofPolygon: otherPolygon)
                let turn = 360 * ((own.west + own.east - theirs.west - theirs.east) / 720).rounded()
                guard theirs.west + turn <= own.east, own.west <= theirs.east + turn, theirs.south <= own.north,
                    own.south <= theirs.north
                else { continue }
                let edges = other.edges(ofPolygon: otherPolygon, turn: turn, within: own)
                guard !edges.isEmpty else { continue }
                let ownEdges = self.edges(ofPolygon: polygon, turn: 0, within: theirs.turned(turn))
                comparisons += edges.count * ownEdges.count
                guard comparisons <= Self.comparisonsMax else { return true }
                if ownEdges.contains(where: { edge in edges.contains { Self.cross(edge, $0) } }) { return true }
            }
        }
        return false
    }

    /// About two milliseconds.
    private static let comparisonsMax = 300_000

    typealias Line = (from: SIMD2<Double>, to: SIMD2<Double>)

    /// The edges that may be in a box, moved round the earth by so many degrees.
    func edges(ofPolygon polygon: Int, turn: Double, within box: Bounds) -> [Line] {
        let vertices = vertices
        var result: [Line] = []
        for ring in rings(ofPolygon: polygon) {
            let range = corners(ofRing: ring)
            var from = vertices[range.upperBound - 1] + SIMD2(turn, 0)
            for place in range {
                let to = vertices[place] + SIMD2(turn, 0)
                if max(from.x, to.x) >= box.west, min(from.x, to.x) <= box.east, max(from.y, to.y) >= box.south,
                    min(from.y, to.y) <= box.north
                {
                    result.append((from, to))
                }
                from = to
            }
        }
        return result
    }

    private static func cross(_ left: Line, _ right: Line) -> Bool {
        func side(_ line: Line, _ point: SIMD2<Double>) -> Double {
            let along = line.to - line.from
            let away = point - line.from
            return along.x * away.y - away.x * along.y
        }
        let a = side(left, right.from)
        let b = side(left, right.to)
        let c = side(right, left.from)
        let d = side(right, left.to)
        return (a > 0 && b < 0 || a < 0 && b > 0) && (c > 0 && d < 0 || c < 0 && d > 0)
    }
}

extension Footprint.Bounds {
    fileprivate func turned(_ degrees: Double) -> Self {
        Self(west: west + degrees, south: south, east: east + degrees, north: north)
    }
}
