import Testing
import Wire

@testable import Datasets

@Suite("Structure read back")
struct StructureRequestTests {
    private func house() -> HubHarness {
        let harness = HubHarness()
        harness.importStructure(FloorPlan.house)
        return harness
    }

    private func ids(_ harness: HubHarness, _ parameters: String) -> [String] {
        harness.result("structure/list", parameters)?["objects"]?.elements.compactMap { $0["id"]?.text } ?? []
    }

    @Test("Objects are listed by level and by what stands above, in pages, without outlines unless asked for")
    func list() throws {
        let harness = house()
        #expect(ids(harness, "{}").count == 11)
        #expect(ids(harness, #"{"level":"floor"}"#) == ["0", "1"])
        #expect(ids(harness, #"{"level":"room","parents":{"floor":"1"}}"#) == ["a", "b", "c"])
        #expect(ids(harness, #"{"parents":["v","h","0"]}"#) == ["a", "b", "booth", "c"])
        #expect(ids(harness, #"{"parents":["v"]}"#).count == 10 && ids(harness, #"{"parents":["w"]}"#).isEmpty)
        let first = harness.result("structure/list", #"{"level":"room","limit":4}"#)
        let next = try #require(first?["next"]?.text)
        #expect(first?["objects"]?.elements.count == 4 && ids(harness, #"{"level":"room","after":"\#(next)"}"#).count == 3)
        let room = first?["objects"]?.elements.first
        #expect(room?.keys == ["level", "id", "parents", "capacity"] && room?["capacity"]?.number == 5)
        #expect(room?["parents"]?.keys == ["venue", "building", "floor"])
        let outlined = harness.result("structure/list", #"{"level":"building","outlines":true}"#)?["objects"]?.elements.first
        #expect(outlined?["outline"]?["type"]?.text == "Polygon")
        #expect(harness.refusal("structure/list", #"{"level":"wing"}"#) == "invalid level")
    }

    @Test("One object is shown with its outline; which is meant must be clear")
    func get() {
        let harness = house()
        let booth = harness.result("structure/get", #"{"level":"room","id":"booth"}"#)
        #expect(booth?["parents"]?["floor"]?.text == "0" && booth?["outline"]?["coordinates"] != nil)
        #expect(harness.refusal("structure/get", #"{"level":"room","id":"a"}"#) == "invalid parents")
        #expect(
            harness.result("structure/get", #"{"level":"room","id":"a","parents":["v","h","1"]}"#)?["id"]?.text == "a")
        #expect(harness.refusal("structure/get", #"{"level":"room","id":"x"}"#) == "notFound id")
        #expect(harness.refusal("structure/get", #"{"id":"a"}"#) == "invalid level")
    }

    @Test("Who may not read live data reads no structure")
    func readers() {
        let harness = HubHarness { $0.reads = { _, client in client == "admin" ? .all : .none } }
        harness.importStructure(FloorPlan.house)
        #expect(harness.refusal("structure/list") == "unauthorized")
        #expect(harness.refusal("structure/get", #"{"level":"venue","id":"v"}"#) == "unauthorized")
    }

    @Test("Deleting takes along what lies below, and holds over a restart", arguments: [false, true])
    func delete(killed: Bool) {
        let harness = house()
        let floor = #"{"level":"floor","id":"0"}"#
        #expect(harness.refusal("structure/delete", floor) == "unauthorized")
        #expect(harness.result("structure/delete", floor, client: "admin")?["deleted"]?.number == 5)
        #expect(harness.refusal("structure/delete", floor, client: "admin") == "notFound id")
        #expect(ids(harness, "{}").count == 6)
        harness.restart(killed: killed)
        #expect(ids(harness, "{}").count == 6)
        #expect(harness.result("dataset/get")?["counts"]?["rooms"]?.number == 3)
        harness.importStructure(FloorPlan.house)
        #expect(ids(harness, "{}").count == 11)
    }

    @Test("A deletion that the store refuses leaves the structure as it was")
    func refusal() {
        let harness = house()
        harness.isDiskFull = true
        #expect(harness.refusal("structure/delete", #"{"level":"venue","id":"v"}"#, client: "admin") == "internal")
        harness.heal()
        #expect(ids(harness, "{}").count == 11)
    }

    @Test("Buildings and venues are counted, too; what is deleted is listed no longer")
    func occupancy() {
        let harness = house()
        _ = harness.request("dataset/update", #"{"derivedOccupancy":true}"#, client: "admin")
        harness.send("d/-/-/-/-/p/position", FloorPlan.payload(5, 5, #","floorIndex":0"#))
        harness.send("d/-/-/-/-/q/position", FloorPlan.payload(15, 5, #","floorIndex":1"#))
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/-/-") == 2 && harness.occupancy("v/-/-/-") == 2 && harness.occupancy("v/h/1/-") == 1)
        _ = harness.result("structure/delete", #"{"level":"floor","id":"1"}"#, client: "admin")
        harness.advance(milliseconds: 2000)
        #expect(harness.retained["live/d/v/h/1/-/-/occupancy"] == nil && harness.retained["live/d/v/h/1/b/-/occupancy"] == nil)
        #expect(harness.occupancy("v/h/0/-") == 1)
    }
}
