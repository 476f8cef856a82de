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
}
