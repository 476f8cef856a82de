extension Area.Polygon.Ring {
    private typealias Edge = Area.Polygon.Edge

    private struct Candidate {
        var edge: Edge
        var ring: Int
        /// Which edge of its ring, and how many that has.
        var place, count: Int

        func isNeighbour(of other: Candidate) -> Bool {
            guard ring == other.ring else { return false }
            let step = abs(place - other.place)
            return step == 1 || step == count - 1
        }
    }

    /// Throws where an edge meets another one that it may not meet.
    ///
    /// Edges are looked at from west to east, so that only those that overlap in longitude are compared.
    ///
    /// - Returns: The rings that touch another one.
    static func checkCrossings(_ rings: [Self]) throws(AreaError) -> Set<Int> {
        var candidates: [Candidate] = []
        for ring in rings {
            for (place, edge) in ring.edges.enumerated() {
                candidates.append(Candidate(edge: edge, ring: ring.index, place: place, count: ring.edges.count))
            }
        }
        candidates.sort { ($0.edge.low.x, $0.ring, $0.place) < ($1.edge.low.x, $1.ring, $1.place) }
        // Most of those that overlap in longitude do not in latitude: what says so lies side by side.
        let wests = candidates.map(\.edge.low.x)
        let latitudes = candidates.map { (low: $0.edge.low.y, high: $0.edge.high.y) }
        var touching: Set<Int> = []
        for (place, left) in candidates.enumerated() {
            let east = left.edge.high.x
            let (low, high) = latitudes[place]
            var other = place + 1
            while other < wests.count, wests[other] <= east {
                defer { other += 1 }
                guard latitudes[other].low <= high, latitudes[other].high >= low else { continue }
                let right = candidates[other]
                if offend(left, right, &touching) { throw .crossing(ring: left.ring, position: left.edge.position) }
            }
        }
        return touching
    }

    private static func offend(_ left: Candidate, _ right: Candidate, _ touching: inout Set<Int>) -> Bool {
        if left.isNeighbour(of: right) { return retrace(left.edge, right.edge) }
        switch meeting(left.edge, right.edge) {
        case .none: return false
        case .touch:
            touching.insert(left.ring)
            touching.insert(right.ring)
            return left.ring == right.ring
        case .cross: return true
        }
    }

    private enum Meeting { case none, touch, cross }

    private static func meeting(_ left: Edge, _ right: Edge) -> Meeting {
        let a = left.side(of: right.from)
        let b = left.side(of: right.to)
        let c = right.side(of: left.from)
        let d = right.side(of: left.to)
        if a == 0 && b == 0 {
            // In line: more than one common point is an overlap, which is as bad as a crossing.
            let common = [right.from, right.to].filter(left.spans) + [left.from, left.to].filter(right.spans)
            guard let first = common.first else { return .none }
            return common.allSatisfy { $0 == first } ? .touch : .cross
        }
        if (a > 0 && b < 0 || a < 0 && b > 0) && (c > 0 && d < 0 || c < 0 && d > 0) { return .cross }
        let touches =
            a == 0 && left.spans(right.from) || b == 0 && left.spans(right.to)
            || c == 0 && right.spans(left.from) || d == 0 && right.spans(left.to)
        return touches ? .touch : .none
    }

    /// Whether two edges with a common end lie on one another.
    private static func retrace(_ left: Edge, _ right: Edge) -> Bool {
        guard left.side(of: right.from) == 0, left.side(of: right.to) == 0 else { return false }
        let before = left.to - left.from
        let after = right.to - right.from
        return before.x * after.x + before.y * after.y < 0
    }

    /// Throws where a hole is not inside the outer ring, or is in another hole. Nothing crosses.
    ///
    /// - Parameter touching: The rings that touch another one: the rest of a ring may lie elsewhere than one edge.
    static func checkHoles(_ rings: [Self], touching: Set<Int>) throws(AreaError) {
        for hole in rings.dropFirst() {
            for edge in touching.contains(hole.index) ? hole.edges[...] : hole.edges.prefix(1) {
                let middle = (edge.from + edge.to) / 2
                guard isInside(edge.from, of: rings[0].edges), isInside(middle, of: rings[0].edges) else {
                    throw .hole(ring: hole.index)
                }
            }
            for other in rings.dropFirst() where other.index != hole.index {
                let isApart = hole.edges.contains {
                    !isInside($0.from, of: other.edges) || !isInside(($0.from + $0.to) / 2, of: other.edges)
                }
                guard isApart else { throw .hole(ring: hole.index) }
            }
        }
    }
}
