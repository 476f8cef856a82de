import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Matches by proximity")
struct ProximityMatchTests {
    private let harness = HubHarness()

    init() {
        // Nothing waits for the broker, to come again after a restart.
        harness.acknowledges = true
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        _ = harness.request(
            "device/create", #"{"deviceType":"IBeaconDevice","id":"beacon","uuid":"\#(Sample.uuid)","major":7,"minor":1}"#)
    }

    private func see(_ distance: Double) {
        harness.published.removeAll()
        harness.send("d/-/-/-/-/phone/proximity", Sample.sighting(1, #""distance":\#(distance)"#))
    }

    private func offer(_ publisher: String = "beacon", _ subscriber: String = "phone", _ more: String = "") {
        _ = harness.request(
            "publication/create",
            #"{"id":"p","deviceId":"\#(publisher)","topic":"art","range":1,"duration":3600,"properties":{"k":1}}"#)
        _ = harness.request(
            "subscription/create",
            #"{"id":"s","deviceId":"\#(subscriber)","topic":"art","range":2,"duration":3600,"selector":"k = 1"\#(more)}"#)
    }

    @Test("a publication on a beacon meets the subscription of a phone that is near enough", arguments: [true, false])
    func meets(_ onBeacon: Bool) {
        if onBeacon { offer() } else { offer("phone", "beacon") }
        see(3.5)
        #expect(harness.matches.isEmpty)
        see(3)
        #expect(harness.matches.count == 1)
        let match = harness.matches.first?.json
        #expect(match?["event"]?.text == "matched" && match?["distance"]?.number == 3)
        #expect(match?["publication"]?["location"] == nil && match?["subscription"]?["location"] == nil)
        // Once.
        see(1)
        #expect(harness.matches.isEmpty)
        harness.restart()
        see(1)
        #expect(harness.matches.isEmpty)
    }

    @Test("a first reading that strays after a restart ends no visit", arguments: ["trimmedMean", "kalman"])
    func strayAfterRestart(_ filter: String) {
        func hear(_ rssi: Int) {
            harness.send("d/-/-/-/-/phone/proximity", Sample.sighting(1, #""rssi":\#(rssi)"#))
            harness.advance(milliseconds: 1000)
        }
        _ = harness.request("device/update", #"{"id":"phone","ranging":{"filter":"\#(filter)"}}"#)
        offer("beacon", "phone", #","mode":"visit","exitMargin":1"#)
        for _ in 0..<10 { hear(-65) }
        #expect(harness.matches.map { $0.json?["event"]?.text } == ["matched"])
        harness.restart()
        hear(-80)
        for _ in 0..<10 { hear(-65) }
        #expect(harness.matches.isEmpty)
        for _ in 0..<40 { hear(-80) }
        #expect(harness.matches.first?.json?["reason"]?.text == "left")
    }

    @Test("a visit begins in range, ends beyond the margin, and is lost with the beacon")
    func visits() {
        offer("beacon", "phone", #","mode":"visit","exitMargin":1"#)
        see(2)
        #expect(harness.matches.map { $0.json?["event"]?.text } == ["matched"])
        see(3.5)
        #expect(harness.matches.isEmpty)
        see(4.5)
        #expect(harness.matches.first?.json?["reason"]?.text == "left" && harness.matches.first?.json?["distance"]?.number == 4.5)
        see(2)
        #expect(harness.matches.count == 1)
        harness.advance(milliseconds: 89_000, step: 1000)
        #expect(harness.matches.count == 1)
        harness.advance(milliseconds: 2_000, step: 1000)
        #expect(harness.matches.last?.json?["reason"]?.text == "lost")
    }

    @Test("where a phone stands is nothing to the beacons it sees")
    func positions() {
        offer("beacon", "phone", #","mode":"visit""#)
        see(2)
        harness.published.removeAll()
        harness.send("d/-/-/-/-/phone/position", #"{"lat":43.7,"lon":7.4}"#)
        harness.send("d/-/-/-/-/phone/position", #"{"lat":53.7,"lon":7.4}"#)
        harness.send("d/-/-/-/-/phone/position", "")
        #expect(harness.matches.isEmpty)
        see(2)
        #expect(harness.matches.isEmpty)
    }

    @Test("what is created while the beacon is seen is met at once, and an update is evaluated")
    func later() {
        see(2.5)
        offer()
        #expect(harness.matches.count == 1)
        _ = harness.request("subscription/create", #"{"id":"t","deviceId":"phone","topic":"art","range":1,"duration":3600}"#)
        #expect(harness.matches.isEmpty)
        _ = harness.request("subscription/update", #"{"id":"t","range":2}"#)
        #expect(harness.matches.count == 1)
    }

    @Test("a beacon that is registered while it is seen is met with its next sighting")
    func registration() {
        harness.send("d/-/-/-/-/phone/proximity", Sample.sighting(9, #""distance":1"#))
        _ = harness.request(
            "device/create", #"{"deviceType":"IBeaconDevice","id":"new","uuid":"\#(Sample.uuid)","major":7,"minor":9}"#)
        offer("new")
        #expect(harness.matches.count == 1)
    }

    @Test("a visit goes on over a restart, and is lost where nobody sees the beacon any more")
    func restart() {
        offer("beacon", "phone", #","mode":"visit""#)
        see(2)
        harness.restart()
        see(2)
        #expect(harness.matches.isEmpty)
        harness.restart()
        harness.advance(milliseconds: 91_000, step: 1000)
        #expect(harness.matches.map { $0.json?["reason"]?.text } == ["lost"])
    }

    @Test("a visit whose beacon was not seen for long when the daemon starts is lost then")
    func longRestart() {
        offer("beacon", "phone", #","mode":"visit""#)
        see(2)
        harness.core.finish()
        harness.settleLog()
        harness.now += 600_000
        harness.restart()
        harness.advance(milliseconds: 2_000, step: 1000)
        #expect(harness.matches.map { $0.json?["reason"]?.text } == ["lost"])
    }

    @Test("a dwell goes on over a restart, and begins anew where the beacon was not seen for long when the daemon starts")
    func dwellOverRestart() {
        offer("beacon", "phone", #","mode":"visit","dwell":20"#)
        see(2)
        harness.advance(milliseconds: 15_000, step: 1000)
        harness.restart()
        harness.advance(milliseconds: 4_000, step: 1000)
        #expect(harness.matches.isEmpty && harness.store.visits.map(\.isStay) == [true])
        harness.advance(milliseconds: 2_000, step: 1000)
        #expect(harness.matches.map { $0.json?["event"]?.text } == ["matched"])
        _ = harness.request("subscription/update", #"{"id":"s","topic":"tea"}"#)
        _ = harness.request("subscription/update", #"{"id":"s","topic":"art"}"#)
        harness.core.finish()
        harness.settleLog()
        #expect(harness.store.visits.map(\.isStay) == [true])
        harness.now += 600_000
        harness.restart()
        harness.advance(milliseconds: 2_000, step: 1000)
        #expect(harness.matches.isEmpty && harness.store.visits.isEmpty)
        see(2)
        harness.advance(milliseconds: 19_000, step: 1000)
        #expect(harness.matches.isEmpty)
        harness.advance(milliseconds: 2_000, step: 1000)
        #expect(harness.matches.map { $0.json?["event"]?.text } == ["matched"])
    }

    @Test("can be explained")
    func explained() {
        offer()
        func check(_ name: String) -> JSONValue? {
            harness.result("match/explain", #"{"publicationId":"p","subscriptionId":"s"}"#)?["checks"]?.elements.first {
                $0["check"]?.text == name
            }
        }
        #expect(check("location")?["pass"] == false && check("range")?["pass"] == false)
        see(5)
        #expect(check("location")?["pass"] == true && check("range")?["pass"] == false)
        #expect(check("range")?["detail"]?.text == "distance 5.0 m by proximity, reach 3.0 m")
        see(3)
        #expect(check("range")?["pass"] == true && check("suppression")?["pass"] == false)
    }
}
