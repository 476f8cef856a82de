#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

extension Area {
    /// A GeoJSON Polygon (RFC 7946, 3.1.6): an outer ring and holes. Edges are straight in latitude and longitude.
    ///
    /// An edge goes the shorter way round the earth, so that a polygon may lie across the antimeridian; one edge spans less
    /// than 180 degrees of longitude. Only the whole width, an edge from -180 to 180, is taken as it is written where the ring
    /// would be flat otherwise. The edge of a hole belongs to the polygon. The direction of a ring does not matter.
    public struct Polygon: Equatable, Sendable {
        /// A position of a ring.
        public struct Vertex: Equatable, Sendable {
            /// Degrees.
            public var longitude, latitude: Double

            public init(longitude: Double, latitude: Double) {
                self.longitude = longitude
                self.latitude = latitude
            }
        }

        /// The most vertices of one polygon unless the caller allows another number.
        public static let verticesMax = 1000

        /// The rings as they were given, closed.
        public let rings: [[Vertex]]
        public let bounds: Box
        /// The edges of all rings on a plane of degrees, unwrapped so that the ring is one piece.
        let edges: [Edge]
        private let west: Double

        /// - Parameters:
        ///   - rings: The outer ring and its holes, each closed: the first position comes again as the last.
        ///   - verticesMax: How many vertices all rings may have together, the repeated ones not counted.
        /// - Throws: Where a ring is not closed, has less than four positions, encloses nothing, goes round a pole, crosses or
        ///   touches itself or crosses another; where a position is not on the earth; where a hole lies outside.
        public init(rings: [[Vertex]], verticesMax: Int = Self.verticesMax) throws(AreaError) {
            guard !rings.isEmpty else { throw .noRing }
            let count = rings.reduce(0) { $0 + max(0, $1.count - 1) }
            guard count <= verticesMax else { throw .tooManyVertices(count, limit: verticesMax) }
            var loops: [Ring] = []
            for (index, ring) in rings.enumerated() {
                loops.append(try Ring(ring, index: index, near: loops.first?.minimum.x))
            }
            let touching = try Ring.checkCrossings(loops)
            try Ring.checkHoles(loops, touching: touching)
            self.rings = rings
            edges = loops.flatMap(\.edges)
            let outer = loops[0]
            west = outer.minimum.x
            let isWhole = outer.maximum.x - outer.minimum.x == 360
            bounds = Box(
                checkedWest: isWhole ? -180 : Self.wrapped(outer.minimum.x), south: outer.minimum.y,
                east: isWhole ? 180 : Self.wrapped(outer.maximum.x), north: outer.maximum.y)
        }

        public func contains(latitude: Double, longitude: Double) -> Bool {
            guard bounds.south <= latitude, latitude <= bounds.north else { return false }
            // A pole lies on every meridian.
            if abs(latitude) == 90 { return true }
            var x = longitude
            while x < west { x += 360 }
            while x - 360 >= west { x -= 360 }
            return Ring.isInside(SIMD2(x, latitude), of: edges)
        }

        /// How large it is, holes left out, to about half a percent.
        public var squareMetres: Double {
            // Over a sphere: the integral of the sine of the latitude along each edge, which is exact for straight ones.
            var areas: [Double] = []
            for edge in edges {
                if edge.isFirst { areas.append(0) }
                let from = edge.from.y * .pi / 180
                let to = edge.to.y * .pi / 180
                let mean = abs(to - from) < 1e-6 ? sin((from + to) / 2) : (cos(from) - cos(to)) / (to - from)
                areas[areas.count - 1] += (edge.to.x - edge.from.x) * .pi / 180 * mean
            }
            let holes = areas.dropFirst().reduce(0) { $0 + abs($1) }
            return (abs(areas[0]) - holes) * Ellipsoid.meanRadius * Ellipsoid.meanRadius
        }

        private static func wrapped(_ longitude: Double) -> Double {
            longitude < -180 ? longitude + 360 : longitude > 180 ? longitude - 360 : longitude
        }
    }
}

extension Area.Polygon {
    public static func == (left: Self, right: Self) -> Bool { left.rings == right.rings }
}

extension Area.Polygon {
    /// Calls `body` with each edge of each ring, in the order of the rings and of their positions, edges of no length left out.
    ///
    /// Edges lie on a plane of degrees: x is the longitude, unwrapped so that the polygon is one piece (it may leave ±180),
    /// y the latitude. Each edge of a ring begins where the one before it ends.
    public func forEachEdge(_ body: (_ from: SIMD2<Double>, _ to: SIMD2<Double>, _ beginsRing: Bool) -> Void) {
        for edge in edges { body(edge.from, edge.to, edge.isFirst) }
    }
}
