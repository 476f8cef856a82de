import Geodesy
import SeededRandom
import Testing

@Suite("Polygons")
struct AreaPolygonTests {
    typealias Vertex = Area.Polygon.Vertex

    static func ring(_ points: [(Double, Double)]) -> [Vertex] {
        points.map { Vertex(longitude: $0.0, latitude: $0.1) }
    }

    static let square = ring([(0, 0), (10, 0), (10, 10), (0, 10), (0, 0)])

    @Test("A polygon holds its edges and those of its holes, but not what is in a hole")
    func holes() throws {
        let hole = Self.ring([(4, 4), (6, 4), (6, 6), (4, 6), (4, 4)])
        let polygon = try Area.Polygon(rings: [Self.square, hole])
        for (longitude, latitude) in [(0.0, 0.0), (10, 10), (5, 0), (4, 5), (6, 6), (1, 1), (3.9, 5)] {
            #expect(polygon.contains(latitude: latitude, longitude: longitude), "\(longitude) \(latitude)")
        }
        for (longitude, latitude) in [(5.0, 5.0), (4.1, 5.9), (10.1, 5), (-0.1, 5), (5, -0.1), (180, 5)] {
            #expect(!polygon.contains(latitude: latitude, longitude: longitude), "\(longitude) \(latitude)")
        }
    }

    @Test("A polygon lies across the antimeridian, written with or without the split of 180 and -180")
    func antimeridian() throws {
        let short = try Area.Polygon(rings: [Self.ring([(170, -5), (-170, -5), (-170, 5), (170, 5), (170, -5)])])
        let split = try Area.Polygon(
            rings: [
                Self.ring([(170, -5), (180, -5), (-180, -5), (-170, -5), (-170, 5), (-180, 5), (180, 5), (170, 5), (170, -5)])
            ])
        for polygon in [short, split] {
            for longitude in [170, 175, 180, -180, -175, -170.0] { #expect(polygon.contains(latitude: 0, longitude: longitude)) }
            for longitude in [169, -169, 0.0] { #expect(!polygon.contains(latitude: 0, longitude: longitude)) }
            #expect(polygon.bounds.west == 170)
            #expect(polygon.bounds.east == -170)
        }
    }

    @Test("A rectangle of the whole width is the whole earth, and a pole lies on every meridian")
    func whole() throws {
        let earth = try Area.Polygon(rings: [Self.ring([(-180, -90), (180, -90), (180, 90), (-180, 90), (-180, -90)])])
        for longitude in [-180, -1, 0, 77, 180.0] {
            for latitude in [-90, 0, 90.0] { #expect(earth.contains(latitude: latitude, longitude: longitude)) }
        }
        let wedge = try Area.Polygon(rings: [Self.ring([(0, 80), (10, 80), (5, 90), (0, 80)])])
        #expect(wedge.contains(latitude: 90, longitude: -120))
        #expect(!wedge.contains(latitude: 89, longitude: -120))
    }

    struct Refusal: Sendable {
        var rings: [[Vertex]]
        var error: AreaError

        init(_ rings: [[(Double, Double)]], _ error: AreaError) {
            self.rings = rings.map(AreaPolygonTests.ring)
            self.error = error
        }
    }

    static let outer: [(Double, Double)] = [(0, 0), (10, 0), (10, 10), (0, 10), (0, 0)]

    @Test(
        "What is no polygon is refused with the rule it breaks",
        arguments: [
            Refusal([], .noRing),
            Refusal([[]], .tooFewPositions(ring: 0, count: 0)),
            Refusal([[(0, 0), (1, 1), (0, 0)]], .tooFewPositions(ring: 0, count: 3)),
            Refusal([[(0, 0), (10, 0), (10, 10), (0, 10)]], .notClosed(ring: 0)),
            Refusal([[(0, 0), (200, 0), (10, 10), (0, 0)]], .position(ring: 0, position: 1)),
            Refusal([[(0, 0), (1, .nan), (10, 10), (0, 0)]], .position(ring: 0, position: 1)),
            Refusal([[(0, 0), (10, 10), (10, 0), (0, 10), (0, 0)]], .crossing(ring: 0, position: 0)),
            Refusal([[(0, 0), (5, 5), (10, 10), (0, 0)]], .flat(ring: 0)),
            Refusal([[(1, 1), (1, 1), (1, 1), (1, 1)]], .flat(ring: 0)),
            // In line, but for how decimal figures are rounded.
            Refusal([[(7, 43), (7.01, 43.01), (7.02, 43.02), (7, 43)]], .flat(ring: 0)),
            Refusal([[(-120, 80), (0, 80), (120, 80), (-120, 80)]], .roundPole(ring: 0)),
            Refusal([outer, [(12, 4), (14, 4), (14, 6), (12, 4)]], .hole(ring: 1)),
            Refusal([outer, [(4, 4), (6, 4), (6, 6), (4, 4)], [(4.5, 4.2), (5.5, 4.2), (5.5, 5), (4.5, 4.2)]], .hole(ring: 2)),
        ])
    func refusals(_ row: Refusal) {
        #expect(throws: row.error) { try Area.Polygon(rings: row.rings) }
    }

    @Test("A hole may touch the outer ring at a point, but not lie along it or cross it")
    func touchingHoles() throws {
        _ = try Area.Polygon(rings: [Self.square, Self.ring([(0, 5), (2, 4), (2, 6), (0, 5)])])
        #expect(throws: AreaError.self) {
            try Area.Polygon(rings: [Self.square, Self.ring([(0, 4), (2, 4), (2, 6), (0, 6), (0, 4)])])
        }
        #expect(throws: AreaError.self) {
            try Area.Polygon(rings: [Self.square, Self.ring([(-1, 5), (2, 4), (2, 6), (-1, 5)])])
        }
        // It begins inside, and is outside between two points where it touches.
        #expect(throws: AreaError.hole(ring: 1)) {
            try Area.Polygon(rings: [
                Self.ring([(0, 0), (10, 0), (10, 4), (5, 4.5), (5, 5.5), (10, 6), (10, 10), (0, 10), (0, 0)]),
                Self.ring([(2, 5), (5, 4.5), (9, 5), (5, 5.5), (2, 5)]),
            ])
        }
    }

