import Geodesy
import Places
import SeededRandom
import Testing

@Suite("How sure it is that a device is at a place")
struct ThresholdTests {
    struct Row: Sendable {
        var metres: Double
        var accuracy: Double?
        var rival: Double?
        var expected: Threshold
    }

    /// A degree of latitude at the equator.
    private static let degree = 110_574.3

    @Test(
        "Of a point by distance, accuracy and the nearest other place",
        arguments: [
            Row(metres: 0, accuracy: nil, rival: nil, expected: .high),
            Row(metres: 19.9, accuracy: 25, rival: nil, expected: .high),
            Row(metres: 20.1, accuracy: 25, rival: nil, expected: .low),
            Row(metres: 10, accuracy: 25.1, rival: nil, expected: .low),
            Row(metres: 10, accuracy: 10, rival: 14.9, expected: .low),
            Row(metres: 10, accuracy: 10, rival: 15.1, expected: .high),
            Row(metres: 49.9, accuracy: nil, rival: nil, expected: .low),
            Row(metres: 50.1, accuracy: nil, rival: nil, expected: .none),
            Row(metres: 50.1, accuracy: 49, rival: nil, expected: .none),
            Row(metres: 79.9, accuracy: 80, rival: nil, expected: .low),
            Row(metres: 80.1, accuracy: 80, rival: nil, expected: .none),
            Row(metres: 99.9, accuracy: 1000, rival: nil, expected: .low),
            Row(metres: 100.1, accuracy: 1000, rival: nil, expected: .none),
            Row(metres: 10, accuracy: -1, rival: nil, expected: .high),
            Row(metres: 10, accuracy: .nan, rival: nil, expected: .high),
        ])
    func ofPoints(_ row: Row) throws {
        let table = PlaceTable()
        try table.upsert(Place(id: "1", geometry: .point(latitude: 0, longitude: 20)))
        if let rival = row.rival {
            try table.upsert(Place(id: "2", geometry: .point(latitude: -rival / Self.degree, longitude: 20)))
        }
        let hit = try #require(table.hit(0, latitude: row.metres / Self.degree, longitude: 20))
        #expect(table.threshold(hit, accuracy: row.accuracy) == row.expected)
    }

