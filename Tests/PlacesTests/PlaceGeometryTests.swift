import Geodesy
import Places
import SeededRandom
import Testing

@Suite("Outlines are repaired or refused")
struct PlaceGeometryTests {
    private func vertices(_ corners: [(Double, Double)]) -> [Area.Polygon.Vertex] {
        corners.map { Area.Polygon.Vertex(longitude: $0.0, latitude: $0.1) }
    }

    private static let square = [(0.0, 0.0), (0.001, 0.0), (0.001, 0.001), (0.0, 0.001), (0.0, 0.0)]

    @Test(
        "What is meant is taken: rings left open, repeated positions, either direction",
        arguments: [
            square, Array(square.dropLast()), Array(square.reversed()), square.flatMap { [$0, $0] }, square + [square[0]],
        ])
    func repaired(_ corners: [(Double, Double)]) throws {
        let table = PlaceTable()
        try table.upsert(Place(id: "1", geometry: try PlaceGeometry(polygons: [[vertices(corners)]])))
        #expect(table.nearest(latitude: 0.000_5, longitude: 0.000_5, radius: 0).map(\.isInside) == [true])
        #expect(table.nearest(latitude: 0.000_5, longitude: 0.001_1, radius: 5).isEmpty)
        #expect(table.nearest(latitude: 0.000_5, longitude: 0.001_1, radius: 12).map(\.isInside) == [false])
    }

    @Test("A hole is not inside, and a position in it is as far as its edge")
    func holes() throws {
        let table = PlaceTable()
        let hole = vertices([(0.000_3, 0.000_3), (0.000_7, 0.000_3), (0.000_7, 0.000_7), (0.000_3, 0.000_7)])
        try table.upsert(Place(id: "1", geometry: try PlaceGeometry(polygons: [[vertices(Self.square), hole]])))
        let hit = try #require(table.nearest(latitude: 0.000_5, longitude: 0.000_5, radius: 100).first)
        #expect(!hit.isInside)
        #expect(abs(hit.distance - 22.11) < 0.1)
        let point = table.point(of: 0)
        #expect(table.nearest(latitude: point.latitude, longitude: point.longitude, radius: 0).map(\.isInside) == [true])
    }

    @Test("What cannot be meant is refused, naming the rule")
    func refused() {
        let cases: [([[[(Double, Double)]]], String)] = [
            ([], "must have at least one polygon"),
            ([[]], "must have at least one ring"),
            ([[[]]], "must have at least 4 positions in a ring; ring 0 has 0"),
            ([[[(0, 0), (1, 1)]]], "must have at least 4 positions in a ring; ring 0 has 3"),
            ([[[(0, 0), (1, 1), (2, 2)]]], "must enclose something, and ring 0 does not"),
            (
                [[[(0, 0), (1, 1), (1, 0), (0, 1)]]],
                "must not cross or touch itself, as the edge from position 0 of ring 0 does"
            ),
            ([[[(0, 80), (120, 80), (-120, 80)]]], "must not go round a pole, and ring 0 does"),
            (
                [[[(0, 0), (1, 0), (91, 91)]]],
                "must have positions [longitude, latitude] within [±180, ±90]; ring 0 has another at 2"
            ),
            (
                [[Self.square], [Self.square, [(5, 5), (6, 5), (6, 6)]]],
                "must have its holes inside the outer ring and outside each other, and ring 1 is not (polygon 1)"
            ),
        ]
        for (polygons, message) in cases {
            let error = #expect(throws: PlaceGeometryError.self) {
                try PlaceGeometry(polygons: polygons.map { $0.map(vertices) })
            }
            #expect(error?.message == message)
        }
        #expect(throws: PlaceGeometryError.position) { try PlaceGeometry(latitude: 91, longitude: 0) }
        #expect(throws: PlaceGeometryError.position) { try PlaceGeometry(latitude: 0, longitude: .nan) }
    }

    @Test("Positions across the antimeridian come out as they were written")
    func antimeridian() throws {
        let ring = vertices([(179.999, -17), (-179.999, -17), (-179.999_1, -16.998), (179.998_7, -16.998), (179.999, -17)])
        let geometry = try PlaceGeometry(polygons: [[ring]])
        let table = PlaceTable()
        try table.upsert(Place(id: "1", geometry: geometry))
        #expect(table["1"]?.geometry == geometry)
        #expect(table.nearest(latitude: -16.999, longitude: 180, radius: 0).count == 1)
        #expect(table.nearest(latitude: -16.999, longitude: -180, radius: 0).count == 1)
    }

    @Test("Any figures are read or refused, and what is read is found at its own point")
    func fuzz() throws {
        var random = SplitMix64.forTest()
        let table = PlaceTable()
        let odd: [Double] = [0, 90, -90, 180, -180, 91, 1e300, .nan, .infinity, 1e-9]
        var read = 0
        for _ in 0..<6000 {
            let centre = (Double(random.below(361) - 180), Double(random.below(181) - 90))
            let spread = random.pick([1e-7, 1e-3, 1, 60])
            func figure(_ middle: Double) -> Double {
                random.chance(4) ? random.pick(odd) : middle + Double.random(in: -spread...spread, using: &random)
            }
            let polygons = (0..<random.below(3)).map { _ in
                (0..<(1 + random.below(2))).map { _ in
                    (0..<random.below(6)).map { _ in
                        Area.Polygon.Vertex(longitude: figure(centre.0), latitude: figure(centre.1))
                    }
                }
            }
            guard let geometry = try? PlaceGeometry(polygons: polygons) else { continue }
            read += 1
            let handle = try table.upsert(Place(id: "\(random.below(50))", geometry: geometry)).handle
            let point = table.point(of: handle)
            #expect(Position.isValid(latitude: point.latitude, longitude: point.longitude))
            let hits = table.nearest(latitude: point.latitude, longitude: point.longitude, radius: 1)
            #expect(hits.contains { $0.handle == handle && $0.isInside }, "\(polygons)")
        }
        #expect(read > 200)
    }
}
