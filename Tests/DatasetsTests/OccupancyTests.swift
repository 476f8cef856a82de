import Testing
import Wire

@testable import Datasets

@Suite("Derived occupancy")
struct OccupancyTests {
    private func house(_ adjust: (inout HubConfiguration) -> Void = { _ in }) -> HubHarness {
        let harness = HubHarness(adjust)
        harness.importStructure(FloorPlan.house)
        _ = harness.request("dataset/update", #"{"derivedOccupancy":true}"#, client: "admin")
        harness.advance(milliseconds: 1000)
        return harness
    }

    private func walk(_ harness: HubHarness, _ id: String, _ x: Double, _ y: Double = 5, _ extra: String = "") {
        harness.send("d/-/-/-/-/\(id)/position", FloorPlan.payload(x, y, #","floorIndex":0\#(extra)"#))
    }

    @Test("Every declared room and floor is published from the beginning, with its capacity, as derived")
    func beginning() {
        let harness = house()
        #expect(harness.retained.keys.filter { $0.hasSuffix("/occupancy") }.count == 11)
        let live = harness.retained["live/d/v/h/0/a/-/occupancy"].flatMap { try? JSONValue.parse($0) }
        #expect(live?.keys == ["topic", "domainType", "itemId", "timestamp", "receivedAt", "properties", "derived"])
        #expect(live?["itemId"]?.text == "a" && live?["derived"] == true)
        #expect(live?["properties"]?["nrOfPeople"]?.number == 0 && live?["properties"]?["capacity"]?.number == 5)
        #expect(harness.occupancy("v/h/1/-") == 0)
    }

    @Test("Devices are counted in their rooms and on their floors, each once, and go when they are cleared or deleted")
    func counts() {
        let harness = house()
        walk(harness, "p", 5)
        walk(harness, "q", 5)
        walk(harness, "r", 15)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 2 && harness.occupancy("v/h/0/b") == 1 && harness.occupancy("v/h/0/-") == 3)
        walk(harness, "q", 15)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 1 && harness.occupancy("v/h/0/b") == 2 && harness.occupancy("v/h/0/-") == 3)
        // Another topic of the same device moves it; it is not there twice.
        harness.send("d/v/h/1/c/q/position", FloorPlan.payload(5, 5))
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/b") == 1 && harness.occupancy("v/h/1/c") == 1 && harness.occupancy("v/h/1/-") == 1)
        harness.send("d/-/-/-/-/p/position", "")
        _ = harness.request("device/delete", #"{"id":"r"}"#, client: "admin")
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 0 && harness.occupancy("v/h/0/b") == 0 && harness.occupancy("v/h/0/-") == 0)
        // Outside is nowhere.
        walk(harness, "q", 60)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/1/-") == 0)
    }

    @Test("Rooms that only topics name are counted too, also without any structure")
    func stated() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", #"{"derivedOccupancy":true}"#, client: "admin")
        harness.send("d/v/b/f/r/p/position", #"{"lat":1,"lon":1}"#)
        harness.send("d/v/b/f/-/q/position", #"{"lat":1,"lon":1}"#)
        harness.send("d/-/-/-/-/s/position", #"{"lat":1,"lon":1}"#)
        harness.advance(milliseconds: 200)
        #expect(harness.occupancy("v/b/f/r") == 1 && harness.occupancy("v/b/f/-") == 2)
        harness.send("d/v/b/f/r2/p/position", #"{"lat":1,"lon":1}"#)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/b/f/r") == 0 && harness.occupancy("v/b/f/r2") == 1 && harness.occupancy("v/b/f/-") == 2)
    }

    @Test("Buildings and venues did not count who is in no known room or floor")
    func surroundings() {
        let harness = house()
        func figures() -> [Double?] { ["v/h/0/-", "v/h/-/-", "v/-/-/-"].map { harness.occupancy($0) } }
        let away = #"{"lat":1,"lon":1}"#
        for (topic, payload, expected) in [
            ("v/h/-/-/p", away, [0, 1, 1]), ("v/-/-/-/q", away, [0, 1, 2]), ("-/-/-/-/r", FloorPlan.payload(60, 5), [0, 1, 3]),
            // In the building, on a floor that nothing says.
            ("-/-/-/-/s", FloorPlan.payload(5, 5), [0, 2, 4]), ("v/-/-/-/t", FloorPlan.payload(5, 5), [0, 3, 5]),
            ("-/-/-/-/u", FloorPlan.payload(100, 5), [0, 3, 5]),
            ("-/-/-/-/s", FloorPlan.payload(5, 5, #","floorIndex":0"#), [1, 3, 5]),
            // Who is just outside may be inside.
            ("-/-/-/-/s", FloorPlan.payload(5, -1), [1, 3, 5]), ("-/-/-/-/s", FloorPlan.payload(5, -5), [0, 2, 5]),
            ("v/-/-/-/q", "", [0, 2, 4]),
        ] as [(String, String, [Double])] {
            harness.send("d/\(topic)/position", payload)
            harness.advance(milliseconds: 1100)
            #expect(figures() == expected, "\(topic) \(payload)")
        }
        harness.restart()
        harness.advance(milliseconds: 1100)
        #expect(figures() == [0, 2, 4])
    }

    @Test("Who stands at a wall does not flap; who stays beyond it is counted there after five seconds, silent or not")
    func hysteresis() {
        let harness = house()
        walk(harness, "p", 9)
        harness.advance(milliseconds: 1000)
        for _ in 0..<20 {
            walk(harness, "p", 11)
            harness.advance(milliseconds: 1500)
            walk(harness, "p", 9)
            harness.advance(milliseconds: 1500)
            #expect(harness.occupancy("v/h/0/a") == 1 && harness.occupancy("v/h/0/b") == 0)
        }
        walk(harness, "p", 11)
        harness.advance(milliseconds: 4500)
        #expect(harness.occupancy("v/h/0/b") == 0)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 0 && harness.occupancy("v/h/0/b") == 1)
        // Clearly inside counts at once, but not where the accuracy says that it may be wrong.
        walk(harness, "p", 5, 5, #","accuracy":8"#)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 0)
        walk(harness, "p", 5)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 1)
        // Into the booth within room c: its middle is clear, its edge is not.
        walk(harness, "p", 22)
        walk(harness, "p", 23.5)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/c") == 1 && harness.occupancy("v/h/0/booth") == 0)
        walk(harness, "p", 25)
        harness.advance(milliseconds: 5000)
        #expect(harness.occupancy("v/h/0/c") == 0 && harness.occupancy("v/h/0/booth") == 1)
        // Another floor counts at once.
        harness.send("d/-/-/-/-/p/position", FloorPlan.payload(25, 5, #","floorIndex":1"#))
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/-") == 0 && harness.occupancy("v/h/1/c") == 1)
    }

    @Test("Who is silent for ten minutes is nowhere, and is back with the next position")
    func silence() {
        let harness = house()
        walk(harness, "p", 5)
        harness.advance(milliseconds: 300_000, step: 1000)
        walk(harness, "q", 5)
        harness.advance(milliseconds: 298_000, step: 1000)
        #expect(harness.occupancy("v/h/0/a") == 2)
        harness.advance(milliseconds: 4000, step: 1000)
        #expect(harness.occupancy("v/h/0/a") == 1)
        harness.advance(milliseconds: 300_000, step: 1000)
        #expect(harness.occupancy("v/h/0/a") == 0)
        walk(harness, "p", 5)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 1)
    }

    @Test("A room is published at most once a second, however many come and go, and the last figure is the right one")
    func rate() {
        let harness = house()
        harness.published.removeAll()
        for number in 0..<95 {
            walk(harness, "p\(number % 40)", number % 3 == 0 ? 40 : 5)
            harness.advance(milliseconds: 100)
        }
        let reported = harness.payloads("live/d/v/h/0/a/-/occupancy").count
        #expect((5...10).contains(reported))
        harness.advance(milliseconds: 1000)
        let expected = (0..<95).reduce(into: [Int: Bool]()) { $0[$1 % 40] = $1 % 3 != 0 }.values.filter { $0 }.count
        #expect(harness.occupancy("v/h/0/a") == Double(expected))
    }

    @Test("What a sensor sends wins, also with a clock behind ours, until it is cleared")
    func sensor() {
        let harness = house()
        walk(harness, "p", 5)
        harness.advance(milliseconds: 1000)
        harness.send("d/v/h/0/a/-/occupancy", #"{"nrOfPeople":7,"timestamp":\#(harness.now - 60_000)}"#)
        #expect(harness.occupancy("v/h/0/a") == 7)
        #expect(harness.counters.updates.late == 0)
        walk(harness, "q", 5)
        harness.advance(milliseconds: 3000)
        #expect(harness.occupancy("v/h/0/a") == 7)
        #expect(harness.retained["live/d/v/h/0/a/-/occupancy"]?.contains("derived") == false)
        #expect(harness.occupancy("v/h/0/-") == 2)
        harness.restart()
        harness.advance(milliseconds: 3000)
        #expect(harness.occupancy("v/h/0/a") == 7)
        harness.send("d/v/h/0/a/-/occupancy", "")
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 2)
    }

    @Test("Switched off, everything derived is cleared and what a sensor sent stays; also when that falls between two lives")
    func off() {
        for killed in [false, true] {
            let harness = house()
            walk(harness, "p", 5)
            harness.advance(milliseconds: 1000)
            harness.send("d/v/h/0/a/-/occupancy", #"{"nrOfPeople":7}"#)
            harness.advance(milliseconds: 1000)
            _ = harness.request("dataset/update", #"{"derivedOccupancy":false}"#, client: "admin")
            if killed { harness.restart(killed: true) }
            harness.advance(milliseconds: 1000)
            #expect(harness.retained.keys.filter { $0.hasSuffix("/occupancy") } == ["live/d/v/h/0/a/-/occupancy"])
            walk(harness, "p", 15)
            harness.advance(milliseconds: 2000)
            #expect(harness.occupancy("v/h/0/b") == nil)
        }
    }

    @Test("After a restart, gentle or not, the figures are right again and nothing is published that did not change")
    func restart() {
        for killed in [false, true] {
            let harness = house()
            walk(harness, "p", 5)
            walk(harness, "q", 15)
            harness.advance(milliseconds: 2000)
            harness.restart(killed: killed)
            if !killed { harness.published.removeAll() }
            harness.advance(milliseconds: 1000)
            if !killed { #expect(!harness.published.contains { $0.topic.hasSuffix("/occupancy") }) }
            #expect(harness.occupancy("v/h/0/a") == 1 && harness.occupancy("v/h/0/b") == 1 && harness.occupancy("v/h/0/-") == 2)
            // Somebody fell silent while the daemon was away.
            harness.now += 590_000
            walk(harness, "q", 15)
            harness.now += 15_000
            harness.restart(killed: false)
            harness.advance(milliseconds: 1000)
            #expect(harness.occupancy("v/h/0/a") == 0 && harness.occupancy("v/h/0/b") == 1)
        }
    }

    @Test("Structure that is imported later puts those into rooms who are there already")
    func importLater() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", #"{"derivedOccupancy":true}"#, client: "admin")
        walk(harness, "p", 5)
        harness.send("d/-/-/-/booth/q/position", FloorPlan.payload(5, 5))
        harness.advance(milliseconds: 2000)
        #expect(harness.occupancy("-/-/-/booth") == 1)
        harness.importStructure(FloorPlan.house)
        harness.advance(milliseconds: 2000)
        #expect(harness.occupancy("v/h/0/a") == 1 && harness.occupancy("v/h/0/booth") == 1)
        #expect(harness.occupancy("-/-/-/booth") == 0)
    }

    @Test("Pins and beacons are nobody; ids without a device are counted")
    func nobody() {
        let harness = house()
        _ = harness.request("dataset/update", #"{"autoCreateDevices":false}"#, client: "admin")
        _ = harness.request(
            "device/create",
            #"{"deviceType":"PinDevice","id":"pin","location":\#(FloorPlan.payload(5, 5, #","floorIndex":0"#))}"#)
        walk(harness, "pin", 6)
        walk(harness, "stranger", 5)
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 1)
        harness.restart()
        harness.advance(milliseconds: 1000)
        #expect(harness.occupancy("v/h/0/a") == 1)
    }

    @Test("With no room for another live topic the reason is reported, and the rest goes on")
    func limit() {
        let harness = house { $0.limits.liveTopics = 9 }
        harness.published.removeAll()
        harness.send("d/v/b/f/r/p/position", #"{"lat":1,"lon":1}"#)
        harness.advance(milliseconds: 1000)
        #expect(harness.diagnostics().map(\.refusal) == ["limit"])
        #expect(harness.occupancy("v/h/0/a") == 0)
    }

    @Test("A store that refuses leaves the figures right")
    func refused() {
        let harness = house()
        walk(harness, "p", 5)
        harness.advance(milliseconds: 1000)
        harness.isDiskFull = true
        _ = harness.request("dataset/update", #"{"derivedOccupancy":false}"#, client: "admin")
        harness.advance(milliseconds: 2000)
        #expect(harness.occupancy("v/h/0/a") == 1)
        harness.heal()
        walk(harness, "q", 5)
        harness.advance(milliseconds: 2000)
        #expect(harness.occupancy("v/h/0/a") == 2)
    }

    @Test("A deleted dataset leaves nothing")
    func deleted() {
        let harness = house()
        walk(harness, "p", 5)
        harness.advance(milliseconds: 1000)
        _ = harness.request("dataset/delete", client: "admin")
        harness.advance(milliseconds: 1000)
        harness.settle()
        #expect(!harness.retained.keys.contains { $0.hasSuffix("/occupancy") })
    }
}