    @Test("The number of vertices is bounded, the repeated one of each ring not counted")
    func vertices() throws {
        func circle(_ count: Int) -> [Vertex] {
            // A convex ring without trigonometry: up along a parabola and back along a straight line.
            var ring = (0..<count).map { place in
                let x = Double(place) / Double(count)
                return Vertex(longitude: x, latitude: x * x)
            }
            ring.append(ring[0])
            return ring
        }
        _ = try Area.Polygon(rings: [circle(1000)])
        #expect(throws: AreaError.tooManyVertices(1001, limit: 1000)) { try Area.Polygon(rings: [circle(1001)]) }
        #expect(throws: AreaError.tooManyVertices(11, limit: 10)) { try Area.Polygon(rings: [circle(11)], verticesMax: 10) }
    }

    @Test("A polygon's size is what lies between its edges")
    func size() throws {
        // One degree at the equator: 111.32 km by 110.57 km on the ellipsoid.
        let degree = try Area.Polygon(rings: [Self.ring([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])])
        #expect(abs(degree.squareMetres / 12_308_778_361 - 1) < 0.006)
        let hole = try Area.Polygon(
            rings: [
                Self.ring([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]),
                Self.ring([(0.2, 0.2), (0.2, 0.7), (0.7, 0.7), (0.7, 0.2), (0.2, 0.2)]),
            ])
        #expect(abs(hole.squareMetres / degree.squareMetres - 0.75) < 0.001)
    }

    @Test("Random rings are accepted and hold points as exact whole-number geometry says, wherever on the earth they lie")
    func twin() {
        var random = SplitMix64.forTest()
        var accepted = 0
        for _ in 0..<20_000 {
            let count = 3 + random.below(5)
            let points = (0..<count).map { _ in NaivePolygon.Point(x: random.below(9), y: random.below(9)) }
            let naive = NaivePolygon(points)
            // Quarters of a degree are exact, so that moving the ring changes no rounding.
            let offset = Double(random.pick([0, 100, -720, 719, 716]))
            func degrees(_ point: NaivePolygon.Point) -> Vertex {
                let longitude = (Double(point.x) + offset) / 4
                return Vertex(longitude: longitude > 180 ? longitude - 360 : longitude, latitude: Double(point.y) / 4 - 1)
            }
            let polygon = try? Area.Polygon(rings: [(points + [points[0]]).map(degrees)])
            #expect((polygon != nil) == naive.isSimple, "\(points)")
            guard let polygon, naive.isSimple else { continue }
            accepted += 1
            for x in -1...9 {
                for y in -1...9 {
                    let at = NaivePolygon.Point(x: x, y: y)
                    var vertex = degrees(at)
                    if vertex.longitude < -180 { vertex.longitude += 360 }
                    let isInside = polygon.contains(latitude: vertex.latitude, longitude: vertex.longitude)
                    #expect(isInside == naive.contains(at), "\(points) \(at)")
                }
            }
        }
        #expect(accepted > 1_000)
    }
}

/// A ring on whole numbers, decided without rounding and without cleverness.
struct NaivePolygon {
    struct Point: Equatable {
        var x, y: Int
    }

    let points: [Point]

    init(_ ring: [Point]) {
        // Repeated positions are one.
        var points: [Point] = []
        for point in ring where points.last != point { points.append(point) }
        while points.count > 1, points.first == points.last { points.removeLast() }
        self.points = points
    }

    private static func side(_ a: Point, _ b: Point, _ c: Point) -> Int {
        ((b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y)).signum()
    }

    private static func isOn(_ point: Point, _ a: Point, _ b: Point) -> Bool {
        side(a, b, point) == 0 && min(a.x, b.x) <= point.x && point.x <= max(a.x, b.x) && min(a.y, b.y) <= point.y
            && point.y <= max(a.y, b.y)
    }

    private static func meet(_ a: Point, _ b: Point, _ c: Point, _ d: Point) -> Bool {
        side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0 || isOn(c, a, b) || isOn(d, a, b)
            || isOn(a, c, d) || isOn(b, c, d)
    }

    private func edge(_ place: Int) -> (Point, Point) { (points[place], points[(place + 1) % points.count]) }

    var isSimple: Bool {
        guard points.count >= 3 else { return false }
        for i in points.indices {
            for j in points.indices where i < j {
                let (a, b) = edge(i)
                let (c, d) = edge(j)
                if b == c || d == a {
                    // Neighbours share a point, and may share no other.
                    let (tip, far, other) = b == c ? (b, a, d) : (a, b, c)
                    if Self.isOn(far, tip, other) || Self.isOn(other, tip, far) { return false }
                    if b == c && d == a { return false }
                } else if Self.meet(a, b, c, d) {
                    return false
                }
            }
        }
        return true
    }

    /// The winding number, and the edges.
    func contains(_ point: Point) -> Bool {
        var winding = 0
        for place in points.indices {
            let (a, b) = edge(place)
            if Self.isOn(point, a, b) { return true }
            if a.y <= point.y, b.y > point.y, Self.side(a, b, point) > 0 { winding += 1 }
            if a.y > point.y, b.y <= point.y, Self.side(a, b, point) < 0 { winding -= 1 }
        }
        return winding != 0
    }
}
