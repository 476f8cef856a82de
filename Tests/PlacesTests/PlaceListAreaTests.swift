import Geodesy
import Glibc
import Places
import SeededRandom
import Testing

@Suite("Which places lie in an area")
struct PlaceListAreaTests {
    struct Row: CustomTestStringConvertible {
        var name: String
        var area: Area
        var isListed: Bool
        var testDescription: String { name }
    }

    /// A square with a hole: 10…13 degrees both ways, the hole 11…12.
    private static let ring = square(10, 10, 13, 13)
    private static let hole = square(11, 11, 12, 12)

    private static func square(_ west: Double, _ south: Double, _ east: Double, _ north: Double) -> [Area.Polygon.Vertex] {
        [(west, south), (east, south), (east, north), (west, north), (west, south)].map {
            Area.Polygon.Vertex(longitude: $0.0, latitude: $0.1)
        }
    }

    private static func rows() throws -> [Row] {
        func box(_ west: Double, _ south: Double, _ east: Double, _ north: Double) throws -> Area {
            .box(try Area.Box(west: west, south: south, east: east, north: north))
        }
        return [
            Row(name: "a corner", area: try box(12.9, 12.9, 14, 14), isListed: true),
            Row(name: "it touches", area: try box(13, 13, 14, 14), isListed: true),
            Row(name: "beside it", area: try box(13.001, 10, 14, 13), isListed: false),
            Row(name: "in the hole", area: try box(11.2, 11.2, 11.8, 11.8), isListed: false),
            Row(name: "the edge of the hole", area: try box(11.2, 11.2, 12, 11.8), isListed: true),
            Row(name: "a strip through it, no corner in the other", area: try box(9, 10.4, 14, 10.6), isListed: true),
            Row(name: "all round it", area: try box(0, 0, 20, 20), isListed: true),
            Row(name: "all of the earth but a strip", area: try box(14, -80, 9, 80), isListed: false),
            Row(name: "across the antimeridian to it", area: try box(14, -80, 10.5, 80), isListed: true),
            Row(
                name: "a circle in the hole",
                area: .circle(try Area.Circle(latitude: 11.5, longitude: 11.5, radius: 19_000)), isListed: false),
            Row(
                name: "a circle that reaches an edge",
                area: .circle(try Area.Circle(latitude: 11.5, longitude: 13.1, radius: 11_500)), isListed: true),
            Row(
                name: "a circle that does not",
                area: .circle(try Area.Circle(latitude: 11.5, longitude: 13.1, radius: 10_500)), isListed: false),
            Row(
                name: "a large circle with a corner",
                area: .circle(try Area.Circle(latitude: 14, longitude: 14, radius: 160_000)), isListed: true),
            Row(
                name: "a polygon with the place in its hole",
                area: .polygon(try Area.Polygon(rings: [square(0, 0, 30, 30), square(5, 5, 20, 20)])), isListed: false),
            Row(
                name: "a polygon whose hole the place sticks out of",
                area: .polygon(try Area.Polygon(rings: [square(0, 0, 30, 30), square(5, 5, 12.5, 20)])), isListed: true),
            Row(
                name: "a polygon in the hole of the place",
                area: .polygon(try Area.Polygon(rings: [square(11.1, 11.1, 11.9, 11.9)])), isListed: false),
        ]
    }

    @Test("A place with an outline is listed where any part of it lies in the area, not only its middle")
    func anyPart() throws {
        for turn in [0.0, 168.5] {
            let table = PlaceTable()
            try table.upsert(
                Place(id: "p", geometry: PlaceGeometry(polygons: [[Self.ring, Self.hole].map { Self.turned($0, turn) }])))
            for row in try Self.rows() {
                let area = try Self.turned(row.area, turn)
                #expect(table.page(PlaceFilter(within: area), limit: 1).handles.isEmpty != row.isListed, "\(row.name), \(turn)")
            }
        }
    }

    private static func turned(_ ring: [Area.Polygon.Vertex], _ turn: Double) -> [Area.Polygon.Vertex] {
        ring.map { Area.Polygon.Vertex(longitude: wrapped($0.longitude + turn), latitude: $0.latitude) }
    }

    private static func wrapped(_ longitude: Double) -> Double { longitude > 180 ? longitude - 360 : longitude }

