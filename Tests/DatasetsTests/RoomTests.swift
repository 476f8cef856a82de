import Geodesy
import SeededRandom
import Testing
import Wire

@testable import Datasets

@Suite("Rooms of positions")
struct RoomTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var levels: String
        var x, y: Double
        var floorIndex: Int?
        /// Venue, building, floor and room that are added; `-` for those that are not.
        var added: String

        init(_ levels: String, _ x: Double, _ y: Double, floor floorIndex: Int? = nil, _ added: String) {
            (self.levels, self.x, self.y, self.floorIndex, self.added) = (levels, x, y, floorIndex, added)
        }

        var testDescription: String { "\(levels) \(x) \(y) \(floorIndex.map(String.init) ?? "")" }
    }

    @Test(
        "A position gets the room whose outline holds it, on the floor that topic or floor index tell",
        arguments: [
            Row("-/-/-/-", 5, 5, floor: 0, "v/h/0/a"), Row("-/-/-/-", 15, 5, floor: 1, "v/h/1/b"),
            Row("-/-/0/-", 5, 5, "v/h/-/a"), Row("v/h/1/-", 5, 5, "-/-/-/a"),
            // The topic's floor counts more than the floor index.
            Row("v/h/1/-", 5, 5, floor: 0, "-/-/-/a"),
            // Without a floor it could be either; the booth is on one floor only, but room c of the other is there, too.
            Row("-/-/-/-", 5, 5, "-/-/-/-"), Row("-/-/-/-", 25, 5, "-/-/-/-"),
            // Nested: the smallest.
            Row("-/-/-/-", 25, 5, floor: 0, "v/h/0/booth"), Row("-/-/-/-", 25, 5, floor: 1, "v/h/1/c"),
            Row("-/-/-/-", 22, 5, floor: 0, "v/h/0/c"),
            // No such floor; outside; another building.
            Row("-/-/-/-", 5, 5, floor: 7, "-/-/-/-"), Row("-/-/-/-", 40, 5, floor: 0, "-/-/-/-"),
            Row("-/x/-/-", 5, 5, floor: 0, "-/-/-/-"), Row("v/h/9/-", 5, 5, "-/-/-/-"),
            // A room that is named is kept, also where it is elsewhere or not known.
            Row("v/h/0/b", 5, 5, floor: 0, "-/-/-/-"), Row("-/-/-/booth", 5, 5, floor: 1, "v/h/0/-"),
            Row("-/-/-/a", 5, 5, floor: 0, "-/-/-/-"), Row("-/-/-/q", 5, 5, floor: 0, "-/-/-/-"),
            Row("-/h/0/q", 5, 5, "v/-/-/-"),
        ])
    func finds(_ row: Row) {
        let harness = HubHarness()
        harness.importStructure(FloorPlan.house)
        let topic = "d/\(row.levels)/phone/position"
        harness.send(topic, FloorPlan.payload(row.x, row.y, row.floorIndex.map { #","floorIndex":\#($0)"# } ?? ""))
        let live = harness.retained["live/" + topic].flatMap { try? JSONValue.parse($0) }
        #expect(live?["topic"]?.text == topic)
        let added = ["venue", "building", "floor", "room"].map { live?["properties"]?[$0]?.text ?? "-" }
        #expect(added.joined(separator: "/") == row.added)
    }

    @Test("Where only one floor is there, no floor has to be given; a floor without an outline has its building's")
    func oneFloor() {
        let harness = HubHarness()
        harness.importStructure(
            FloorPlan.collection([
                FloorPlan.feature(#""level":"building","id":"h","parents":["v"]"#, FloorPlan.rectangle(0, 0, 30, 10)),
                FloorPlan.feature(#""level":"floor","id":"0","parents":["v","h"],"floorIndex":0"#),
                FloorPlan.feature(#""level":"room","id":"a","parents":["v","h","0"]"#, FloorPlan.rectangle(0, 0, 10, 10)),
            ]))
        func properties(_ x: Double, _ extra: String = "") -> [String?] {
            harness.send("d/-/-/-/-/phone/position", FloorPlan.payload(x, 5, extra))
            let live = harness.retained["live/d/-/-/-/-/phone/position"].flatMap { try? JSONValue.parse($0) }
            return [live?["properties"]?["floor"]?.text, live?["properties"]?["room"]?.text]
        }
        #expect(properties(5) == ["0", "a"])
        #expect(properties(20) == ["0", nil])
        #expect(properties(20, #","floorIndex":1"#) == [nil, nil])
        #expect(properties(40) == [nil, nil])
    }

    @Test("A property of the same name that was sent stays as it was sent")
    func sent() {
        let harness = HubHarness()
        harness.importStructure(FloorPlan.house)
        harness.send(
            "d/-/-/-/-/phone/position",
            FloorPlan.payload(5, 5, #","floorIndex":1,"room":"mine","note":"\"floor\":7","text":"venue""#))
        let live = harness.retained["live/d/-/-/-/-/phone/position"].flatMap { try? JSONValue.parse($0) }
        #expect(live?["properties"]?["room"]?.text == "mine")
        #expect(live?["properties"]?["floor"]?.text == "1" && live?["properties"]?["venue"]?.text == "v")
    }

    @Test("A position set by a request has its room too, and other domains have none")
    func request() {
        let harness = HubHarness()
        harness.importStructure(FloorPlan.house)
        let device = harness.result(
            "device/create",
            #"{"deviceType":"MobileDevice","id":"phone","location":\#(FloorPlan.payload(15, 5, #","floorIndex":0"#))}"#)
        #expect(device?["location"]?["room"]?.text == "b")
        harness.send("d/-/-/-/-/phone/free", FloorPlan.payload(15, 5, #","floorIndex":0"#))
        #expect(harness.retained["live/d/-/-/-/-/phone/free"]?.contains("room") == false)
    }

    @Test("The room of a device is known at any time, as of the structure that is known then")
    func ofDevice() throws {
        let harness = HubHarness()
        harness.send("d/-/-/-/-/phone/position", FloorPlan.payload(15, 5, #","floorIndex":1"#))
        let dataset = try #require(harness.hub.datasets["d"])
        let device = try #require(dataset.devices["phone"])
        var whereabouts: Whereabouts? { device.positionTopic.flatMap(dataset.structure.whereabouts) }
        #expect(whereabouts == nil)
        harness.importStructure(FloorPlan.house)
        #expect(whereabouts?.room == "b" && whereabouts?.floorIndex == 1)
        harness.send("d/-/-/-/-/phone/position", "")
        #expect(whereabouts == nil)
    }

    @Test("Ids are distinguished by their bytes and may hold any character")
    func ids() {
        let harness = HubHarness()
        harness.importStructure(
            FloorPlan.collection([
                FloorPlan.feature(#""level":"room","id":"a/b+\"","parents":["v/","-","0"]"#, FloorPlan.rectangle(0, 0, 10, 10)),
                FloorPlan.feature(#""level":"room","id":"\#("\u{E9}")","parents":["v/"]"#, FloorPlan.rectangle(10, 0, 20, 10)),
                FloorPlan.feature(#""level":"room","id":"\#("e\u{301}")","parents":["v/"]"#, FloorPlan.rectangle(20, 0, 30, 10)),
            ]))
        #expect(harness.result("dataset/get")?["counts"]?["rooms"]?.number == 3)
        for (x, room) in [(5.0, "a/b+\""), (15, "\u{E9}"), (25, "e\u{301}")] {
            harness.send("d/v%2F/-/-/-/p/position", FloorPlan.payload(x, 5))
            let live = harness.retained["live/d/v%2F/-/-/-/p/position"].flatMap { try? JSONValue.parse($0) }
            #expect(live?["properties"]?["room"]?.text.map { Array($0.utf8) } == Array(room.utf8))
        }
    }

    // MARK: The index

    /// A square somewhere, often at a pole, at the antimeridian, or small beside a large one.
    private func square(_ random: inout SplitMix64) -> Area.Polygon? {
        let size = random.pick([1e-5, 1e-3, 0.3, 20, 100]) * Double.random(in: 0.5...1, using: &random)
        let south = max(-90, min(90 - size, random.pick([-90, 0, 43, 89.9]) + Double.random(in: -1...1, using: &random)))
        let west = random.pick([-180, -0.0001, 7, 179.9999]) + Double.random(in: -0.001...0.001, using: &random)
        let ring = [(0.0, 0.0), (1, 0), (1, 1), (0, 1), (0, 0)].map { x, y in
            Area.Polygon.Vertex(longitude: wrapped(west + x * size), latitude: min(90, south + y * size))
        }
        return try? Area.Polygon(rings: [ring])
    }

    private func wrapped(_ longitude: Double) -> Double {
        longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude
    }

    @Test("The index finds every outline that holds a position, anywhere on the earth")
    func index() throws {
        var random = SplitMix64.forTest()
        var held = 0
        for _ in 0..<30 {
            var index = OutlineIndex()
            let outlines = (0..<60).compactMap { _ in square(&random) }
            for (number, outline) in outlines.enumerated() { index.insert(number, bounds: outline.bounds) }
            for _ in 0..<200 {
                let corner = random.pick(random.pick(outlines).rings[0])
                let offset = random.pick([0, 1e-7, 1e-4, 1])
                let latitude = max(-89.99, min(89.99, corner.latitude + offset * Double.random(in: -1...1, using: &random)))
                let longitude = wrapped(corner.longitude + offset * Double.random(in: -1...1, using: &random))
                var near = Set<Int>()
                index.forEach(near: Position(latitude: latitude, longitude: longitude)) { near.insert($0) }
                for (number, outline) in outlines.enumerated()
                where outline.contains(latitude: latitude, longitude: longitude) {
                    held += 1
                    #expect(near.contains(number), "\(outline.bounds) \(latitude) \(longitude)")
                }
            }
        }
        #expect(held > 1000)
    }

    @Test("The distance to an outline is that to its nearest edge, also across the antimeridian")
    func distance() throws {
        for west in [7.42, 179.9999] {
            func longitude(_ x: Double) -> Double {
                let value = west + x / (111_195 * 0.72260)
                return value > 180 ? value - 360 : value
            }
            func vertex(_ x: Double, _ y: Double) -> Area.Polygon.Vertex {
                Area.Polygon.Vertex(longitude: longitude(x), latitude: 43.73 + y / 111_195)
            }
            let outline = Outline([
                try Area.Polygon(rings: [[vertex(0, 0), vertex(20, 0), vertex(20, 20), vertex(0, 20), vertex(0, 0)]])
            ])
            for (x, y, metres) in [(10.0, 10.0, 10.0), (5, 10, 5), (-3, 10, 3), (23, 24, 5), (20, 7, 0)] {
                let position = Position(latitude: 43.73 + y / 111_195, longitude: longitude(x))
                #expect(abs(outline.metresToEdge(from: position) - metres) < 0.05)
            }
            #expect(abs(outline.squareMetres - 400) < 4)
        }
    }
}
