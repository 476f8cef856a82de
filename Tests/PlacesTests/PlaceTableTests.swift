import Geodesy
import Glibc
import Places
import SeededRandom
import Testing

@Suite("Places are found by id, by position and in order")
struct PlaceTableTests {
    @Test("A place comes out as it was put in")
    func roundTrip() throws {
        let table = PlaceTable()
        let ring = [(7.41, 43.73), (7.42, 43.73), (7.42, 43.74), (7.41, 43.74), (7.41, 43.73)]
            .map { Area.Polygon.Vertex(longitude: $0.0, latitude: $0.1) }
        let place = Place(
            id: "node/1", name: "Café", categoryIDs: ["a", "b"], chainID: "c", openingHours: "24/7", timeZone: "Europe/Monaco",
            holidays: Holidays(publicDays: ["2026-01-01"], schoolRanges: [.init(first: "2026-07-01", last: "2026-08-31")]),
            placerank: 12.5, geometry: try PlaceGeometry(polygons: [[ring]]), owner: "me", revision: "1-ab")
        #expect(try table.upsert(place) == .imported(0))
        #expect(table["node/1"] == place)
        #expect(try table.upsert(place) == .replaced(0))
        #expect(table["node/1"] == place)
        #expect(table.nearest(latitude: 43.735, longitude: 7.415, radius: 50).map(\.isInside) == [true])
        #expect(table.remove("node/1"))
        #expect(table["node/1"] == nil)
        #expect(!table.contains(0))
        #expect(table.nearest(latitude: 43.735, longitude: 7.415, radius: 50).isEmpty)
        #expect(!table.remove("node/1"))
    }

