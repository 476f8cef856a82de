import Testing

@testable import Datasets

@Suite("Floors of one building, whatever a position calls them")
struct FloorTests {
    /// Says whether a publication and a subscription that wants the same floor meet.
    private func meet(_ harness: HubHarness, _ here: (String, String), _ there: (String, String)) -> Bool {
        harness.makePair("", #","floor":"same""#)
        harness.published.removeAll()
        harness.send("d/\(here.0)/pin/position", here.1)
        harness.send("d/\(there.0)/phone/position", there.1)
        return !harness.matches.isEmpty
    }

    private static let inRoomA = FloorPlan.payload(5, 5)
    private static let inRoomA0 = FloorPlan.payload(5, 5, #","floorIndex":0"#)
    private static let inRoomA1 = FloorPlan.payload(5, 5, #","floorIndex":1"#)
    private static let outside0 = FloorPlan.payload(5, -5, #","floorIndex":0"#)
    private static let outside1 = FloorPlan.payload(5, -5, #","floorIndex":1"#)

    @Test(
        "A floor that a topic names is the one of its index, and the one whose outline holds a position",
        arguments: [
            (("v/h/0/-", inRoomA), ("v/h/-/-", inRoomA0), true), (("v/h/0/-", inRoomA), ("v/h/-/-", inRoomA1), false),
            (("v/h/0/a", inRoomA), ("-/-/-/-", inRoomA0), true), (("v/h/0/a", inRoomA), ("-/-/-/-", inRoomA1), false),
            (("v/h/0/a", inRoomA), ("-/-/-/-", inRoomA), false), (("v/h/0/-", inRoomA), ("-/h/0/-", inRoomA), true),
            // Beside the building's outline the index still says which floor of it.
            (("v/h/0/-", inRoomA), ("v/h/-/-", outside0), true), (("v/h/0/-", inRoomA), ("-/h/-/-", outside0), true),
            (("v/h/1/-", inRoomA), ("v/h/-/-", outside0), false), (("v/h/-/-", outside1), ("v/h/-/-", outside1), true),
            (("v/h/0/-", inRoomA), ("-/-/-/-", outside0), false),
        ] as [((String, String), (String, String), Bool)])
    func declared(_ row: (here: (String, String), there: (String, String), isSame: Bool)) {
        let harness = HubHarness()
        _ = harness.result("dataset/create", "{}", client: "admin")
        harness.importStructure(FloorPlan.house)
        #expect(meet(harness, row.here, row.there) == row.isSame)
    }

    @Test("A position set by a request is on the floor whose outline holds it, and after a restart still is")
    func requested() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", "{}", client: "admin")
        harness.importStructure(FloorPlan.house)
        harness.makePair("", #","floor":"same""#)
        _ = harness.result("device/update", #"{"id":"pin","location":\#(Self.inRoomA1)}"#)
        harness.published.removeAll()
        harness.send("d/v/h/1/-/phone/position", Self.inRoomA)
        #expect(harness.matches.count == 1)
        harness.matches.forEach { harness.acknowledge($0.token) }
        harness.advance(milliseconds: 2000)
        harness.restart(killed: true)
        harness.published.removeAll()
        let other = #"{"deviceId":"pin","topic":"coffee","range":50,"duration":3600}"#
        _ = harness.result("publication/create", other)
        #expect(harness.matches.count == 1)
    }

    @Test("Where several floors have one index, it says nothing of the floors that topics name")
    func ambiguous() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", "{}", client: "admin")
        harness.importStructure(
            FloorPlan.collection([
                FloorPlan.feature(#""level":"floor","id":"x","parents":["v","h"],"floorIndex":2"#),
                FloorPlan.feature(#""level":"floor","id":"y","parents":["v","h"],"floorIndex":2"#),
            ]))
        #expect(!meet(harness, ("v/h/x/-", Self.outside0), ("v/h/-/-", FloorPlan.payload(5, -5, #","floorIndex":2"#))))
        #expect(
            meet(
                harness, ("v/h/-/-", FloorPlan.payload(5, -5, #","floorIndex":2"#)),
                ("v/h/-/-", FloorPlan.payload(5, -5, #","floorIndex":2"#))))
    }

    @Test(
        "A structure that is imported later puts what stands still on its floors: visits begin and end by it, nothing else does")
    func importedLater() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", "{}", client: "admin")
        harness.makePair("", #","floor":"same","mode":"visit""#)
        let rest = #""deviceId":"phone","topic":"coffee","range":50,"duration":3600"#
        _ = harness.result("subscription/create", #"{"id":"any","matchTTL":0,\#(rest)}"#)
        _ = harness.result("subscription/create", #"{"id":"silent","mode":"visit","staleAfter":4,\#(rest)}"#)
        _ = harness.result("device/update", #"{"id":"pin","location":\#(Self.inRoomA1)}"#)
        harness.send("d/v/h/1/-/phone/position", Self.inRoomA)
        #expect(Set(harness.matches.map { String($0.topic.split(separator: "/").last ?? "") }) == ["any", "silent"])
        harness.advance(milliseconds: 2000)
        harness.published.removeAll()
        harness.importStructure(FloorPlan.house)
        harness.advance(milliseconds: 1000)
        #expect(harness.matches.map(\.topic) == ["geomatch/d/alice/match/phone/s"])
        // By now floor 1 is the fifth.
        harness.published.removeAll()
        harness.importStructure(
            FloorPlan.collection([
                FloorPlan.feature(#""level":"floor","id":"1","parents":["v","h"],"floorIndex":5"#),
                FloorPlan.feature(#""level":"floor","id":"0","parents":["v","h"],"floorIndex":1"#),
            ]))
        // The phone was not heard of by that.
        harness.advance(milliseconds: 1000)
        let reported = harness.matches.compactMap(\.json)
        #expect(reported.map { $0["reason"]?.text } == ["lost", "left"])
        #expect(reported.map { $0["subscription"]?["id"]?.text } == ["silent", "s"])
    }
}
