import Testing
import Wire

@testable import Datasets
@testable import Records

extension HubHarness {
    /// A circle around the pin of ``move(_:metres:extra:)``.
    static func circle(_ radius: Double = 100) -> String {
        #"{"circle":{"latitude":43.73,"longitude":7.42,"radius":\#(radius)}}"#
    }

    @discardableResult
    func fence(_ more: String = "", id: String = "home", area: String = HubHarness.circle(), client: String = "alice")
        -> JSONValue?
    {
        result("geofence/create", #"{"id":"\#(id)","area":\#(area)\#(more)}"#, client: client)
    }

    /// `event deviceId` of what was published on a geofence's topic since the last request.
    func events(_ id: String = "home", client: String = "alice") -> [String] {
        payloads("geomatch/d/\(client)/geofence/\(id)").compactMap { try? JSONValue.parse($0) }.map { event in
            [event["event"]?.text, event["deviceId"]?.text, event["reason"]?.text].compactMap(\.self).joined(separator: " ")
        }
    }

    func inside(_ id: String = "home", client: String = "alice") -> [String] {
        result("geofence/inside", #"{"id":"\#(id)"}"#, client: client)?["devices"]?.elements.compactMap { $0["deviceId"]?.text }
            ?? []
    }

    func makePhone(client: String = "alice") {
        _ = request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#, client: client)
    }
}

@Suite("Geofences")
struct GeofenceTests {
    private let harness = HubHarness()

    init() {
        harness.acknowledges = true
        harness.makePhone()
    }

    @Test("A geofence reports who enters, dwells and leaves, with one visit, and who is inside")
    func visit() throws {
        let created = try #require(harness.fence(#","name":"Home","dwell":60,"accuracy":"centre""#))
        #expect(created["id"]?.text == "home" && created["owner"]?.text == "alice" && created["exitMargin"]?.number == 10)
        #expect(created["area"]?["circle"]?["radius"]?.number == 100 && created["delivery"]?["matched"]?.number == 0)
        harness.move(metres: 300)
        harness.move(metres: 20, extra: #","acc":12"#)
        let entered = try #require(harness.payloads("geomatch/d/alice/geofence/home").first.flatMap { try? JSONValue.parse($0) })
        #expect(entered.keys == ["id", "event", "geofence", "name", "deviceId", "location", "timestamp", "visit"])
        #expect(entered["visit"] == entered["id"] && entered["name"]?.text == "Home")
        #expect(entered["location"]?["horizontalAccuracy"]?.number == 12)
        let since = harness.result("geofence/inside", #"{"id":"home"}"#)?["devices"]?.elements.first?["since"]
        #expect(since == entered["timestamp"])
        #expect(
            harness.result("device/geofences", #"{"deviceId":"phone"}"#)?["geofences"]?.elements.first?["name"]?.text == "Home")
        harness.published.removeAll()
        harness.advance(milliseconds: 61_000)
        #expect(harness.events() == ["dwelled phone"])
        harness.move(metres: 105)
        #expect(harness.events() == ["dwelled phone"])
        harness.move(metres: 120)
        let exited = try #require(harness.payloads("geomatch/d/alice/geofence/home").last.flatMap { try? JSONValue.parse($0) })
        #expect(exited["visit"] == entered["id"] && exited["reason"]?.text == "left" && exited["duration"]?.number == 61)
        #expect(harness.inside().isEmpty)
        #expect(harness.result("geofence/get", #"{"id":"home"}"#)?["delivery"]?["delivered"]?.number == 3)
    }

    @Test("Who is inside at the creation has entered; a deletion ends visits, and the id is free again")
    func creation() {
        harness.move(metres: 20)
        _ = harness.fence()
        #expect(harness.events() == ["entered phone"] && harness.inside() == ["phone"])
        #expect(harness.refusal("geofence/create", #"{"id":"home","area":\#(HubHarness.circle())}"#) == "conflict id")
        #expect(harness.result("geofence/delete", #"{"id":"home"}"#)?["state"]?.text == "deleted")
        #expect(harness.events() == ["exited phone deleted"])
        #expect(harness.refusal("geofence/get", #"{"id":"home"}"#) == "notFound id")
        harness.fence()
        #expect(harness.events() == ["entered phone"])
    }

    @Test("Updates, disabling, clearing, forgetting and deleting a device end visits at once, also under likely")
    func ends() {
        harness.move(metres: 20)
        for (request, parameters, end) in [
            ("geofence/update", #"{"id":"home","area":{"bbox":[0,0,1,1]}}"#, "left"),
            ("geofence/update", #"{"id":"home","enabled":false}"#, "left"),
            ("geofence/update", #"{"id":"home","devices":["other"]}"#, "left"),
            ("device/forget", #"{"id":"phone"}"#, "left"), ("device/update", #"{"id":"phone","location":null}"#, "left"),
            ("device/delete", #"{"id":"phone"}"#, "deleted"),
        ] {
            harness.makePhone()
            harness.move(metres: 20)
            harness.fence()
            #expect(harness.events() == ["entered phone"], "\(request)")
            #expect(harness.result(request, parameters) != nil)
            #expect(harness.events() == ["exited phone \(end)"], "\(request) \(parameters)")
            #expect(harness.inside().isEmpty)
            _ = harness.request("geofence/delete", #"{"id":"home"}"#)
        }
    }

    @Test("A geofence is about own and ownerless devices, or those it names by id, beginning or group")
    func devices() {
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"bobs"}"#, client: "bob")
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"van/1","group":["vans"]}"#)
        for id in ["phone", "bobs", "van%2F1", "free"] { harness.move(id, metres: 10) }
        harness.fence()
        #expect(harness.inside() == ["free", "phone", "van/1"])
        harness.fence(#","devices":["van/*"]"#, id: "vans")
        #expect(harness.inside("vans") == ["van/1"])
        harness.fence(#","devices":["vans","free"]"#, id: "group")
        #expect(harness.inside("group") == ["free", "van/1"])
        #expect(
            harness.refusal("geofence/create", #"{"area":\#(HubHarness.circle()),"devices":["bobs"]}"#) == "forbidden devices")
        // It would never fire, regardless of who asks.
        for (request, parameters) in [
            ("geofence/create", #""area":\#(HubHarness.circle())"#), ("circumstance/register", #""id":"c","expression":"true""#),
            ("beacon/monitor", #""id":"m","uuid":"\#(Sample.uuid)""#),
        ] {
            for client in ["alice", "admin"] {
                #expect(
                    harness.refusal(request, #"{\#(parameters),"devices":["bobs"]}"#, client: client) == "forbidden devices",
                    "\(request) of \(client)")
            }
        }
        // A group may be called like another client's device.
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"fleet"}"#, client: "bob")
        _ = harness.request("device/update", #"{"id":"van/1","group":["vans","fleet"]}"#)
        harness.fence(#","devices":["fleet"]"#, id: "fleet")
        #expect(harness.inside("fleet") == ["van/1"])
        _ = harness.request("device/update", #"{"id":"van/1","group":[]}"#)
        #expect(harness.events("group") == ["exited van/1 left"])
    }

    @Test("Two clients may have geofences of one id; each sees its own, administrators all")
    func clients() {
        harness.fence()
        #expect(harness.fence(client: "bob")?["owner"]?.text == "bob")
        #expect(harness.result("geofence/list", client: "bob")?["geofences"]?.elements.count == 1)
        #expect(harness.result("geofence/list", client: "admin")?["geofences"]?.elements.count == 2)
        #expect(harness.result("geofence/get", #"{"id":"bob/home"}"#, client: "admin")?["owner"]?.text == "bob")
        #expect(harness.refusal("geofence/get", #"{"id":"bob/home"}"#) == "notFound id")
        harness.move("free", metres: 0)
        #expect(harness.events() == ["entered free"] && harness.events(client: "bob") == ["entered free"])
    }

    @Test(
        "What is no area is refused with the field that is wrong",
        arguments: [
            (#""area":5"#, "invalid area"), (#""area":{}"#, "invalid area"), (#""name":"x""#, "invalid area"),
            (#""area":{"circle":{"latitude":0,"longitude":0,"radius":0}}"#, "invalid area.circle.radius"),
            (#""area":{"circle":{"latitude":0,"longitude":0,"radius":1000001}}"#, "invalid area.circle.radius"),
            (#""area":{"circle":{"latitude":0,"longitude":0,"radus":5}}"#, "invalid area.circle.radus"),
            (#""area":{"circle":{"latitude":91,"longitude":0,"radius":5}}"#, "invalid area.circle.latitude"),
            (#""area":{"bbox":[1,1,1,2]}"#, "invalid area.bbox"), (#""area":{"bbox":[1,2,3]}"#, "invalid area.bbox"),
            (#""area":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}"#, "invalid area.coordinates"),
            (#""area":{"type":"Polygon","coordinates":[[[0,0],[1,1],[2,2],[0,0]]]}"#, "invalid area.coordinates"),
            (#""area":{"type":"Point","coordinates":[0,0]}"#, "invalid area.type"),
            (#""area":{"place":"nowhere"}"#, "notFound area.place"),
            (#""area":{"around":"nobody","radius":5}"#, "notFound area.around"),
            (#""area":{"around":"phone"}"#, "invalid area.radius"), (#""area":{"structure":{}}"#, "invalid area.structure.venue"),
            (#""area":{"structure":{"room":"r"}}"#, "notFound area.structure"),
            (#""area":{"bbox":[0,0,1,1],"place":"p"}"#, "invalid area"),
            (#""area":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]],"circle":{}}"#, "invalid area.circle"),
            (#""area":{"bbox":[0,0,1,1]},"exitMargin":-1"#, "invalid exitMargin"),
            (#""area":{"bbox":[0,0,1,1]},"staleAfter":0"#, "invalid staleAfter"),
            (#""area":{"bbox":[0,0,1,1]},"accuracy":"exact""#, "invalid accuracy"),
            (#""area":{"bbox":[0,0,1,1]},"pushers":["apns://x"]"#, "unsupported pushers"),
            (#""area":{"bbox":[0,0,1,1]},"colour":"red""#, "invalid colour"),
        ])
    func refusals(parameters: String, refusal: String) {
        #expect(harness.refusal("geofence/create", "{\(parameters)}") == refusal)
        #expect(harness.result("geofence/list")?["geofences"]?.elements.isEmpty == true)
    }

    @Test("Every kind of fixed area holds what lies in it")
    func areas() {
        harness.move(metres: 0)
        for (id, area) in [
            ("bbox", #"{"bbox":[7.41,43.72,7.43,43.74]}"#),
            ("polygon", #"{"type":"Polygon","coordinates":[[[7.41,43.72],[7.43,43.72],[7.42,43.75],[7.41,43.72]]]}"#),
            (
                "parts",
                #"{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],[[[7.41,43.72],[7.43,43.72],[7.42,43.75],[7.41,43.72]]]]}"#
            ),
        ] {
            harness.fence(id: id, area: area)
            #expect(harness.inside(id) == ["phone"], "\(id)")
        }
    }

    @Test("An area of more than a thousand parts was refused; it has 5,000 vertices and no more")
    func parts() {
        func parts(_ count: Int) -> String {
            let parts = (0..<count).map { number in
                let (west, south) = (Double(number % 50) / 10, Double(number / 50) / 10)
                return "[[[\(west),\(south)],[\(west + 0.05),\(south)],[\(west),\(south + 0.05)],[\(west),\(south)]]]"
            }
            return #"{"type":"MultiPolygon","coordinates":[\#(parts.joined(separator: ","))]}"#
        }
        harness.send("d/-/-/-/-/phone/position", #"{"lat":3.31,"lon":1.51}"#)
        harness.fence(area: parts(1666))
        #expect(harness.inside() == ["phone"])
        #expect(harness.refusal("geofence/create", #"{"area":\#(parts(1667))}"#) == "invalid area.coordinates")
    }

    @Test("A circle around a device moves with it, without that device, and empties when it is gone")
    func around() {
        harness.move("free", metres: 500)
        harness.move(metres: 0)
        harness.fence(#","accuracy":"centre""#, area: #"{"around":"phone","radius":100}"#)
        #expect(harness.inside().isEmpty)
        harness.move(metres: 450)
        #expect(harness.events() == ["entered free"])
        harness.move(metres: 0)
        #expect(harness.events() == ["entered free", "exited free left"])
        harness.move(metres: 500)
        _ = harness.request("device/delete", #"{"id":"phone"}"#)
        #expect(harness.events() == ["exited free deleted"])
        #expect(harness.result("geofence/get", #"{"id":"home"}"#)?["problem"]?.text == "there is no device `phone`")
        harness.makePhone()
        harness.move(metres: 500)
        #expect(harness.events() == ["entered free"])
        #expect(harness.result("geofence/get", #"{"id":"home"}"#)?["problem"] == nil)
    }

    @Test("A circle around a device moved with another client's device that took its id, also after a restart")
    func takenCentre() {
        let area = #"{"around":"phone","radius":100}"#
        harness.fence(#","accuracy":"centre""#, area: area)
        harness.move("free", metres: 0)
        harness.move(metres: 0)
        #expect(harness.inside() == ["free"])
        _ = harness.request("device/delete", #"{"id":"phone"}"#)
        harness.makePhone(client: "bob")
        for restarts in [false, true] {
            if restarts { harness.restart() }
            harness.published.removeAll()
            harness.move(metres: 10)
            #expect(harness.events().isEmpty && harness.inside().isEmpty)
            #expect(harness.result("geofence/get", #"{"id":"home"}"#)?["problem"]?.text == "there is no device `phone`")
            let checks = harness.result("geofence/explain", #"{"id":"home","deviceId":"free"}"#)?["checks"]?.elements
            #expect(checks?.first { $0["check"]?.text == "area" }?["detail"]?.text == "there is no device `phone`")
        }
        // An administrator changes it, but it stays its owner's.
        let change = #"{"id":"alice/home","area":\#(area)}"#
        #expect(harness.refusal("geofence/update", change, client: "admin") == "forbidden area.around")
        #expect(harness.fence(#","accuracy":"centre""#, area: area, client: "admin") != nil)
        #expect(harness.inside(client: "admin") == ["free"])
        // It is its owner's again.
        _ = harness.request("device/delete", #"{"id":"phone"}"#, client: "bob")
        harness.makePhone()
        harness.move(metres: 0)
        #expect(harness.inside() == ["free"])
    }

    @Test("Those inside of a circle around another's device stayed inside when its owner was an administrator no longer")
    func administratorNoLonger() {
        harness.fence(#","accuracy":"centre""#, area: #"{"around":"phone","radius":100}"#, client: "admin")
        harness.move("free", metres: 0)
        harness.move(metres: 0)
        #expect(harness.inside(client: "admin") == ["free"])
        harness.adjust { $0.administrators = AccessPatterns([]) }
        harness.restart()
        #expect(harness.inside(client: "admin").isEmpty)
    }

    @Test("A room as an area follows the structure, and empties with it; the same floor is that of the room")
    func structure() {
        harness.importStructure(FloorPlan.house)
        let room = #"{"structure":{"venue":"v","building":"h","floor":"0","room":"a"}}"#
        harness.fence(#","accuracy":"centre","floor":"same","exitMargin":0"#, area: room)
        harness.send("d/-/-/-/-/phone/position", FloorPlan.payload(5, 5, #","floorIndex":1"#))
        #expect(harness.inside().isEmpty)
        harness.send("d/-/-/-/-/phone/position", FloorPlan.payload(5, 5, #","floorIndex":0"#))
        #expect(harness.inside() == ["phone"])
        harness.published.removeAll()
        harness.send("d/-/-/-/-/phone/position", FloorPlan.payload(5, 5, #","floorIndex":1"#))
        #expect(harness.events() == ["exited phone left"])
        harness.send("d/-/-/-/-/phone/position", FloorPlan.payload(5, 5, #","floorIndex":0"#))
        harness.published.removeAll()
        harness.send("geomatch/d/admin/request/structure/delete", #"{"level":"building","id":"h"}"#)
        #expect(harness.events() == ["exited phone deleted"])
        harness.published.removeAll()
        harness.send("geomatch/d/admin/request/dataset/import", FloorPlan.house)
        #expect(harness.events() == ["entered phone"])
        #expect(
            harness.refusal("geofence/create", #"{"area":{"structure":{"floor":"9"}}}"#) == "notFound area.structure")
        #expect(harness.refusal("geofence/create", #"{"area":{"structure":{"room":"a"}}}"#) == "invalid area.structure")
    }

    @Test("A pin was lost by silence, though it has nothing to say", arguments: [false, true])
    func pin(isCreatedFirst: Bool) {
        let pin = #"{"deviceType":"PinDevice","id":"pin","location":{"latitude":43.73,"longitude":7.42}}"#
        if isCreatedFirst {
            _ = harness.request("device/create", pin)
            harness.advance(milliseconds: 5000)
        }
        harness.fence(#","staleAfter":2"#)
        if !isCreatedFirst { _ = harness.request("device/create", pin) }
        harness.advance(milliseconds: 5000)
        #expect(harness.events() == ["entered pin"] && harness.inside() == ["pin"])
        harness.restart(killed: true)
        harness.advance(milliseconds: 5000)
        #expect(harness.events().isEmpty && harness.inside() == ["pin"])
        let checks = harness.result("geofence/explain", #"{"id":"home","deviceId":"pin"}"#)?["checks"]?.elements
        #expect(checks?.allSatisfy { $0["pass"] == true } == true)
    }

    @Test(
        "A visit that no fix ends was longer by what the fixes lie behind",
        arguments: [
            ("device/update", #"{"id":"phone","location":null}"#), ("device/forget", #"{"id":"phone"}"#),
            ("device/delete", #"{"id":"phone"}"#), ("geofence/delete", #"{"id":"home"}"#),
            ("geofence/update", #"{"id":"home","enabled":false}"#), ("place/delete", #"{"id":"park"}"#), ("", ""),
        ])
    func lag(request: String, parameters: String) throws {
        _ = harness.request(
            "place/import",
            #"{"places":{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"id":"park"},"geometry":{"type":"Polygon","coordinates":[[[7.41,43.72],[7.43,43.72],[7.43,43.74],[7.41,43.74],[7.41,43.72]]]}}]}}"#
        )
        harness.fence(#","accuracy":"centre","staleAfter":100"#, area: #"{"place":"park"}"#)
        let began = harness.now - 3_600_000
        for seconds in [0, 10] as [Int64] {
            harness.move(metres: 0, extra: #","timestamp":\#(began + seconds * 1000)"#)
            harness.advance(milliseconds: 1000)
        }
        harness.published.removeAll()
        if request.isEmpty {
            harness.advance(milliseconds: 101_000, step: 1000)
        } else {
            _ = harness.request(request, parameters)
        }
        let exited = try #require(harness.payloads("geomatch/d/alice/geofence/home").last.flatMap { try? JSONValue.parse($0) })
        // Silence is as long in the fixes' times as in ours.
        let seconds = request.isEmpty ? 110.0 : 10
        #expect(exited["event"]?.text == "exited" && exited["duration"]?.number == seconds)
        #expect(exited["timestamp"]?.number == Double(began) + seconds * 1000)
    }

    @Test("A visit does not end before it dwelled")
    func endAfterDwelling() throws {
        harness.fence(#","dwell":60"#)
        harness.move(metres: 0)
        harness.advance(milliseconds: 100_000, step: 1000)
        harness.restart(killed: true)
        harness.published.removeAll()
        _ = harness.request("geofence/delete", #"{"id":"home"}"#)
        let exited = try #require(harness.payloads("geomatch/d/alice/geofence/home").last.flatMap { try? JSONValue.parse($0) })
        #expect(exited["duration"]?.number == 60)
    }

    @Test("A floor that an import makes known did not reach geofences")
    func importedFloor() {
        harness.fence(id: "far", area: #"{"bbox":[0,0,1,1]}"#)
        let location = FloorPlan.payload(5, 5, #","floorIndex":0"#)
        _ = harness.request("device/create", #"{"deviceType":"PinDevice","id":"pin","location":\#(location)}"#)
        harness.importStructure(FloorPlan.house)
        harness.fence(#","floor":"same""#, area: #"{"structure":{"venue":"v","building":"h","floor":"0","room":"a"}}"#)
        harness.advance(milliseconds: 1500)
        #expect(harness.events() == ["entered pin"] && harness.inside() == ["pin"])
        let checks = harness.result("geofence/explain", #"{"id":"home","deviceId":"pin"}"#)?["checks"]?.elements
        #expect(checks?.first { $0["check"]?.text == "floor" }?["detail"]?.text == "the same floor")
    }

    @Test("A geofence whose floor alone is another by now kept who was inside")
    func changedFloor() {
        harness.importStructure(FloorPlan.house)
        harness.fence(#","floor":"same""#, area: #"{"structure":{"venue":"v","room":"booth"}}"#)
        harness.send("d/v/h/0/-/phone/position", FloorPlan.payload(25, 5))
        #expect(harness.inside() == ["phone"])
        // A room of this very path: nothing says on which floor it is.
        let room = FloorPlan.feature(#""level":"room","id":"booth","parents":["v"]"#, FloorPlan.rectangle(23, 3, 27, 7))
        harness.importStructure(FloorPlan.collection([room]))
        harness.advance(milliseconds: 1500)
        #expect(harness.events() == ["exited phone left"] && harness.inside().isEmpty)
        _ = harness.request("structure/delete", #"{"level":"room","id":"booth","parents":["v","-","-"]}"#, client: "admin")
        #expect(harness.inside() == ["phone"])
    }

    @Test("A place as an area follows what is imported anew; one without an outline is refused")
    func place() {
        func places(_ geometry: String) -> String {
            #"{"places":{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"id":"park"},"geometry":\#(geometry)}]}}"#
        }
        let here = #"{"type":"Polygon","coordinates":[[[7.41,43.72],[7.43,43.72],[7.43,43.74],[7.41,43.74],[7.41,43.72]]]}"#
        _ = harness.request("place/import", places(#"{"type":"Point","coordinates":[7.42,43.73]}"#))
        #expect(harness.refusal("geofence/create", #"{"area":{"place":"park"}}"#) == "invalid area.place")
        _ = harness.request("place/import", places(here))
        harness.move(metres: 0)
        harness.fence(area: #"{"place":"park"}"#)
        #expect(harness.inside() == ["phone"])
        _ = harness.request("place/import", places(#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}"#))
        #expect(harness.events() == ["exited phone left"])
        _ = harness.request("place/import", places(here))
        #expect(harness.events() == ["entered phone"])
        _ = harness.request("place/delete", #"{"id":"park"}"#)
        #expect(harness.events() == ["exited phone deleted"])
        #expect(harness.result("geofence/get", #"{"id":"home"}"#)?["problem"]?.text == "there is no place `park`")
    }

    @Test("A client has so many geofences, and no more")
    func limit() {
        let harness = HubHarness { $0.limits.geofences = 2 }
        for id in ["a", "b"] { #expect(harness.fence(id: id) != nil) }
        #expect(harness.refusal("geofence/create", #"{"area":\#(HubHarness.circle())}"#) == "limit")
        #expect(harness.fence(id: "a", client: "bob") != nil)
    }

    @Test("Explain says each rule in order, and whether the device is inside")
    func explain() {
        harness.fence(#","dwell":600"#)
        func explained() -> (Bool?, [String]) {
            let result = harness.result("geofence/explain", #"{"id":"home","deviceId":"phone"}"#)
            let failed = result?["checks"]?.elements.filter { $0["pass"] == false }.compactMap { $0["check"]?.text }
            return (result?["inside"]?.asBool, failed ?? [])
        }
        let checks = harness.result("geofence/explain", #"{"id":"home","deviceId":"phone"}"#)?["checks"]?.elements
        #expect(
            checks?.compactMap { $0["check"]?.text } == ["enabled", "device", "location", "floor", "accuracy", "area", "dwell"])
        #expect(explained() == (false, ["location", "area", "dwell"]))
        harness.move(metres: 0, extra: #","acc":500"#)
        #expect(explained() == (false, ["accuracy", "area", "dwell"]))
        harness.move(metres: 0, extra: #","acc":20"#)
        #expect(explained() == (true, ["dwell"]))
        _ = harness.request("geofence/update", #"{"id":"home","enabled":false}"#)
        #expect(explained() == (false, ["enabled", "dwell"]))
    }

    @Test("A device that is still inside because leaving takes time or a margin was explained as outside, with no reason")
    func explainLeaving() {
        func area() -> (Bool?, String?) {
            let result = harness.result("geofence/explain", #"{"id":"home","deviceId":"phone"}"#)
            return (result?["inside"]?.asBool, result?["checks"]?.elements.first { $0["check"] == "area" }?["detail"]?.text)
        }
        harness.fence()
        harness.move(metres: 0, extra: #","acc":20"#)
        #expect(area() == (true, "100.0 m inside of the edge"))
        harness.advance(milliseconds: 10_000)
        harness.move(metres: 1000, extra: #","acc":20"#)
        harness.advance(milliseconds: 12_000)
        #expect(
            area() == (
                true,
                "900.1 m outside of the edge; outside since 12 s: it leaves with a fix at least 60 s after the first one outside"
            ))
        harness.move(metres: 115, extra: #","acc":30"#)
        #expect(
            area() == (
                true,
                "15.0 m outside of the edge, which neither begins nor ends a visit; it leaves more than 30.0 m outside of the edge"
            ))
        for (accuracy, leaves) in [
            ("centre", "more than 20.0 m outside"), ("possible", "more than 50.0 m outside"),
            ("certain", "less than 10.0 m inside"),
        ] {
            harness.move(metres: 0, extra: #","acc":30"#)
            _ = harness.request("geofence/update", #"{"id":"home","accuracy":"\#(accuracy)","exitMargin":20}"#)
            harness.move(metres: accuracy == "certain" ? 80 : accuracy == "centre" ? 115 : 140, extra: #","acc":30"#)
            let explained = area()
            #expect(explained.0 == true && explained.1?.hasSuffix("; it leaves \(leaves) of the edge") == true, "\(explained)")
        }
        harness.move(metres: 1000)
        #expect(area() == (false, "900.1 m outside of the edge"))
    }

    @Test("A device or group that nobody has was taken without a word: the reply warns of it, also of a circumstance's")
    func unknownDevices() {
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"staffed","group":["staff"]}"#)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"others","group":["crew"]}"#, client: "bob")
        func warnings(_ devices: String, _ request: String = "geofence/create") -> [String]? {
            let what =
                request == "circumstance/register"
                ? #""id":"c","expression":"true""#
                : request == "geofence/update" ? #""id":"home""# : #""area":\#(HubHarness.circle())"#
            return harness.result(request, #"{\#(what),"devices":\#(devices)}"#)?["warnings"]?.elements.compactMap(\.text)
        }
        harness.fence()
        let phone = "no device and no group `phnoe` is known yet; did you mean `phone`?"
        for request in ["geofence/create", "geofence/update", "circumstance/register"] {
            #expect(warnings(#"["phone","phnoe","staff"]"#, request) == [phone])
            #expect(warnings(#"["phone","staff"]"#, request) == nil)
        }
        #expect(warnings(#"["phn*"]"#) == nil && warnings("[]") == nil)
        // What others have is not named.
        #expect(
            warnings(#"["crwe","stafff"]"#) == [
                "no device and no group `crwe` is known yet",
                "no device and no group `stafff` is known yet; did you mean `staff`?",
            ])
        #expect(harness.result("geofence/update", #"{"id":"home","name":"x"}"#)?["warnings"] == nil)
    }

    @Test("Geofences are in the change feed under the id of their client")
    func feed() {
        harness.fence()
        harness.fence(client: "bob")
        let rows = harness.result("changes/get", #"{"since":0}"#)?["rows"]?.elements.filter { $0["type"]?.text == "geofence" }
        #expect(rows?.count == 1 && rows?.first?["id"]?.text == "home" && rows?.first?["doc"]?["area"]?["circle"] != nil)
        _ = harness.request("geofence/delete", #"{"id":"home"}"#)
        let last = harness.result("changes/get", #"{"since":0}"#)?["rows"]?.elements.last
        #expect(last?["id"]?.text == "home" && last?["deleted"] == true)
    }
}

@Suite("Geofences over very many devices")
struct CrowdedGeofenceTests {
    @Test("A fence over thousands of devices tells of them bit by bit, each once, and others are answered meanwhile")
    func crowd() {
        let harness = HubHarness()
        harness.acknowledges = true
        for number in 0..<5000 { harness.move("c\(number)", metres: Double(number % 50)) }
        harness.fence(#","accuracy":"centre""#)
        #expect(harness.inside().count == 1000 && harness.result("dataset/get") != nil)
        harness.fence(id: "later")
        _ = harness.request("geofence/delete", #"{"id":"home"}"#)
        harness.advance(milliseconds: 2000)
        #expect(harness.result("geofence/inside", #"{"id":"later"}"#)?["next"] != nil)
        harness.published.removeAll()
        harness.move("c7", metres: 7)
        #expect(harness.events("later").isEmpty)
        let presence = harness.retained["live/d/-/-/-/-/c4999/presence"].flatMap { try? JSONValue.parse($0) }
        #expect(presence?["properties"]?["geofence"]?.text == "later")
        #expect(harness.result("geofence/get", #"{"id":"later"}"#)?["delivery"]?["matched"]?.number == 5000)
    }
}