    @Test("Of an outline by being inside, by the edge, and by what is near or inside it")
    func ofOutlines() throws {
        let table = PlaceTable()
        let square = [(0.0, 0.0), (0.001, 0), (0.001, 0.001), (0, 0.001)]
            .map { Area.Polygon.Vertex(longitude: $0.0, latitude: $0.1) }
        try table.upsert(Place(id: "1", geometry: try PlaceGeometry(polygons: [[square]])))
        func threshold(_ latitude: Double, accuracy: Double? = nil) throws -> Threshold {
            table.threshold(try #require(table.hit(0, latitude: latitude, longitude: 0.000_5)), accuracy: accuracy)
        }
        #expect(try threshold(0.000_9) == .high)
        #expect(try threshold(0.000_9, accuracy: 30) == .low)
        #expect(try threshold(0.001_1) == .low)
        #expect(try threshold(0.001_5) == .none)
        #expect(try threshold(0.001_5, accuracy: 80) == .low)
        try table.upsert(Place(id: "2", geometry: .point(latitude: 0.001_2, longitude: 0.000_5)))
        #expect(try threshold(0.000_9) == .high)
        try table.upsert(Place(id: "2", geometry: .point(latitude: 0.001_1, longitude: 0.000_5)))
        #expect(try threshold(0.000_9) == .low)
        try table.upsert(Place(id: "2", geometry: .point(latitude: 0.000_5, longitude: 0.000_5)))
        #expect(try threshold(0.000_9) == .low)
        #expect(table.hasRival(1))
    }

    @Test("A rival is a place within 15 m, found as by looking at every pair")
    func rivals() throws {
        var random = SplitMix64.forTest()
        let site = (latitude: 66.5, longitude: 179.999)
        for round in 0..<30 {
            let table = PlaceTable()
            var places: [Place] = []
            for number in 0..<8 {
                let at = NaivePlaces.position(near: site, metres: 90, &random)
                var geometry = PlaceGeometry.point(latitude: at.latitude, longitude: at.longitude)
                if random.chance(50), let rings = NaivePlaces.polygon(at: at, metres: random.pick([10, 40, 700]), &random),
                    let read = try? PlaceGeometry(polygons: [rings])
                {
                    geometry = read
                }
                places.append(Place(id: "\(number)", geometry: geometry))
                try table.upsert(places[number])
            }
            for (number, place) in places.enumerated() {
                let distances = places.indices.filter { $0 != number }.map { distance(place, places[$0]) }
                let nearest = distances.min() ?? .infinity
                guard abs(nearest - 15) > 0.02 else { continue }
                #expect(table.hasRival(UInt32(number)) == (nearest < 15), "round \(round), place \(number), \(nearest) m")
            }
        }
    }

    @Test("What was found of rivals holds until a place comes or goes, of hundreds of places too")
    func rivalsComeAndGo() throws {
        var random = SplitMix64.forTest()
        let table = PlaceTable()
        var twin: [Int: (latitude: Double, longitude: Double)] = [:]
        for step in 0..<1500 {
            let number = random.below(300)
            if twin.removeValue(forKey: number) != nil, random.chance(50) {
                table.remove("\(number)")
            } else {
                let at = NaivePlaces.position(near: NaivePlaces.sites[0], metres: 400, &random)
                twin[number] = at
                try table.upsert(Place(id: "\(number)", geometry: .point(latitude: at.latitude, longitude: at.longitude)))
            }
            guard step % 60 == 59 else { continue }
            for (number, at) in twin {
                let others = twin.filter { $0.key != number }.map { _, other in
                    Geodesic.distance(
                        fromLatitude: at.latitude, fromLongitude: at.longitude, toLatitude: other.latitude,
                        toLongitude: other.longitude)
                }
                let nearest = others.min() ?? .infinity
                guard abs(nearest - 15) > 0.02, let handle = table.handle(of: "\(number)") else { continue }
                // Found, and remembered.
                #expect(table.hasRival(handle) == (nearest < 15))
                #expect(table.hasRival(handle) == (nearest < 15))
            }
        }
    }

    /// 0 where edges cross, else the least from a corner of one to the other: what does not cross is nearest there.
    private func distance(_ left: Place, _ right: Place) -> Double {
        let (leftEdges, rightEdges) = (edges(of: left), edges(of: right))
        if leftEdges.contains(where: { edge in rightEdges.contains { cross(edge, $0) } }) { return 0 }
        let there = leftEdges.map { distance(of: $0.from, to: right) }.min() ?? .infinity
        return min(there, rightEdges.map { distance(of: $0.from, to: left) }.min() ?? .infinity)
    }

    private func distance(of point: SIMD2<Double>, to place: Place) -> Double {
        NaivePlaces.distance(place, latitude: point.y, longitude: point.x > 180 ? point.x - 360 : point.x, limit: 20)
    }

    private typealias Edge = (from: SIMD2<Double>, to: SIMD2<Double>)

    /// On the plane of degrees from 0 to 360; of a point an edge of no length.
    private func edges(of place: Place) -> [Edge] {
        func turned(_ point: SIMD2<Double>) -> SIMD2<Double> { point.x < 0 ? point + SIMD2(360, 0) : point }
        var edges: [Edge] = []
        switch place.geometry {
        case .point(let latitude, let longitude):
            let point = turned(SIMD2(longitude, latitude))
            edges = [(point, point)]
        case .polygons(let polygons):
            for polygon in polygons { polygon.forEachEdge { from, to, _ in edges.append((turned(from), turned(to))) } }
        }
        return edges
    }

    /// Whether both shares at which the lines meet are within the edges.
    private func cross(_ left: Edge, _ right: Edge) -> Bool {
        let (a, b, between) = (left.to - left.from, right.to - right.from, right.from - left.from)
        let scale = a.x * b.y - a.y * b.x
        guard scale != 0 else { return false }
        let share = (between.x * b.y - between.y * b.x) / scale
        let other = (between.x * a.y - between.y * a.x) / scale
        return share > 0 && share < 1 && other > 0 && other < 1
    }
}
