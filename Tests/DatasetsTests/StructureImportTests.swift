import SeededRandom
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Importing structure")
struct StructureImportTests {
    private func counts(_ harness: HubHarness) -> [Int] {
        let counts = harness.result("dataset/get")?["counts"]
        return ["venues", "buildings", "floors", "rooms", "locations"].map { Int(counts?[$0]?.number ?? -1) }
    }

    @Test("A house is imported, imported again it is replaced, and the dataset counts it")
    func imports() {
        let harness = HubHarness()
        let first = harness.importStructure(FloorPlan.house)
        #expect(first?["imported"]?.number == 11 && first?["replaced"]?.number == 0)
        #expect(first?["refused"]?.elements.isEmpty == true && first?["warnings"]?.elements.isEmpty == true)
        #expect(counts(harness) == [1, 1, 2, 7, 0])
        let second = harness.importStructure(FloorPlan.house)
        #expect(second?["imported"]?.number == 0 && second?["replaced"]?.number == 11)
        #expect(counts(harness) == [1, 1, 2, 7, 0])
    }

    @Test("It is for administrators, creates its dataset, and comes back after a restart and goes with its dataset")
    func lives() {
        let harness = HubHarness()
        #expect(harness.refusal("dataset/import", FloorPlan.house) == "unauthorized")
        #expect(harness.hub.datasets.isEmpty)
        harness.importStructure(FloorPlan.house)
        harness.restart(killed: true)
        #expect(counts(harness) == [1, 1, 2, 7, 0])
        harness.send("d/-/-/-/-/phone/position", FloorPlan.payload(5, 5, #","floorIndex":1"#))
        #expect(harness.retained["live/d/-/-/-/-/phone/position"]?.contains(#""room":"a""#) == true)
        _ = harness.request("dataset/delete", client: "admin")
        _ = harness.request("dataset/create", client: "admin")
        #expect(counts(harness) == [0, 0, 0, 0, 0])
        harness.restart()
        #expect(counts(harness) == [0, 0, 0, 0, 0])
    }

    @Test(
        "What is no FeatureCollection is refused as a whole",
        arguments: [
            ("{}", "invalid structure"), (#"{"structure":null}"#, "invalid structure"),
            (#"{"structure":[]}"#, "invalid structure"),
            (#"{"structure":{}}"#, "invalid structure.type"),
            (#"{"structure":{"type":"Feature"}}"#, "invalid structure.type"),
            (#"{"structure":{"type":"FeatureCollection"}}"#, "invalid structure.features"),
            (#"{"structure":{"type":"FeatureCollection","features":{}}}"#, "invalid structure.features"),
        ])
    func refusesAll(_ row: (parameters: String, refusal: String)) {
        let harness = HubHarness()
        #expect(harness.refusal("dataset/import", row.parameters, client: "admin") == row.refusal)
        #expect(harness.hub.datasets.isEmpty)
    }

    static let ring = "[[0,0],[1,0],[1,1],[0,1],[0,0]]"

    @Test(
        "A wrong feature is named with its field, and the others are imported",
        arguments: [
            ("7", "null type"), (#"{"type":"Point"}"#, "null type"), (#"{"type":"Feature","properties":5}"#, "null properties"),
            (#"{"type":"Feature","properties":{"id":"x"}}"#, "x level"),
            (#"{"type":"Feature","properties":{"id":"x","level":"wing"}}"#, "x level"),
            (#"{"type":"Feature","properties":{"level":"room"}}"#, "null id"),
            (#"{"type":"Feature","properties":{"level":"room","id":""}}"#, "null id"),
            (#"{"type":"Feature","properties":{"level":"room","id":"-"}}"#, "null id"),
            (#"{"type":"Feature","properties":{"level":"room","id":true}}"#, "null id"),
            (#"{"type":"Feature","properties":{"level":"room","id":"\#(String(repeating: "x", count: 129))"}}"#, "null id"),
            (#"{"type":"Feature","properties":{"level":"room","id":"x","parents":5}}"#, "x parents"),
            (#"{"type":"Feature","properties":{"level":"venue","id":"x","parents":["a"]}}"#, "x parents"),
            (#"{"type":"Feature","properties":{"level":"room","id":"x","parents":["a",{}]}}"#, "x parents[1]"),
            (#"{"type":"Feature","properties":{"level":"floor","id":"x","parents":{"room":"a"}}}"#, "x parents.room"),
            (#"{"type":"Feature","properties":{"level":"floor","id":"x","parents":{"buliding":"a"}}}"#, "x parents.buliding"),
            (#"{"type":"Feature","properties":{"level":"floor","id":"x","parents":{"venue":[]}}}"#, "x parents.venue"),
            (#"{"type":"Feature","properties":{"level":"floor","id":"x","floorIndex":1.5}}"#, "x floorIndex"),
            (#"{"type":"Feature","properties":{"level":"room","id":"x","capacity":-1}}"#, "x capacity"),
            (#"{"type":"Feature","properties":{"level":"room","id":"x","name":5}}"#, "x name"),
            (#"{"type":"Feature","properties":{"level":"room","id":"x"},"geometry":7}"#, "x geometry"),
            (#"{"type":"Feature","properties":{"level":"room","id":"x"},"geometry":{"type":"LineString"}}"#, "x geometry"),
            (
                #"{"type":"Feature","properties":{"level":"room","id":"x"},"geometry":{"type":"Point","coordinates":[0,91]}}"#,
                "x geometry"
            ),
            (#"{"type":"Feature","properties":{"level":"room","id":"x"},"geometry":{"type":"Polygon"}}"#, "x geometry"),
            (
                #"{"type":"Feature","properties":{"level":"room","id":"x"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}}"#,
                "x geometry"
            ),
            (
                #"{"type":"Feature","properties":{"level":"room","id":"x"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}}"#,
                "x geometry"
            ),
            (
                #"{"type":"Feature","properties":{"level":"room","id":"x"},"geometry":{"type":"MultiPolygon","coordinates":[\#(ring)]}}"#,
                "x geometry"
            ),
            (
                #"{"type":"Feature","properties":{"level":"room","id":"x"},"geometry":{"type":"MultiPolygon","coordinates":[]}}"#,
                "x geometry"
            ),
        ])
    func refusesOne(_ row: (feature: String, refusal: String)) {
        let harness = HubHarness()
        let good = FloorPlan.feature(#""level":"venue","id":"v""#)
        let result = harness.importStructure(FloorPlan.collection([row.feature, good]))
        #expect(result?["imported"]?.number == 1)
        let refused = result?["refused"]?.elements.first
        #expect("\(refused?["id"]?.text ?? "null") \(refused?["error"]?["field"]?.text ?? "")" == row.refusal)
        #expect(refused?["error"]?["error"]?.text == "invalid" && refused?["error"]?["code"]?.number == 400)
    }

    struct Parents: CustomTestStringConvertible, Sendable {
        var parents: String
        /// The path the room `r` gets; nil where it is refused.
        var path: String?
        var warnings = 0

        var testDescription: String { parents }
    }

    @Test(
        "Parents are an object of levels or ids from the top; what is left out is filled in where it can be but one",
        arguments: [
            Parents(parents: #"{"venue":"v","building":"b","floor":"f"}"#, path: "v/b/f/r"),
            Parents(parents: #"["v","b","f"]"#, path: "v/b/f/r"),
            Parents(parents: #"{"floor":"f"}"#, path: "v/b/f/r"), Parents(parents: #"["f"]"#, path: "v/b/f/r"),
            Parents(parents: #"["b","f"]"#, path: "v/b/f/r"), Parents(parents: #"["v","f"]"#, path: "v/b/f/r"),
            Parents(parents: #"{"building":"b"}"#, path: "v/b/-/r"), Parents(parents: #"["v","-",null]"#, path: "v/-/-/r"),
            Parents(parents: #"{"floor":"1"}"#, path: nil), Parents(parents: #"{"building":"c","floor":1}"#, path: "v/c/1/r"),
            Parents(parents: #"["v","b","new"]"#, path: "v/b/new/r", warnings: 1),
            Parents(parents: #"["w","x","y"]"#, path: "w/x/y/r", warnings: 3),
            Parents(parents: "null", path: "-/-/-/r", warnings: 1), Parents(parents: "[]", path: "-/-/-/r", warnings: 1),
        ])
    func parents(_ row: Parents) {
        let harness = HubHarness()
        let room = FloorPlan.feature(#""level":"room","id":"r","parents":\#(row.parents)"#)
        // The children stand before their parents.
        let above = [
            FloorPlan.feature(#""level":"floor","id":"f","parents":["v","b"]"#),
            FloorPlan.feature(#""level":"floor","id":"1","parents":["v","b"]"#),
            FloorPlan.feature(#""level":"floor","id":1,"parents":["v","c"]"#),
            FloorPlan.feature(#""level":"building","id":"b","parents":{"venue":"v"}"#),
            FloorPlan.feature(#""level":"building","id":"c","parents":["v"]"#),
            FloorPlan.feature(#""level":"venue","id":"v""#),
        ]
        let result = harness.importStructure(FloorPlan.collection([room] + above))
        #expect(result?["warnings"]?.elements.count == row.warnings)
        let rooms = harness.hub.datasets["d"]?.structure.tree.all.filter { $0.level == .room } ?? []
        #expect(rooms.map { $0.path.structureKey } == (row.path.map { [$0] } ?? []))
        if row.path == nil { #expect(result?["refused"]?.elements.first?["error"]?["field"]?.text == "parents") }
    }

    @Test("Members may stand beside `properties`, as an id does in GeoJSON")
    func outside() {
        let harness = HubHarness()
        harness.importStructure(
            FloorPlan.collection([
                #"{"type":"Feature","id":12,"level":"building","parents":["v"],"properties":null,"geometry":null}"#
            ]))
        #expect(harness.hub.datasets["d"]?.structure.tree.node(at: ["v", "12"]) != nil)
    }

    @Test("At the maximum further objects are refused and known ones still replaced")
    func limit() {
        let harness = HubHarness { $0.limits.structureObjects = 3 }
        let features = (1...4).map { FloorPlan.feature(#""level":"venue","id":"\#($0)""#) }
        let result = harness.importStructure(FloorPlan.collection(features))
        #expect(result?["imported"]?.number == 3)
        #expect(result?["refused"]?.elements.map { $0["error"]?["error"]?.text } == ["limit"])
        #expect(harness.importStructure(FloorPlan.collection([features[0]]))?["replaced"]?.number == 1)
    }

    @Test("Thousands of wrong features make a reply of bounded size that says how many there were")
    func boundedReply() {
        let harness = HubHarness()
        let features = Array(repeating: "{}", count: 50_000)
        _ = harness.request("dataset/create", client: "admin")
        harness.published.removeAll()
        harness.send("geomatch/d/admin/request/dataset/import", FloorPlan.collection(features))
        let reply = harness.published.first { $0.topic == "geomatch/d/admin/reply" }
        #expect(reply?.payload.utf8.count ?? .max < 256 << 10)
        let result = reply?.json?["result"]
        let reported = result?["refused"]?.elements.count ?? 0
        #expect(reported > 500)
        #expect(result?["warnings"]?.elements.last?.text == "\(50_000 - reported) more features were refused")
    }

    @Test("An import that the store refuses leaves the structure as it was")
    func refusedByStore() {
        let harness = HubHarness()
        harness.importStructure(FloorPlan.collection([FloorPlan.feature(#""level":"venue","id":"v","name":"old""#)]))
        harness.isDiskFull = true
        #expect(harness.refusal("dataset/import", FloorPlan.house, client: "admin") == "internal")
        #expect(counts(harness) == [1, 0, 0, 0, 0])
        #expect(harness.hub.datasets["d"]?.structure.tree.all.first?.record.name == "old")
        #expect(harness.hub.datasets["d"]?.structure.tree.hasOutlines == false)
        harness.heal()
        #expect(harness.importStructure(FloorPlan.house)?["imported"]?.number == 10)
    }

    @Test("Damaged imports never stop the hub, and what is imported comes back the same")
    func fuzz() {
        var random = SplitMix64.forTest()
        let harness = HubHarness()
        let pieces = ["{", "}", "[", "]", ",", "null", "1e300", "\"\"", "-", "é", "\\u0000", "[[[[", "999999999999", "true"]
        for round in 0..<1500 {
            var bytes = Array(FloorPlan.house.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let start = Int.random(in: 0..<bytes.count, using: &random)
                let end = min(bytes.count, start + Int.random(in: 0...4, using: &random))
                bytes.replaceSubrange(start..<end, with: Array(random.pick(pieces).utf8))
            }
            harness.send("geomatch/d/admin/request/dataset/import", bytes: bytes)
            if round % 10 == 0 {
                harness.send("d/-/-/\(random.pick(["-", "0", "1"]))/-/p/position", FloorPlan.payload(Double(round % 40), 5))
            }
            harness.published.removeAll()
        }
        let before = harness.hub.datasets["d"]?.structure.tree.all.map(\.record) ?? []
        #expect(before.count >= 11)
        harness.restart()
        let after = harness.hub.datasets["d"]?.structure.tree.all.map(\.record) ?? []
        func sorted(_ records: [StructureRecord]) -> [StructureRecord] {
            records.sorted { ByteKey(($0.parents + [$0.id]).structureKey) < ByteKey(($1.parents + [$1.id]).structureKey) }
        }
        #expect(sorted(before) == sorted(after))
    }
}
