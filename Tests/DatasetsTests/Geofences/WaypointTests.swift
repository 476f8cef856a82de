import Testing
import Wire

@testable import Datasets

@Suite("Waypoints of OwnTracks")
struct WaypointTests {
    private let harness = HubHarness()
    private let adapters: Adapters

    init() throws {
        adapters = Adapters([try AdapterRule([("filter", "owntracks/+/+/#"), ("format", "owntracks"), ("dataset", "d")])])
        _ = harness.request("dataset/create", client: "admin")
    }

    private func share(_ payload: String, user: String = "ann", retained: Bool = false) throws {
        harness.published.removeAll()
        let topic = Array("owntracks/\(user)/phone/waypoint".utf8)
        let message = topic.withUnsafeBytes { topic in
            Array(payload.utf8).withUnsafeBytes { adapters.read(topic: topic, payload: $0, retained: retained) }
        }
        let adapted = try #require(message)
        harness.core.begin()
        topic.withUnsafeBytes { harness.core.receive(adapted, published: $0, isRepeated: retained) }
        harness.end()
    }

    private var areas: [Double] {
        harness.result("geofence/list", client: "ann")?["geofences"]?.elements.compactMap {
            $0["area"]?["circle"]?["radius"]?.number
        } ?? []
    }

    @Test("A waypoint that came while its dataset was suspended made no geofence")
    func whileSuspended() throws {
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        harness.send(
            "geomatch/d/bob/request/changes/push",
            #"{"docs":[{"id":"n","type":"device","deviceType":"MobileDevice","revision":"1-0123456789abcdef0123456789abcdef"}]}"#)
        try share(#"{"_type":"waypoint","desc":"home","rid":"r","tst":1700000000,"lat":43.73,"lon":7.42,"rad":100}"#)
        #expect(harness.counters.updates.accepted == 0)
        harness.isDiskSlow = false
        #expect(harness.result("geofence/get", #"{"id":"owntracks/home"}"#, client: "ann") != nil)
    }

    @Test("One with a radius is a geofence of the client named like the user, for its devices; shared again it is replaced")
    func create() throws {
        harness.move("ann%2Fphone", metres: 20)
        harness.move("bob%2Fphone", metres: 20)
        try share(#"{"_type":"waypoint","desc":"home","rid":"r","tst":1700000000,"lat":43.73,"lon":7.42,"rad":100}"#)
        let id = "owntracks/home"
        #expect(harness.events("owntracks%2Fhome", client: "ann") == ["entered ann/phone"])
        #expect(harness.inside(id, client: "ann") == ["ann/phone"])
        try share(#"{"_type":"waypoint","desc":"home","rid":"r","tst":1700000000,"lat":43.73,"lon":7.42,"rad":10}"#)
        #expect(areas == [10] && harness.inside(id, client: "ann").isEmpty)
        harness.restart(killed: true)
        #expect(areas == [10])
    }

    @Test("One that was shared again unchanged left what was changed otherwise; where nothing differs, nothing is written")
    func again() throws {
        let home = #"{"_type":"waypoint","desc":"home","rid":"r","tst":1700000000,"lat":43.73,"lon":7.42,"rad":100}"#
        try share(home)
        let made = harness.result("geofence/get", #"{"id":"owntracks/home"}"#, client: "ann")
        try share(home)
        #expect(harness.result("geofence/get", #"{"id":"owntracks/home"}"#, client: "ann") == made)
        let change = #"{"id":"owntracks/home","name":"Work","devices":["ann"],"enabled":false}"#
        #expect(harness.refusal("geofence/update", change, client: "ann") == nil)
        try share(home)
        let replaced = harness.result("geofence/get", #"{"id":"owntracks/home"}"#, client: "ann")
        #expect(replaced?["name"] == made?["name"] && replaced?["devices"] == made?["devices"])
        // A waypoint says nothing of it.
        #expect(replaced?["enabled"] == false && replaced?["revision"] != made?["revision"])
    }

    @Test("Without coordinates or with radius 0 it deletes its geofence; a beacon's and a retained one are none")
    func delete() throws {
        let home = #"{"_type":"waypoint","desc":"home","rid":"r","tst":1700000000,"lat":43.73,"lon":7.42,"rad":100}"#
        for end in [
            #"{"_type":"waypoint","desc":"home","rid":"r","tst":1700000000,"lat":43.73,"lon":7.42,"rad":0}"#,
            #"{"_type":"waypoint","desc":"home","rid":"r","tst":1700000000}"#,
        ] {
            try share(home)
            #expect(areas == [100])
            try share(end)
            #expect(areas.isEmpty)
        }
        try share(home, retained: true)
        try share(
            #"{"_type":"waypoint","desc":"desk","rid":"b","uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","lat":47.5,"lon":8.5,"rad":5}"#
        )
        #expect(areas.isEmpty)
    }

    @Test("A user that is no client name is refused on diagnostics, and so is a radius that no circle has")
    func refused() throws {
        try share(#"{"_type":"waypoint","desc":"home","rid":"r","lat":43.73,"lon":7.42,"rad":100}"#, user: "ann b")
        #expect(harness.diagnostics().last?["field"]?.text == "topic")
        try share(#"{"_type":"waypoint","desc":"home","rid":"s","lat":43.73,"lon":7.42,"rad":0.5}"#)
        #expect(harness.diagnostics().last?["field"]?.text == "area.circle.radius" && areas.isEmpty)
    }

    @Test(
        "One with an empty name became the geofence `owntracks/`",
        arguments: [(0, false), (1, true), (118, true), (119, false)])
    func nameLength(_ bytes: Int, isTaken: Bool) throws {
        let name = String(repeating: "n", count: bytes)
        try share(#"{"_type":"waypoint","desc":"\#(name)","rid":"r","lat":43.73,"lon":7.42,"rad":100}"#)
        #expect(harness.diagnostics().last?["field"]?.text == (isTaken ? nil : "desc"))
        #expect(areas == (isTaken ? [100] : []))
    }
}

@Suite("Requests on topics that are none")
struct MalformedRequestTests {
    @Test(
        "They are reported where a dataset can be read from them",
        arguments: [
            "geomatch/d/request/device", "geomatch/d/request/device/create", "geomatch/d/alice/requests/device/create",
            "geomatch/d/alice/requests",
        ])
    func reported(_ topic: String) {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.send(topic, "{}")
        let reported = harness.diagnostics("request").first
        #expect(reported?["topic"]?.text == topic && reported?["error"]?.text == "invalid" && reported?["count"]?.number == 1)
        harness.published.removeAll()
        harness.send(topic, "{}", retained: true)
        // The diagnostics themselves were read as a request, and answered.
        for other in [
            "geomatch/d/alice/reply", "geomatch/d/alice/match/a/b", "geomatch/d/status", "geomatch/d/diagnostics/request",
        ] { harness.send(other, "{}") }
        #expect(harness.published.isEmpty)
    }

    @Test("A client called `request` is answered all the same")
    func request() {
        let harness = HubHarness()
        #expect(harness.result("device/create", #"{"deviceType":"MobileDevice"}"#, client: "request") != nil)
    }
}
