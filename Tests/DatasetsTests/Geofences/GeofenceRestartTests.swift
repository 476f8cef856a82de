import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Geofences over restarts and refusals")
struct GeofenceRestartTests {
    private let harness = HubHarness()

    init() {
        harness.acknowledges = true
        harness.makePhone()
        harness.fence(#","accuracy":"centre","dwell":100"#)
    }

    @Test("Visits go on over a restart, end once, and dwelling is not reported twice", arguments: [false, true])
    func restart(killed: Bool) {
        harness.move(metres: 0)
        harness.advance(milliseconds: 50_000)
        harness.restart(killed: killed)
        #expect(harness.events().isEmpty && harness.inside() == ["phone"])
        harness.advance(milliseconds: 51_000)
        #expect(harness.events() == ["dwelled phone"])
        harness.restart(killed: killed)
        harness.advance(milliseconds: 200_000)
        harness.move(metres: 0)
        #expect(harness.events().isEmpty)
        harness.move(metres: 300)
        #expect(harness.events() == ["exited phone left"])
        harness.restart(killed: killed)
        #expect(harness.inside().isEmpty)
        #expect(harness.result("geofence/get", #"{"id":"home"}"#)?["delivery"]?["delivered"]?.number == 3)
    }

    @Test("The fixes outside before a restart count with those after it under likely", arguments: [false, true])
    func likely(killed: Bool) {
        _ = harness.request("geofence/update", #"{"id":"home","accuracy":"likely","dwell":0}"#)
        harness.move(metres: 0)
        #expect(harness.events() == ["entered phone"])
        harness.advance(milliseconds: 100_000)
        // One that comes back begins anew.
        for (metres, seconds) in [(300, 50), (0, 50), (300, 30), (300, 29)] as [(Double, Int64)] {
            harness.move(metres: metres)
            harness.advance(milliseconds: seconds * 1000)
            harness.restart(killed: killed)
            #expect(harness.events().isEmpty && harness.inside() == ["phone"], "\(metres) \(seconds)")
        }
        harness.move(metres: 300)
        #expect(harness.events().isEmpty)
        harness.advance(milliseconds: 1000)
        harness.move(metres: 300)
        #expect(harness.events() == ["exited phone left"])
    }

    @Test("What was not delivered before a kill is delivered again under its id")
    func delivery() throws {
        harness.acknowledges = false
        harness.move(metres: 0)
        let first = try #require(harness.payloads("geomatch/d/alice/geofence/home").first)
        harness.acknowledges = true
        harness.restart(killed: true)
        #expect(harness.payloads("geomatch/d/alice/geofence/home") == [first])
        let delivery = harness.result("geofence/get", #"{"id":"home"}"#)?["delivery"]
        #expect(delivery?["delivered"]?.number == 1 && delivery?["pending"]?.number == 0)
    }

    @Test("Events go to webhooks, too, and count when all targets have them, over a kill")
    func webhooks() throws {
        _ = harness.request("geofence/update", #"{"id":"home","pushers":["https://example.com/h"],"secret":"s"}"#)
        #expect(harness.result("geofence/get", #"{"id":"home"}"#)?["secret"] == nil)
        harness.move(metres: 0)
        let post = try #require(harness.posts.first)
        #expect(post.secret == "s" && harness.events() == ["entered phone"])
        #expect(harness.result("geofence/get", #"{"id":"home"}"#)?["delivery"]?["pending"]?.number == 1)
        harness.advance(milliseconds: 200)
        harness.restart(killed: true)
        let again = try #require(harness.posts.first)
        #expect(again.matchID == post.matchID && harness.events().isEmpty)
        harness.answer(again)
        harness.advance(milliseconds: 200)
        let delivery = harness.result("geofence/get", #"{"id":"home"}"#)?["delivery"]
        #expect(delivery?["delivered"]?.number == 1 && delivery?["pending"]?.number == 0)
    }

    @Test("A creation that the store refuses never was, and its visits neither; what moved meanwhile is decided again")
    func refusal() {
        harness.move(metres: 0)
        harness.isDiskFull = true
        #expect(harness.refusal("geofence/create", #"{"id":"other","area":\#(HubHarness.circle(500))}"#) == "internal")
        harness.move(metres: 300)
        harness.heal()
        #expect(harness.result("geofence/list")?["geofences"]?.elements.count == 1)
        #expect(harness.inside().isEmpty)
        let delivery = harness.result("geofence/get", #"{"id":"home"}"#)?["delivery"]
        #expect(delivery?["matched"] == delivery?["delivered"])
        harness.move(metres: 0)
        #expect(harness.events() == ["entered phone"] && harness.payloads("geomatch/d/alice/geofence/other").isEmpty)
    }

    @Test("A circle around a device moves on after a restart")
    func around() {
        harness.fence(#","accuracy":"centre""#, id: "near", area: #"{"around":"phone","radius":50}"#)
        harness.move("free", metres: 1000)
        harness.move(metres: 1000)
        harness.restart(killed: true)
        #expect(harness.inside("near") == ["free"])
        harness.move(metres: 2000)
        #expect(harness.events("near") == ["exited free left"])
    }

    @Test("A deleted dataset takes its geofences along")
    func dataset() {
        harness.move(metres: 0)
        _ = harness.request("dataset/delete", client: "admin")
        harness.makePhone()
        harness.restart()
        #expect(harness.result("geofence/list")?["geofences"]?.elements.isEmpty == true)
    }
}
