import Testing

@testable import Datasets

@Suite("What is within an area")
struct RoomsInViewTests {
    @Test("Data of a room is where the room is")
    func rooms() {
        let harness = HubHarness()
        harness.importStructure(FloorPlan.house)
        for room in ["a", "c"] { harness.send("d/v/h/0/\(room)/-/occupancy", #"{"nrOfPeople":2}"#) }
        harness.send("d/v/h/0/-/-/temperature", #"{"temperature":20}"#)
        let west = FloorPlan.position(-1, -1)
        let east = FloorPlan.position(11, 11)
        let within = #"{"bbox":[\#(west.longitude),\#(west.latitude),\#(east.longitude),\#(east.latitude)]}"#
        let found = harness.result("live/snapshot", #"{"criteria":"d/#","within":\#(within)}"#)?["updates"]?.elements
        #expect(found?.map { $0["topic"]?.text } == ["d/v/h/0/a/-/occupancy"])
    }

    @Test("Data of a location was in no area unless the location had an outline: it has a Point, or is where its room is")
    func locations() {
        let harness = HubHarness()
        let desk = FloorPlan.position(1, 1)
        let point = #"{"type":"Point","coordinates":[\#(desk.longitude),\#(desk.latitude)]}"#
        harness.importStructure(FloorPlan.house)
        harness.importStructure(
            FloorPlan.collection([FloorPlan.feature(#""level":"location","id":"desk","parents":["v","h","0","c"]"#, point)]))
        for (room, location) in [("a", "shelf"), ("c", "desk"), ("c", "shelf")] {
            harness.send("d/v/h/0/\(room)/\(location)/co2", #"{"co2":500}"#)
        }
        let west = FloorPlan.position(-1, -1)
        let east = FloorPlan.position(11, 11)
        let within = #"{"bbox":[\#(west.longitude),\#(west.latitude),\#(east.longitude),\#(east.latitude)]}"#
        let found = harness.result("live/snapshot", #"{"criteria":"d/#","within":\#(within)}"#)?["updates"]?.elements
        #expect(found?.map { $0["topic"]?.text } == ["d/v/h/0/a/shelf/co2", "d/v/h/0/c/desk/co2"])
    }
}