    /// The same further east, some across the antimeridian.
    private static func turned(_ area: Area, _ turn: Double) throws -> Area {
        switch area {
        case .box(let box):
            .box(try Area.Box(west: wrapped(box.west + turn), south: box.south, east: wrapped(box.east + turn), north: box.north))
        case .circle(let circle):
            .circle(
                try Area.Circle(
                    latitude: circle.latitude, longitude: wrapped(circle.longitude + turn), radius: circle.radius))
        case .polygon(let polygon):
            .polygon(try Area.Polygon(rings: polygon.rings.map { turned($0, turn) }))
        }
    }

    @Test("Whatever point of a place lies in an area lists it, and where none does nearly, it is not")
    func sampled() throws {
        var random = SplitMix64.forTest()
        var listed = 0
        var certain = 0
        for round in 0..<700 {
            let site = NaivePlaces.sites[round % 5]
            let centre = NaivePlaces.position(near: site, metres: 400, &random)
            guard let rings = NaivePlaces.polygon(at: centre, metres: random.pick([20.0, 100, 300]), &random) else { continue }
            guard let geometry = try? PlaceGeometry(polygons: [rings]) else { continue }
            let table = PlaceTable()
            try table.upsert(Place(id: "p", geometry: geometry))
            let at = NaivePlaces.position(near: site, metres: 400, &random)
            let metres = Double.random(in: 5...300, using: &random)
            let isBox = Bool.random(using: &random)
            let area = try Self.area(at, metres, isBox: isBox)
            let isListed = !table.page(PlaceFilter(within: area), limit: 1).handles.isEmpty
            let points = Self.points(of: rings) + Self.inside(geometry, centre, &random)
            let isIn = points.contains { area.contains(latitude: $0.latitude, longitude: $0.longitude) }
            let larger = try Self.area(at, metres * 1.02 + 3, isBox: isBox)
            let isNearlyIn =
                points.contains { larger.contains(latitude: $0.latitude, longitude: $0.longitude) }
                || NaivePlaces.distance(
                    Place(id: "p", geometry: geometry), latitude: at.latitude, longitude: at.longitude, limit: 1) == 0
            if isIn { #expect(isListed, "\(area) \(rings)") }
            if isListed { #expect(isNearlyIn, "\(area) \(rings)") }
            if isBox, case .box(let box) = area, box.west < box.east {
                let same = Area.polygon(try Area.Polygon(rings: [Self.square(box.west, box.south, box.east, box.north)]))
                #expect(table.page(PlaceFilter(within: same), limit: 1).handles.isEmpty != isListed)
            }
            listed += isListed ? 1 : 0
            certain += isIn ? 1 : 0
        }
        #expect(listed > 100)
        #expect(certain > 100)
    }

    private static func area(
        _ at: (latitude: Double, longitude: Double), _ metres: Double, isBox: Bool
    ) throws -> Area {
        guard isBox else {
            return .circle(try Area.Circle(latitude: at.latitude, longitude: at.longitude, radius: metres))
        }
        let north = metres / 111_195
        let east = north / cos(at.latitude * .pi / 180)
        let west = at.longitude - east
        return .box(
            try Area.Box(
                west: west < -180 ? west + 360 : west, south: at.latitude - north, east: wrapped(at.longitude + east),
                north: at.latitude + north))
    }

    /// Corners, and a hundred points of each edge.
    private static func points(of rings: [[Area.Polygon.Vertex]]) -> [(latitude: Double, longitude: Double)] {
        rings.flatMap { ring in
            ring.indices.flatMap { place in
                let from = ring[place]
                let to = ring[(place + 1) % ring.count]
                var step = to.longitude - from.longitude
                if step > 180 { step -= 360 } else if step < -180 { step += 360 }
                return (0..<100).map { part in
                    let share = Double(part) / 100
                    let longitude = wrapped(from.longitude + step * share)
                    return (
                        latitude: from.latitude + (to.latitude - from.latitude) * share,
                        longitude: longitude < -180 ? longitude + 360 : longitude
                    )
                }
            }
        }
    }

    private static func inside(
        _ geometry: PlaceGeometry, _ centre: (latitude: Double, longitude: Double), _ random: inout SplitMix64
    ) -> [(latitude: Double, longitude: Double)] {
        guard case .polygons(let polygons) = geometry else { return [] }
        return (0..<400).map { _ in NaivePlaces.position(near: centre, metres: 300, &random) }
            .filter { at in polygons.contains { $0.contains(latitude: at.latitude, longitude: at.longitude) } }
    }
}
