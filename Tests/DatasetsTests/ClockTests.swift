import Testing
import Wire

@testable import Datasets

@Suite("Clocks that are wrong")
struct ClockTests {
    private static let topic = "d/-/-/-/-/phone/position"

    private func position(_ latitude: Int, at instant: Int64? = nil) -> String {
        #"{"lat":\#(latitude),"lon":7\#(instant.map { ",\"timestamp\":\($0)" } ?? "")}"#
    }

    private func latitude(_ harness: HubHarness) -> Double? {
        (try? JSONValue.parse(harness.retained["live/" + Self.topic] ?? "null"))?["properties"]?["latitude"]?.number
    }

    @Test("The daemon's clock was two days ahead: afterwards nothing is late", arguments: [false, true])
    func daemonsClock(isRestarted: Bool) {
        let harness = HubHarness()
        let now = harness.now
        harness.now = now + 2 * 86_400_000
        harness.send(Self.topic, position(1))
        harness.now = now
        if isRestarted { harness.restart() }
        harness.send(Self.topic, position(2))
        #expect(latitude(harness) == 2 && harness.counters.updates.late == 0)
        harness.send(Self.topic, position(3, at: now - 1000))
        #expect(latitude(harness) == 2 && harness.counters.updates.late == 1, "what is known by now is compared as ever")
    }

    @Test("A forged timestamp 299 s ahead locks no device out, and clears nothing for ever")
    func forged() {
        let harness = HubHarness()
        harness.send(Self.topic, position(1))
        harness.now += 1000
        harness.send(Self.topic, position(66, at: harness.now + 299_000))
        harness.now += 1000
        harness.send(Self.topic, position(2))
        #expect(latitude(harness) == 2 && harness.counters.updates.late == 0)
        harness.send(Self.topic, position(66, at: harness.now + 299_000))
        harness.now += 1000
        harness.send("d/v/-/-/-/phone/position", position(3))
        #expect(harness.retained["live/d/v/-/-/-/phone/position"] != nil && harness.counters.updates.late == 0)
    }

    @Test("An update that came before one from the future arrived stays late")
    func lateBehindForged() {
        let harness = HubHarness()
        harness.send(Self.topic, position(1, at: harness.now + 60_000))
        let sent = harness.now - 1
        harness.now += 1000
        harness.send(Self.topic, position(2, at: sent))
        #expect(latitude(harness) == 1 && harness.counters.updates.late == 1)
    }

    @Test("A retained update from the future that the broker repeats is no news")
    func repeated() {
        let harness = HubHarness()
        let update = position(1, at: harness.now + 60_000)
        harness.send(Self.topic, update)
        harness.now += 1000
        harness.published.removeAll()
        harness.send(Self.topic, update, retained: true)
        #expect(harness.payloads("live/" + Self.topic).isEmpty)
        harness.send(Self.topic, position(2, at: harness.now), retained: true)
        #expect(latitude(harness) == 2)
    }

    @Test("A position from the future does not keep gateways from locating its device")
    func gateways() {
        let harness = HubHarness()
        _ = harness.request(
            "device/create", #"{"deviceType":"PinDevice","id":"gw","location":{"latitude":43.73,"longitude":7.42}}"#)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        _ = harness.request("device/update", #"{"id":"phone","carries":{"uuid":"\#(Sample.uuid)","major":7,"minor":1}}"#)
        harness.send(Self.topic, #"{"lat":1,"lon":7,"acc":1,"timestamp":\#(harness.now + 299_000)}"#)
        harness.advance(milliseconds: 11_000)
        harness.send("d/v/b/1/r/gw/proximity", Sample.sighting(1, #""distance":2"#))
        harness.advance(milliseconds: 200)
        #expect(harness.retained["live/d/v/b/1/r/phone/position"]?.contains(#""derived":true"#) == true)
    }
}
