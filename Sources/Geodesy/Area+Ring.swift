extension Area.Polygon {
    /// An edge on the plane of degrees: x is the longitude, y the latitude.
    struct Edge: Sendable {
        var from, to: SIMD2<Double>
        /// It begins its ring.
        var isFirst: Bool
        /// Where it begins in the ring as it was given.
        var position: Int

        /// Twice the area of the triangle with this edge and a point: positive where the point lies to the left.
        func side(of point: SIMD2<Double>) -> Double {
            (to.x - from.x) * (point.y - from.y) - (point.x - from.x) * (to.y - from.y)
        }

        var low: SIMD2<Double> { SIMD2(min(from.x, to.x), min(from.y, to.y)) }
        var high: SIMD2<Double> { SIMD2(max(from.x, to.x), max(from.y, to.y)) }

        /// Whether a point that is in line with the edge is on it.
        func spans(_ point: SIMD2<Double>) -> Bool {
            let low = low
            let high = high
            return low.x <= point.x && point.x <= high.x && low.y <= point.y && point.y <= high.y
        }
    }

    /// A closed ring on the plane of degrees.
    struct Ring {
        let index: Int
        private(set) var edges: [Edge] = []
        private(set) var minimum = SIMD2(Double.infinity, Double.infinity)
        private(set) var maximum = SIMD2(-Double.infinity, -Double.infinity)

        /// - Parameter west: The western end of the outer ring, which a hole is laid beside.
        init(_ ring: [Vertex], index: Int, near west: Double?) throws(AreaError) {
            self.index = index
            for (place, vertex) in ring.enumerated() {
                guard Position.isValid(latitude: vertex.latitude, longitude: vertex.longitude) else {
                    throw .position(ring: index, position: place)
                }
            }
            guard ring.count >= 4, let first = ring.first, let last = ring.last else {
                throw .tooFewPositions(ring: index, count: ring.count)
            }
            let turn = abs(first.longitude - last.longitude)
            guard first.latitude == last.latitude, turn == 0 || turn == 360 else { throw .notClosed(ring: index) }

            try unwrap(ring, keepsWholeTurns: false)
            if !enclosesSomething {
                // The ends of a rectangle of the whole width are the same meridian.
                try unwrap(ring, keepsWholeTurns: true)
            }
            guard enclosesSomething else { throw .flat(ring: index) }
            if let west { shift(toEastOf: west) }
        }

        /// Lays the ring out on the plane, each edge the shorter way, and leaves out edges of no length.
        private mutating func unwrap(_ ring: [Vertex], keepsWholeTurns: Bool) throws(AreaError) {
            edges.removeAll()
            var turns = 0.0
            var last = SIMD2(ring[0].longitude, ring[0].latitude)
            for place in 1..<ring.count {
                let step = ring[place].longitude - ring[place - 1].longitude
                if abs(step) > 180, !(keepsWholeTurns && abs(step) == 360) { turns += step > 0 ? -1 : 1 }
                let point = SIMD2(ring[place].longitude + 360 * turns, ring[place].latitude)
                guard point != last else { continue }
                edges.append(Edge(from: last, to: point, isFirst: edges.isEmpty, position: place - 1))
                last = point
            }
            // What does not come back to where it began has gone round the earth.
            guard last == edges.first?.from ?? last else { throw .roundPole(ring: index) }
            measure()
            guard edges.isEmpty || maximum.x - minimum.x <= 360 else { throw .roundPole(ring: index) }
        }

        private mutating func measure() {
            minimum = SIMD2(.infinity, .infinity)
            maximum = SIMD2(-.infinity, -.infinity)
            for edge in edges {
                minimum = SIMD2(min(minimum.x, edge.from.x), min(minimum.y, edge.from.y))
                maximum = SIMD2(max(maximum.x, edge.from.x), max(maximum.y, edge.from.y))
            }
        }

        private var enclosesSomething: Bool {
            guard edges.count >= 3 else { return false }
            // Not in line: a ring with one point beside a line is flat or crosses itself, which is distinguished later. What is off by
            // less than 0.1 mm is so because decimal figures are rounded.
            let first = edges[0].to - edges[0].from
            let limit = 1e-9 * (first * first).sum().squareRoot()
            return edges.contains { abs(edges[0].side(of: $0.to)) > limit }
        }

        private mutating func shift(toEastOf west: Double) {
            var step = 0.0
            while minimum.x + step < west { step += 360 }
            while minimum.x + step - 360 >= west { step -= 360 }
            guard step != 0 else { return }
            for place in edges.indices {
                edges[place].from.x += step
                edges[place].to.x += step
            }
            measure()
        }

        /// Whether a point is in what the rings enclose, holes taken out, or on an edge.
        static func isInside(_ point: SIMD2<Double>, of edges: [Edge]) -> Bool {
            var isInside = false
            for edge in edges {
                guard min(edge.from.y, edge.to.y) <= point.y, point.y <= max(edge.from.y, edge.to.y) else { continue }
                let side = edge.side(of: point)
                if side == 0, edge.spans(point) { return true }
                // Counted where a ray to the east crosses the edge; its upper end does not belong to it.
                if (edge.from.y > point.y) != (edge.to.y > point.y), (side > 0) == (edge.to.y > edge.from.y) {
                    isInside.toggle()
                }
            }
            return isInside
        }
    }
}
