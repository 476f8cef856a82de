import Ranging
import Testing
import Wire

@testable import Datasets

/// A beacon, and how it is written.
enum Sample {
    static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

    static func sighting(_ minor: Int = 1, _ more: String) -> String {
        #"{"proximityUUID":"\#(uuid)","major":7,"minor":\#(minor),\#(more)}"#
    }
}

@Suite("Beacons are registered")
struct BeaconRegistryTests {
    @Test("in every written form of a UUID, and listed for everybody")
    func forms() {
        let harness = HubHarness()
        let forms = [
            #"{"deviceType":"IBeaconDevice","id":"a","proximityUUID":"f7826da6-4fa2-4e98-8024-bc5b71e0893e","major":1,"minor":1}"#,
            #"{"deviceType":"IBeaconDevice","id":"b","proximityID":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":2}"#,
            #"{"type":"gbeacon","id":"c","proximityID":"f7826da64fa24e988024bc5b71e0893e","major":65535,"minor":0}"#,
        ]
        for form in forms {
            #expect(harness.result("device/create", form)?["proximityUUID"]?.text == Sample.uuid, "\(form)")
        }
        #expect(
            harness.refusal(
                "device/create", #"{"deviceType":"IBeaconDevice","id":"d","uuid":"\#(Sample.uuid)","major":1,"minor":2}"#)
                == "conflict proximityUUID")
        let list = harness.result("beacon/list", client: "bob")?["beacons"]?.elements ?? []
        #expect(list.map { $0["deviceId"]?.text } == ["a", "b", "c"])
        #expect(list.first?.keys == ["deviceId", "proximityUUID", "major", "minor"])
        #expect(harness.result("beacon/list", #"{"limit":2}"#)?["next"]?.text == "b")
        // What was freed can be had again.
        _ = harness.request("device/delete", #"{"id":"b"}"#)
        #expect(
            harness.result(
                "device/create", #"{"deviceType":"IBeaconDevice","id":"d","uuid":"\#(Sample.uuid)","major":1,"minor":2}"#) != nil)
    }

    @Test(
        "what a device carries and how it ranges is checked, shown, kept over a restart and taken away again")
    func members() {
        let harness = HubHarness()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"tag"}"#)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"other"}"#)
        _ = harness.request("device/create", #"{"deviceType":"PinDevice","id":"pin","location":{"lat":1,"lon":1}}"#)
        let carries = #""carries":{"uuid":"\#(Sample.uuid)","major":7,"minor":1}"#
        let tag = harness.result(
            "device/update", #"{"id":"tag",\#(carries),"ranging":{"n":3,"rssiOffset":-2.5,"filter":"kalman"}}"#)
        #expect(tag?["carries"]?["proximityUUID"]?.text == Sample.uuid && tag?["carries"]?["minor"]?.number == 1)
        #expect(tag?["ranging"]?["n"]?.number == 3 && tag?["ranging"]?["filter"]?.text == "kalman")
        #expect(harness.refusal("device/update", #"{"id":"other",\#(carries)}"#) == "conflict carries")
        #expect(harness.refusal("device/update", #"{"id":"pin",\#(carries)}"#) == "invalid carries")
        for (wrong, field) in [
            (#""n":0"#, "ranging.n"), (#""n":"x""#, "ranging.n"), (#""rssiOffset":1e9"#, "ranging.rssiOffset"),
            (#""filter":"magic""#, "ranging.filter"), (#""map":"1 2""#, "ranging.map"), (#""map":7"#, "ranging.map"),
        ] {
            #expect(harness.refusal("device/update", #"{"id":"tag","ranging":{\#(wrong)}}"#) == "invalid \(field)")
        }
        harness.restart()
        let restored = harness.result("device/update", #"{"id":"tag","ranging":{"n":2}}"#)
        #expect(restored?["ranging"]?["rssiOffset"]?.number == -2.5 && restored?["ranging"]?["n"]?.number == 2)
        #expect(harness.refusal("device/update", #"{"id":"other",\#(carries)}"#) == "conflict carries")
        let hung = #"{"id":"tag","ranging":{"map":"43.73 7.42 0 0 1 2 -30 -"},"orientation":{"heading":90,"tilt":-20}}"#
        #expect(harness.result("device/update", hung) != nil)
        for (wrong, field) in [(#""heading":361"#, "heading"), (#""tilt":-91"#, "tilt"), (#""heading":"x""#, "heading")] {
            let refusal = harness.refusal("device/update", #"{"id":"tag","orientation":{\#(wrong)}}"#)
            #expect(refusal == "invalid orientation.\(field)")
        }
        harness.restart()
        let turned = harness.result("device/update", #"{"id":"tag","orientation":{"tilt":5}}"#)
        #expect(
            turned?["ranging"]?["map"]?.text == "43.73 7.42 0 0 1 2 -30 -" && turned?["orientation"]?["heading"]?.number == 90)
        let level = harness.result("device/update", #"{"id":"tag","orientation":null,"ranging":{"map":null}}"#)
        #expect(level?["orientation"] == nil && level?["ranging"]?["map"] == nil && level?["ranging"]?["n"]?.number == 2)
        let bare = harness.result("device/update", #"{"id":"tag","carries":null,"ranging":null}"#)
        #expect(bare?["carries"] == nil && bare?["ranging"] == nil)
        #expect(harness.result("device/update", #"{"id":"other",\#(carries)}"#)?["carries"] != nil)
    }
}

@Suite("Sightings of beacons")
struct SightingTests {
    private let harness = HubHarness()

    init() { _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#) }

    private func send(_ sightings: String..., observer: String = "phone") {
        harness.published.removeAll()
        harness.send("d/-/-/-/-/\(observer)/proximity", #"{"sightings":[\#(sightings.joined(separator: ","))]}"#)
    }

    private func beacons(_ observer: String = "phone") -> [JSONValue] {
        harness.retained["live/d/-/-/-/-/\(observer)/proximity"].flatMap { try? JSONValue.parse($0) }?["properties"]?["beacons"]?
            .elements ?? []
    }

    @Test("are reported nearest first, with the device where there is one")
    func nearestFirst() {
        _ = harness.request(
            "device/create", #"{"deviceType":"IBeaconDevice","id":"b2","uuid":"\#(Sample.uuid)","major":7,"minor":2}"#)
        send(
            Sample.sighting(1, #""distance":4"#), Sample.sighting(2, #""proximity":"immediate""#),
            Sample.sighting(3, #""rssi":0"#),
            Sample.sighting(4, #""rssi":-59"#))
        let reported = beacons()
        #expect(reported.map { $0["minor"]?.number } == [2, 4, 1, 3])
        #expect(reported.map { $0["proximity"]?.text } == ["immediate", "near", "far", "unknown"])
        #expect(reported.map { $0["distance"]?.number } == [0.5, 1, 4, nil])
        #expect(reported[0]["deviceId"]?.text == "b2" && reported[1]["deviceId"] == nil)
        #expect(reported[1]["rssi"]?.number == -59 && reported[3]["rssi"] == nil && reported[0]["age"]?.number == 0)
        #expect(harness.payloads("live/d/-/-/-/-/phone/proximity").count == 1)
    }

    @Test("were left by a deleted device to the next owner of its id", arguments: [false, true])
    func deletedObserver(restarts: Bool) {
        send(Sample.sighting(1, #""distance":2"#))
        #expect(beacons().count == 1)
        _ = harness.request("device/delete", #"{"id":"phone"}"#)
        if restarts { harness.restart(killed: true) }
        #expect(harness.retained["live/d/-/-/-/-/phone/proximity"] == nil)
        #expect(harness.result("live/snapshot", #"{"criteria":{}}"#)?["updates"] == [])
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#, client: "bob")
        harness.advance(milliseconds: 2000)
        #expect(beacons().isEmpty)
    }

    @Test("were lost where the deletion of their device was refused", arguments: ["delete", "forget"])
    func refusedDeletion(verb: String) {
        send(Sample.sighting(1, #""distance":2"#))
        harness.isDiskFull = true
        #expect(harness.refusal("device/\(verb)", #"{"id":"phone"}"#) == "internal")
        harness.heal()
        #expect(beacons().count == 1)
        #expect(harness.hub.datasets["d"]?.beacons.table.count == 1)
        harness.advance(milliseconds: 95_000, step: 1000)
        #expect(beacons().isEmpty)
    }

    @Test("named a beacon's device that was deleted")
    func deletedBeacon() {
        _ = harness.request(
            "device/create", #"{"deviceType":"IBeaconDevice","id":"b2","uuid":"\#(Sample.uuid)","major":7,"minor":2}"#)
        send(Sample.sighting(2, #""distance":2"#))
        #expect(beacons().first?["deviceId"]?.text == "b2")
        _ = harness.request("device/delete", #"{"id":"b2"}"#)
        harness.advance(milliseconds: 2000)
        #expect(beacons().map { $0["minor"]?.number } == [2])
        #expect(beacons().first?["deviceId"] == nil)
    }

    @Test("one of them alone is a message too, and what else a message says is kept")
    func shapes() {
        harness.send("d/-/-/-/-/phone/proximity", Sample.sighting(1, #""distance":2,"originSourceId":"gw""#))
        #expect(beacons().count == 1)
        harness.send(
            "d/-/-/-/-/phone/proximity", #"{"sightings":[\#(Sample.sighting(2, #""distance":1"#))],"battery":80}"#)
        let message = harness.retained["live/d/-/-/-/-/phone/proximity"].flatMap { try? JSONValue.parse($0) }
        #expect(message?["properties"]?.keys == ["beacons", "battery"] && beacons().count == 2)
    }

    @Test("a fact lives ninety seconds, and its age is reported")
    func expiry() {
        send(Sample.sighting(1, #""distance":1"#))
        harness.advance(milliseconds: 60_000, step: 1000)
        send(Sample.sighting(2, #""distance":2"#))
        #expect(beacons().map { $0["age"]?.number } == [60, 0])
        harness.advance(milliseconds: 31_000, step: 1000)
        #expect(beacons().map { $0["minor"]?.number } == [2])
        harness.advance(milliseconds: 60_000, step: 1000)
        #expect(beacons().isEmpty)
        #expect(harness.hub.datasets["d"]?.beacons.table.count == 0)
    }

    @Test("are ranged as the observer's device says")
    func settings() {
        _ = harness.request("device/update", #"{"id":"phone","ranging":{"n":2,"rssiOffset":10,"filter":"none"}}"#)
        send(Sample.sighting(1, #""rssi":-89,"txPower":-59"#))
        #expect(beacons().first?["distance"]?.number == 10)
        #expect(beacons().first?["rssi"]?.number == -89)
    }

    @Test("a wrong one refuses its whole message")
    func wrong() {
        send(Sample.sighting(1, #""distance":1"#), Sample.sighting(2, #""txPower":0"#))
        #expect(beacons().isEmpty)
        #expect(harness.diagnostics().first?["field"]?.text == "sightings[1].txPower")
        for more in [#""distance":-1"#, #""distance":1e9"#, #""rssi":1000"#, #""rssi":"loud""#, #""proximity":4"#] {
            send(Sample.sighting(1, more))
            #expect(beacons().isEmpty, "\(more)")
        }
        #expect(harness.counters.updates.refused == 6 && harness.counters.updates.accepted == 0)
    }

    @Test("of a clock that runs ahead were made now, of one that runs behind are late")
    func clocks() {
        send(Sample.sighting(1, #""distance":1,"timestamp":\#(harness.now + 3_600_000)"#))
        #expect(beacons().first?["age"]?.number == 0 && harness.counters.updates.skewed == 1)
        send(Sample.sighting(2, #""distance":1,"timestamp":\#(harness.now - 3_600_000)"#))
        #expect(beacons().count == 1 && harness.counters.updates.late == 1)
        send(
            Sample.sighting(2, #""distance":1,"timestamp":\#(harness.now - 3_600_000)"#),
            Sample.sighting(3, #""distance":2,"timestamp":\#(harness.now - 5_000)"#))
        #expect(beacons().map { $0["minor"]?.number } == [1, 3])
        // An older one of the same beacon changes nothing.
        send(Sample.sighting(3, #""distance":9,"timestamp":\#(harness.now - 6_000)"#))
        #expect(beacons().last?["distance"]?.number == 2)
    }

    @Test("of one message count in the order in which they were made, whatever the order they are reported in")
    func order() throws {
        let readings = [-60, -75, -62, -80, -64, -71, -66].enumerated().map { second, rssi in
            Sample.sighting(1, #""rssi":\#(rssi),"timestamp":\#(harness.now - 7000 + Int64(second) * 1000)"#)
        }
        send(readings.joined(separator: ","))
        let reported = try #require(beacons().first)
        #expect(reported["rssi"]?.number == -66 && reported["age"]?.number == 1)
        harness.send("d/-/-/-/-/phone/proximity", "")
        send(readings.reversed().joined(separator: ","))
        #expect(beacons().first == reported)
    }

    @Test("a burst from one observer is bounded and counted, and others are heard meanwhile")
    func bursts() {
        let many = (0..<500).map { Sample.sighting($0, #""rssi":-70"#) }.joined(separator: ",")
        for _ in 0..<12 { harness.send("d/-/-/-/-/phone/proximity", #"{"sightings":[\#(many)]}"#) }
        #expect(harness.counters.updates.accepted == 10 && harness.counters.updates.refused == 2)
        #expect(harness.diagnostics().first?["error"]?.text == "limit")
        send(Sample.sighting(1, #""rssi":-70"#), observer: "gateway")
        #expect(beacons("gateway").count == 1)
        harness.advance(milliseconds: 1000)
        harness.send("d/-/-/-/-/phone/proximity", #"{"sightings":[\#(many)]}"#)
        #expect(harness.counters.updates.accepted == 12)
    }

    @Test("an observer sees so many beacons at a time, and what is beyond is reported")
    func tooMany() {
        let harness = HubHarness { $0.limits.beaconsPerObserver = 3 }
        harness.send("d/-/-/-/-/x/temperature", #"{"temperature":1}"#)
        let many = (0..<5).map { Sample.sighting($0, #""rssi":-70"#) }.joined(separator: ",")
        harness.send("d/-/-/-/-/phone/proximity", #"{"sightings":[\#(many)]}"#)
        #expect(harness.hub.datasets["d"]?.beacons.table.count == 3)
        #expect(harness.diagnostics("overload").first?["count"]?.number == 2)
    }

    @Test("the observers of a dataset see so many together, and go on to tell of those they see")
    func tooManyTogether() {
        let harness = HubHarness { $0.limits.beaconsInSight = 3 }
        for observer in ["a", "b"] {
            for minor in 0..<2 { harness.send("d/-/-/-/-/\(observer)/proximity", Sample.sighting(minor, #""distance":1"#)) }
        }
        #expect(harness.hub.datasets["d"]?.beacons.table.count == 3)
        #expect(harness.counters.updates.refused == 1)
        harness.send("d/-/-/-/-/b/proximity", Sample.sighting(0, #""distance":2"#))
        #expect(harness.counters.updates.accepted == 4)
        harness.send("d/-/-/-/-/a/proximity", "")
        harness.send("d/-/-/-/-/b/proximity", Sample.sighting(1, #""distance":1"#))
        #expect(harness.hub.datasets["d"]?.beacons.table.count == 2)
    }

    @Test("survive a restart as live state does, and go with it when it is cleared")
    func restart() {
        send(Sample.sighting(1, #""distance":1"#), Sample.sighting(2, #""rssi":-70"#))
        let before = beacons()
        harness.restart()
        #expect(beacons() == before)
        #expect(harness.hub.datasets["d"]?.beacons.table.count == 2)
        harness.send("d/-/-/-/-/phone/proximity", "")
        #expect(harness.retained["live/d/-/-/-/-/phone/proximity"] == nil)
        #expect(harness.hub.datasets["d"]?.beacons.table.count == 0)
    }

    @Test("an observer that goes on to another topic is reported there only")
    func topics() {
        harness.send("d/v/b/f/one/phone/proximity", Sample.sighting(1, #""distance":1"#))
        harness.send("d/v/b/f/two/phone/proximity", Sample.sighting(2, #""distance":2"#))
        #expect(harness.retained["live/d/v/b/f/one/phone/proximity"] == nil)
        #expect(harness.retained["live/d/v/b/f/two/phone/proximity"]?.contains(#""minor":1"#) == true)
    }
}
