import Testing
import Wire

@testable import Datasets

@Suite("Strict datasets")
struct StrictPolicyTests {
    private func strict(_ extra: String = "") -> HubHarness {
        let harness = HubHarness()
        harness.importStructure(FloorPlan.house)
        harness.importStructure(
            FloorPlan.collection([
                FloorPlan.feature(#""level":"location","id":"desk","parents":["v","h","0","a"]"#),
                FloorPlan.feature(#""level":"building","id":"x","parents":["w"]"#),
            ]))
        _ = harness.request("dataset/update", #"{"policy":"strict"\#(extra)}"#, client: "admin")
        harness.published.removeAll()
        return harness
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var topic: String
        /// The level that is not declared; nil where all are.
        var field: String?
        var payload = #"{"co2":400,"latitude":1,"longitude":1}"#

        init(_ topic: String, _ field: String? = nil) { (self.topic, self.field) = (topic, field) }

        var testDescription: String { topic }
    }

    @Test(
        "Updates of declared structure are let in, refusals of others name the level that is not declared",
        arguments: [
            Row("v/h/0/a/desk/co2"), Row("v/h/0/a/-/co2"), Row("v/h/1/c/-/co2"), Row("v/-/-/-/-/co2"), Row("-/-/-/a/-/co2"),
            Row("-/-/-/-/desk/co2"), Row("v//0///co2"), Row("v/h/1/a/-/custom"), Row("w/x/-/-/-/co2"),
            Row("u/h/0/a/-/co2", "venue"), Row("v/g/0/a/-/co2", "building"), Row("w/h/-/-/-/co2", "building"),
            Row("v/h/2/a/-/co2", "floor"), Row("v/h/0/z/-/co2", "room"), Row("v/h/1/booth/-/co2", "room"),
            Row("v/h/0/b/desk/co2", "location"), Row("-/-/-/-/lamp/co2", "location"), Row("v/h/0/a/lamp/co2", "location"),
            Row("-/-/-/-/lamp/position"), Row("v/h/0/a/lamp/position"), Row("v/h/0/z/lamp/position", "room"),
            Row("-/-/-/A/-/co2", "room"),
        ])
    func updates(_ row: Row) {
        let harness = strict()
        harness.send("d/\(row.topic)", row.payload)
        #expect(harness.published.contains { $0.topic.hasPrefix("live/") } == (row.field == nil))
        #expect(harness.diagnostics().map(\.refusal) == (row.field.map { ["notFound \($0)"] } ?? []))
        #expect(harness.counters.updates.refused == (row.field == nil ? 0 : 1))
        if row.field != nil {
            #expect(harness.hub.liveStates.count == 0)
            #expect(harness.hub.datasets["d"]?.devices.isEmpty == true)
        }
    }

    @Test("Sightings of any observer are let in with autoCreateDevices, of known devices only without")
    func observers() {
        let sighting = #"{"proximityUUID":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2,"rssi":-60}"#
        let harness = strict()
        harness.send("d/-/-/-/-/gateway/proximity", sighting)
        #expect(harness.diagnostics().isEmpty)
        _ = harness.request("dataset/update", #"{"autoCreateDevices":false}"#, client: "admin")
        harness.send("d/-/-/-/-/gateway/proximity", sighting)
        harness.send("d/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
        #expect(harness.diagnostics().map(\.refusal) == ["notFound location", "notFound location"])
        for id in ["gateway", "phone"] { _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"\#(id)"}"#) }
        harness.send("d/-/-/-/-/gateway/proximity", sighting)
        harness.send("d/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
        harness.send("d/-/-/-/-/phone/battery", #"{"percent":5}"#)
        #expect(harness.diagnostics().isEmpty)
        _ = harness.request("device/delete", #"{"id":"phone"}"#)
        harness.send("d/-/-/-/-/phone/battery", #"{"percent":5}"#)
        #expect(harness.diagnostics().map(\.refusal) == ["notFound location"])
    }

    @Test("Domains bind in a strict dataset only, and what is derived is active")
    func domains() {
        let harness = strict(#","domains":["co2","POSITION"]"#)
        harness.send("d/v/-/-/-/-/CO2", #"{"co2":1}"#)
        harness.send("d/-/-/-/-/p/position", #"{"lat":1,"lon":1}"#)
        harness.send("d/v/-/-/-/-/humidity", #"{"humidity":1}"#)
        harness.send("d/v/h/0/a/-/occupancy", #"{"nrOfPeople":1}"#)
        #expect(harness.diagnostics().map(\.refusal) == ["notFound domain", "notFound domain"])
        harness.advance(milliseconds: 3000)
        _ = harness.request("dataset/update", #"{"derivedOccupancy":true}"#, client: "admin")
        harness.send("d/v/h/0/a/-/occupancy", #"{"nrOfPeople":1}"#)
        #expect(harness.diagnostics().isEmpty)
        _ = harness.request("dataset/update", #"{"policy":"open"}"#, client: "admin")
        harness.send("d/v/-/-/-/-/humidity", #"{"humidity":1}"#)
        #expect(harness.diagnostics().isEmpty)
    }

    @Test("Presence is published whatever domains are active, and could not be subscribed to")
    func presence() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", #"{"policy":"strict","domains":["position"]}"#, client: "admin")
        harness.makePhone()
        harness.fence(#","accuracy":"centre""#)
        #expect(harness.refusal("live/subscribe", #"{"criteria":{"domain":"co2"}}"#) == "notFound domain")
        #expect(harness.result("live/subscribe", #"{"id":"l","criteria":{"domain":"presence"}}"#) != nil)
        harness.move(metres: 0)
        #expect(harness.payloads("geomatch/d/alice/live/l").count == 1)
    }

    @Test("What became known while the dataset was open is refused from the moment it is strict, but may be cleared")
    func becomesStrict() {
        let harness = HubHarness()
        harness.send("d/q/-/-/-/-/co2", #"{"co2":1}"#)
        _ = harness.request("dataset/update", #"{"policy":"strict"}"#, client: "admin")
        harness.send("d/q/-/-/-/-/co2", #"{"co2":2}"#)
        #expect(harness.diagnostics().map(\.refusal) == ["notFound venue"])
        #expect(harness.retained["live/d/q/-/-/-/-/co2"]?.contains(#""co2":1"#) == true)
        harness.importStructure(FloorPlan.collection([FloorPlan.feature(#""level":"venue","id":"q""#)]))
        harness.send("d/q/-/-/-/-/co2", #"{"co2":3}"#)
        #expect(harness.retained["live/d/q/-/-/-/-/co2"]?.contains(#""co2":3"#) == true)
        harness.send("d/z/-/-/-/-/co2", "")
        #expect(harness.diagnostics().isEmpty)
    }

    @Test("An undeclared device makes nothing in a strict dataset, also when the broker replays it")
    func replay() {
        let harness = strict(#","autoCreateDevices":false"#)
        harness.send("d/-/-/-/-/ghost/position", #"{"lat":1,"lon":1}"#, retained: true)
        #expect(harness.hub.liveStates.count == 0 && harness.hub.datasets["d"]?.devices.isEmpty == true)
        #expect(harness.counters.updates.received == 1 && harness.counters.updates.refused == 1)
    }

    struct Criteria: CustomTestStringConvertible, Sendable {
        var levels: [String?]
        var field: String?

        init(_ levels: [String?], _ field: String? = nil) { (self.levels, self.field) = (["d"] + levels, field) }

        var testDescription: String { "\(levels)" }
    }

    @Test(
        "Levels of criteria are checked where they are given",
        arguments: [
            Criteria([nil, nil, nil, nil, nil, nil]), Criteria(["v", nil, nil, nil, nil, nil]),
            Criteria([nil, nil, nil, "booth", nil, nil]), Criteria([nil, nil, "1", "booth", nil, nil], "room"),
            Criteria(["w", nil, nil, "booth", nil, nil], "room"), Criteria(["u", nil, nil, nil, nil, nil], "venue"),
            Criteria([nil, "g", nil, nil, nil, nil], "building"), Criteria([nil, nil, nil, nil, "lamp", nil]),
            Criteria([nil, nil, nil, nil, "lamp", "position"]), Criteria([nil, nil, nil, nil, "lamp", "co2"], "location"),
            Criteria([nil, nil, nil, nil, nil, "co2"]), Criteria([nil, nil, nil, nil, nil, "noise"], "domain"),
            Criteria(["-", "-", "-", "-", "-", nil]),
        ])
    func criteria(_ row: Criteria) throws {
        let harness = strict(#","domains":["co2","position"]"#)
        let dataset = try #require(harness.hub.datasets["d"])
        var error: WireError?
        do throws(WireError) {
            try dataset.checkDeclared(levels: row.levels)
        } catch let refused {
            error = refused
        }
        #expect(error?.field == row.field)
        #expect((error?.code ?? .notFound) == .notFound)
        _ = harness.request("dataset/update", #"{"policy":"open"}"#, client: "admin")
        #expect(throws: Never.self) { try dataset.checkDeclared(levels: row.levels) }
    }

    @Test("All of a dataset can be updated and taken back; a stale revision and wrong values are refused")
    func update() {
        let harness = HubHarness()
        let all =
            #""name":"n","policy":"strict","domains":["co2"],"autoCreateDevices":false,"derivedOccupancy":true,"timeZone":"Europe/Monaco""#
        let created = harness.result("dataset/create", "{\(all)}", client: "admin")
        #expect(created?["policy"]?.text == "strict" && created?["timeZone"]?.text == "Europe/Monaco")
        #expect(created?["derivedOccupancy"] == true && created?["autoCreateDevices"] == false)
        let nulls = #""name":null,"policy":null,"domains":null,"autoCreateDevices":null,"derivedOccupancy":null,"timeZone":null"#
        let reset = harness.result("dataset/update", "{\(nulls)}", client: "admin")
        #expect(reset?["policy"]?.text == "open" && reset?["timeZone"]?.text == "UTC" && reset?["name"] == nil)
        #expect(reset?["domains"] == nil && reset?["autoCreateDevices"] == true && reset?["derivedOccupancy"] == false)
        let stale = created?["revision"]?.text ?? ""
        #expect(harness.refusal("dataset/update", #"{"revision":"\#(stale)"}"#, client: "admin") == "conflict revision")
        for (parameters, field) in [
            (#"{"policy":"closed"}"#, "policy"), (#"{"timeZone":"Europe/Nowhere"}"#, "timeZone"),
            (#"{"timeZone":"a b"}"#, "timeZone"), (#"{"timeZone":"GMT+5"}"#, "timeZone"), (#"{"timeZone":"UTC+3"}"#, "timeZone"),
            (#"{"timeZone":"GMT-0330"}"#, "timeZone"),
            (#"{"domains":["-"]}"#, "domains"), (#"{"domains":"co2"}"#, "domains"),
            (#"{"derivedOccupancy":1}"#, "derivedOccupancy"),
        ] {
            #expect(harness.refusal("dataset/update", parameters, client: "admin") == "invalid \(field)")
        }
        #expect(harness.refusal("dataset/update", #"{"policy":"strict"}"#) == "unauthorized")
    }

    @Test("A stored time zone that is no IANA name is known to the daemon's start, until another one is given")
    func storedTimeZone() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        #expect(harness.hub.unknownTimeZones.isEmpty)
        harness.hub.datasets["d"]?.record.timeZone = "GMT+5"
        #expect(harness.hub.unknownTimeZones.map(\.dataset) == ["d"] && harness.hub.unknownTimeZones.map(\.timeZone) == ["GMT+5"])
        #expect(harness.refusal("dataset/update", #"{"name":"n"}"#, client: "admin") == nil)
        #expect(harness.refusal("dataset/update", #"{"timeZone":"Etc/GMT-5"}"#, client: "admin") == nil)
        #expect(harness.hub.unknownTimeZones.isEmpty)
    }
}
