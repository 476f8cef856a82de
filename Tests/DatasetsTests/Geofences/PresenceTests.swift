import Testing
import Wire

@testable import Datasets

@Suite("Presence")
struct PresenceTests {
    private let harness = HubHarness()

    init() { harness.makePhone() }

    /// What is retained as the presence of the phone: `geofence` and then all, `-` for null; nil for nothing.
    private func presence(_ levels: String = "-/-/-/-/phone") -> String? {
        guard let live = harness.retained["live/d/\(levels)/presence"].flatMap({ try? JSONValue.parse($0) }),
            live["derived"] == true
        else { return nil }
        let properties = live["properties"]
        let all = properties?["geofences"]?.elements.compactMap(\.text) ?? []
        return ([properties?["geofence"]?.text ?? "-"] + all).joined(separator: " ")
    }

    @Test("It names the geofences that hold a device, the smallest one first, and null where none does")
    func names() {
        harness.move(metres: 400)
        harness.fence(#","accuracy":"centre""#, id: "town", area: HubHarness.circle(1000))
        harness.fence(#","accuracy":"centre""#)
        #expect(presence() == "town town")
        harness.move(metres: 0)
        #expect(presence() == "home home town")
        harness.move(metres: 5000)
        #expect(presence() == "-")
        #expect(harness.result("live/snapshot", #"{"criteria":{"domain":"presence"}}"#)?["updates"]?.elements.count == 1)
    }

    @Test("It went on naming the geofence that was the smallest until another became smaller", arguments: ["update", "place"])
    func resized(by request: String) {
        func importPark(_ half: Double) {
            let corners = [(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)].map { "[\(7.42 + $0.0 * half),\(43.73 + $0.1 * half)]" }
            let park = #"{"type":"Polygon","coordinates":[[\#(corners.joined(separator: ","))]]}"#
            let feature = #"{"type":"Feature","geometry":\#(park),"properties":{"id":"park","name":"Park"}}"#
            #expect(harness.result("place/import", #"{"places":{"type":"FeatureCollection","features":[\#(feature)]}}"#) != nil)
        }
        importPark(0.003)
        harness.move(metres: 0)
        harness.fence(#","accuracy":"centre""#)
        let area = request == "place" ? #"{"place":"park"}"# : HubHarness.circle(200)
        harness.fence(#","accuracy":"centre""#, id: "park", area: area)
        #expect(presence() == "home home park")
        if request == "place" {
            importPark(0.0003)
        } else {
            _ = harness.request("geofence/update", #"{"id":"park","area":\#(HubHarness.circle(50))}"#)
        }
        harness.advance(milliseconds: 100)
        #expect(presence() == "park home park")
        _ = harness.request("geofence/update", #"{"id":"home","area":\#(HubHarness.circle(10))}"#)
        harness.advance(milliseconds: 100)
        #expect(presence() == "home home park" && !harness.hub.isUnfinished)
    }

    @Test("A device that was in no geofence has none; where two clients' ids are alike, the client's name stands before")
    func clients() {
        harness.fence(#","accuracy":"centre""#)
        harness.fence(#","accuracy":"centre""#, area: HubHarness.circle(50), client: "bob")
        harness.move("far", metres: 9000)
        #expect(harness.retained["live/d/-/-/-/-/far/presence"] == nil)
        harness.move("free", metres: 0)
        #expect(presence("-/-/-/-/free") == "bob/home alice/home bob/home")
        harness.move(metres: 0)
        #expect(presence() == "home home")
    }

    @Test("It follows the topic of the position, and goes with it")
    func follows() {
        harness.fence()
        harness.move(metres: 0)
        harness.send("d/v/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42}"#)
        #expect(presence() == nil && presence("v/-/-/-/phone") == "home home")
        harness.send("d/v/-/-/-/phone/position", "")
        #expect(presence("v/-/-/-/phone") == nil)
        harness.move(metres: 0)
        #expect(presence() == "home home")
        _ = harness.request("device/delete", #"{"id":"phone"}"#)
        #expect(presence() == nil)
    }

    @Test("Nobody else publishes it")
    func refused() {
        harness.send("d/-/-/-/-/phone/presence", #"{"geofences":["home"],"geofence":"home"}"#)
        #expect(harness.diagnostics().first?["error"]?.text == "invalid" && presence() == nil)
    }

    @Test("A refused update of an unknown dataset created that")
    func unknownDataset() {
        harness.send("ghost/-/-/-/-/x/presence", #"{"geofences":[]}"#)
        harness.advance(milliseconds: 200)
        #expect(harness.hub.datasetNames == ["d"])
        #expect(harness.diagnostics(dataset: "ghost").map(\.refusal) == ["invalid domain"])
    }

    @Test("It was orphaned by a restart after the last geofence was deleted", arguments: [false, true])
    func orphaned(killed: Bool) {
        harness.fence()
        harness.move(metres: 0)
        _ = harness.request("geofence/delete", #"{"id":"home"}"#)
        harness.advance(milliseconds: 2000)
        harness.restart(killed: killed)
        #expect(presence() == "-")
        harness.send("d/v/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42}"#)
        #expect(presence() == nil && presence("v/-/-/-/phone") == "-")
        harness.send("d/v/-/-/-/phone/position", "")
        #expect(!harness.retained.keys.contains { $0.hasSuffix("/presence") })
    }

    @Test("A restart without geofences and without presence knows no devices")
    func inactive() {
        harness.move(metres: 0)
        harness.restart()
        harness.move(metres: 1)
        #expect(harness.hub.datasets["d"]?.geofences.isActive == false)
    }

    @Test("After a kill it is right again, whatever the broker retained", arguments: [false, true])
    func restart(killed: Bool) {
        harness.fence(#","accuracy":"centre""#)
        harness.move(metres: 0)
        harness.advance(milliseconds: 2000)
        harness.move(metres: 5000)
        harness.restart(killed: killed)
        harness.advance(milliseconds: 100)
        #expect(presence() == "-")
        harness.move(metres: 0)
        harness.restart(killed: killed)
        harness.advance(milliseconds: 100)
        #expect(presence() == "home home")
    }

    @Test("A circumstance may ask for it")
    func circumstance() {
        harness.fence(#","accuracy":"centre""#)
        _ = harness.request(
            "circumstance/register",
            #"{"id":"c","expression":"(live presence geofence = \"home\")","when":"arriving"}"#)
        harness.move(metres: 5000)
        harness.move(metres: 0)
        #expect(
            harness.result("circumstance/evaluate", #"{"id":"c","deviceId":"phone"}"#)?["value"] == true)
    }

    @Test("Leaving the last geofence made a circumstance unknown instead of false, and never departed")
    func departing() {
        harness.fence(#","accuracy":"centre""#)
        for (id, more) in [("c", ""), ("out", #","when":"departing""#)] {
            _ = harness.request(
                "circumstance/register", #"{"id":"\#(id)","expression":"(live presence geofence = \"home\")"\#(more)}"#)
        }
        func value() -> JSONValue? { harness.result("circumstance/evaluate", #"{"id":"c","deviceId":"phone"}"#)?["value"] }
        #expect(value() == .null)
        harness.move(metres: 0)
        #expect(value() == true)
        harness.published.removeAll()
        harness.move(metres: 5000)
        #expect(harness.payloads("geomatch/d/alice/circumstance/out").count == 1)
        #expect(value() == false)
    }
}