    @Test("Near finds what a look at every place finds, right to a centimetre, while places come and go")
    func nearTwin() throws {
        var random = SplitMix64.forTest()
        let table = PlaceTable()
        var naive = NaivePlaces()
        for round in 0..<120 {
            let site = random.pick(NaivePlaces.sites)
            for _ in 0..<12 { try change(table, &naive, near: site, &random) }
            let at = NaivePlaces.position(near: site, metres: 400, &random)
            let radius = random.pick([0.5, 15, 50, 250, 1000, 5000])
            let hits = table.nearest(latitude: at.latitude, longitude: at.longitude, radius: radius)
            var found: [String: PlaceTable.Hit] = [:]
            for hit in hits { found[table.id(hit.handle)] = hit }
            #expect(found.count == hits.count, "twice the same in round \(round)")
            #expect(zip(hits, hits.dropFirst()).allSatisfy { $0.distance <= $1.distance })
            for (id, place) in naive.places {
                let distance = NaivePlaces.distance(place, latitude: at.latitude, longitude: at.longitude, limit: radius + 1)
                if let hit = found[id] {
                    #expect(abs(hit.distance - distance) < 0.01, "\(id) at \(at) in round \(round): \(place.geometry)")
                    #expect(distance < radius + 0.02)
                    #expect(hit.isInside == (distance == 0 && table.isPolygon(hit.handle)))
                } else {
                    #expect(distance > radius - 0.02, "\(id) is missing at \(at) in round \(round): \(place.geometry)")
                }
            }
        }
        for (id, place) in naive.places { #expect(table[id] == place) }
        #expect(table.count == naive.places.count)
    }

    private func change(
        _ table: PlaceTable, _ naive: inout NaivePlaces, near site: (latitude: Double, longitude: Double),
        _ random: inout SplitMix64
    ) throws {
        let id = "place \(random.below(150))"
        guard random.chance(75) else {
            #expect(table.remove(id) == (naive.places.removeValue(forKey: id) != nil))
            return
        }
        let place = NaivePlaces.place(id, near: site, &random)
        let isNew = naive.places.updateValue(place, forKey: id) == nil
        let upsert = try table.upsert(place)
        #expect(upsert == (isNew ? .imported(upsert.handle) : .replaced(upsert.handle)))
    }

    @Test("A query of any radius finds points everywhere on the earth")
    func wholeEarth() throws {
        var random = SplitMix64.forTest()
        let table = PlaceTable()
        var points: [(latitude: Double, longitude: Double)] = []
        for number in 0..<2000 {
            let site = random.pick(NaivePlaces.sites)
            let point = NaivePlaces.position(near: site, metres: random.pick([10, 1000, 30_000]), &random)
            points.append(point)
            try table.upsert(
                Place(id: "\(number)", geometry: .point(latitude: point.latitude, longitude: point.longitude)))
        }
        for _ in 0..<40 {
            let at = NaivePlaces.position(near: random.pick(NaivePlaces.sites), metres: 5000, &random)
            let radius = random.pick([1.0, 100, 700, 3000, 20_000])
            let found = Set(table.nearest(latitude: at.latitude, longitude: at.longitude, radius: radius).map(\.handle))
            for (number, point) in points.enumerated() {
                let distance = Geodesic.distance(
                    fromLatitude: at.latitude, fromLongitude: at.longitude, toLatitude: point.latitude,
                    toLongitude: point.longitude)
                if found.contains(UInt32(number)) {
                    #expect(distance < radius + 0.02)
                } else {
                    #expect(distance > radius - 0.02, "\(point) at \(at)")
                }
            }
        }
    }

    @Test("An outline is found from far inside, whatever its size, and one round the whole earth too")
    func vastOutlines() throws {
        let table = PlaceTable()
        func box(_ id: String, _ west: Double, _ south: Double, _ east: Double, _ north: Double) throws {
            let corners = [(west, south), (east, south), (east, north), (west, north)]
                .map { Area.Polygon.Vertex(longitude: $0.0, latitude: $0.1) }
            try table.upsert(Place(id: id, geometry: try PlaceGeometry(polygons: [[corners]])))
        }
        try box("belt", -180, -40, 180, 50)
        try box("country", 0, 40, 12, 48)
        try box("pacific", 150, -30, -120, 10)
        try box("town", 7.4, 43.7, 7.5, 43.8)
        let found = { (latitude: Double, longitude: Double) in
            table.nearest(latitude: latitude, longitude: longitude, radius: 100).map { table.id($0.handle) }.sorted()
        }
        #expect(found(43.75, 7.45) == ["belt", "country", "town"])
        #expect(found(0, 180) == ["belt", "pacific"])
        #expect(found(0, -180) == ["belt", "pacific"])
        #expect(found(-5, -130) == ["belt", "pacific"])
        #expect(found(60, 5) == [])
        // Metres north of an edge along a parallel, which is no geodesic.
        #expect(found(48.000_5, 6) == ["belt", "country"])
        #expect(found(48.001_5, 6) == ["belt"])
        for id in ["belt", "country", "pacific", "town"] { #expect(table.remove(id)) }
        #expect(found(0, 180) == [])
    }

    @Test("An outline of thousands of corners answers as one whose edges are all looked at")
    func manyCorners() throws {
        var random = SplitMix64.forTest()
        for site in [NaivePlaces.sites[0], NaivePlaces.sites[3]] {
            func ring(_ count: Int, _ metres: Double) -> [Area.Polygon.Vertex] {
                (0..<count).map { corner in
                    let angle = 2 * Double.pi * Double(corner) / Double(count)
                    let reach = metres / 111_195 * Double.random(in: 0.9...1, using: &random)
                    let longitude = site.longitude + reach * cos(angle) / cos(site.latitude * .pi / 180)
                    return Area.Polygon.Vertex(
                        longitude: longitude < -180 ? longitude + 360 : longitude, latitude: site.latitude + reach * sin(angle))
                }
            }
            let geometry = try PlaceGeometry(polygons: [[ring(1500, 3000), ring(300, 1000)]])
            let place = Place(id: "1", geometry: geometry)
            let table = PlaceTable()
            try table.upsert(place)
            var inside = 0
            for _ in 0..<40 {
                let at = NaivePlaces.position(near: site, metres: 3500, &random)
                let expected = NaivePlaces.distance(place, latitude: at.latitude, longitude: at.longitude, limit: 700)
                let hit = table.nearest(latitude: at.latitude, longitude: at.longitude, radius: 600).first
                inside += hit?.isInside == true ? 1 : 0
                #expect(hit?.isInside ?? false == (expected == 0))
                #expect(abs((hit?.distance ?? 600) - min(expected, 600)) < 0.01)
            }
            #expect(inside > 5)
        }
    }

    @Test("Positions that are not on the earth, and radii that are none, find nothing")
    func badQueries() throws {
        let table = PlaceTable()
        try table.upsert(Place(id: "a", geometry: .point(latitude: 0, longitude: 0)))
        for (latitude, longitude, radius) in [
            (Double.nan, 0.0, 10.0), (0, .infinity, 10), (91, 0, 10), (0, 181, 10), (0, 0, -1), (0, 0, .nan),
        ] {
            #expect(table.nearest(latitude: latitude, longitude: longitude, radius: radius).isEmpty)
        }
        #expect(table.nearest(latitude: 0, longitude: 0, radius: 0).count == 1)
        #expect(table.nearest(latitude: 0, longitude: 0, radius: .infinity).count == 1)
    }

    @Test("What breaks a limit is refused and changes nothing")
    func limits() throws {
        let table = PlaceTable(limit: 1)
        let point = PlaceGeometry.point(latitude: 1, longitude: 2)
        let long = String(repeating: "x", count: 129)
        let refused: [(Place, String)] = [
            (Place(id: "", geometry: point), "id"), (Place(id: long, geometry: point), "id"),
            (Place(id: "a", name: String(repeating: "n", count: 1025), geometry: point), "name"),
            (Place(id: "a", categoryIDs: [""], geometry: point), "categoryIds"),
            (Place(id: "a", categoryIDs: (0..<65).map { "\($0)" }, geometry: point), "categoryIds"),
            (Place(id: "a", chainID: long, geometry: point), "chainId"),
            (Place(id: "a", openingHours: String(repeating: "h", count: 8193), geometry: point), "openingHours"),
            (Place(id: "a", placerank: .nan, geometry: point), "placerank"),
            (Place(id: "a", geometry: .point(latitude: .nan, longitude: 0)), "geometry"),
            (Place(id: "a", geometry: .polygons([])), "geometry"),
        ]
        for (place, field) in refused {
            let error = #expect(throws: PlaceError.self) { try table.upsert(place) }
            #expect(error?.field == field)
        }
        #expect(table.count == 0 && table.generation == 0)
        try table.upsert(Place(id: "a", geometry: point))
        #expect(throws: PlaceError.full(limit: 1)) { try table.upsert(Place(id: "b", geometry: point)) }
        #expect(try table.upsert(Place(id: "a", geometry: point)) == .replaced(0))
    }

    @Test("What places share is forgotten with the last of them, and memory does not grow with edits")
    func churn() throws {
        var random = SplitMix64.forTest()
        let table = PlaceTable()
        var settled = 0
        for round in 0..<60 {
            for number in 0..<200 {
                var place = NaivePlaces.place("id \(number)", near: NaivePlaces.sites[0], &random)
                place.chainID = "chain \(round) \(number)"
                place.openingHours = "hours \(round) \(number)"
                place.geometry = .point(latitude: 43, longitude: 7 + Double(random.below(100)) / 1000)
                try table.upsert(place)
            }
            if round == 30 { settled = table.memory.total }
        }
        #expect(table.memory.total < settled * 5 / 4)
        #expect(table.chain("chain 3 7") == nil)
        #expect(table.chain("chain 59 7") != nil)
        for number in 0..<200 { table.remove("id \(number)") }
        #expect(table.count == 0)
        #expect(table.chain("chain 59 7") == nil)
        #expect(table.memory.textsAndOutlines == 0)
        #expect(table.page(limit: 10).handles.isEmpty && table.page(limit: 10).next == nil)
    }
}
