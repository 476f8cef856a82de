import Testing
import Wire

@testable import Datasets

@Suite("The position of a device")
struct DevicePositionTests {
    private let a = "d/v/-/-/a/x/position"
    private let b = "d/v/-/-/b/x/position"

    private func position(_ timestamp: Int64? = nil) -> String {
        #"{"lat":43.73,"lon":7.42\#(timestamp.map { ",\"timestamp\":\($0)" } ?? "")}"#
    }

    private func stands(_ harness: HubHarness) -> [String] {
        harness.retained.keys.filter { $0.hasPrefix("live/") && $0.hasSuffix("/x/position") }.sorted()
    }

    /// Rules that hold whether the id is a device, will be one, or is a beacon.
    enum Kind: CaseIterable { case autoCreated, created, unknown, beacon }

    private func harness(_ kind: Kind) -> HubHarness {
        let harness = HubHarness()
        _ = harness.request("dataset/create", #"{"autoCreateDevices":\#(kind == .autoCreated)}"#, client: "admin")
        switch kind {
        case .created: _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"x"}"#)
        case .beacon:
            _ = harness.request(
                "device/create",
                #"{"deviceType":"IBeaconDevice","id":"x","uuid":"f7826da64fa24e988024bc5b71e0893e","major":1,"minor":2}"#)
        default: break
        }
        return harness
    }

    @Test("It is one: accepted on another topic it clears the former", arguments: Kind.allCases)
    func one(_ kind: Kind) {
        let harness = harness(kind)
        harness.send(a, position())
        #expect(stands(harness) == ["live/" + a])
        harness.published.removeAll()
        harness.send(b, position())
        #expect(stands(harness) == ["live/" + b])
        #expect(harness.payloads("live/" + a) == [""])
        harness.send(a, position(harness.now - 1))
        #expect(stands(harness) == ["live/" + b] && harness.counters.updates.late == 1)
        harness.send(a, position(harness.now - 1), retained: true)
        #expect(harness.counters.updates.late == 1)
        harness.restart()
        #expect(stands(harness) == ["live/" + b])
        harness.send(b, "")
        #expect(stands(harness) == [])
    }

    @Test("A device that comes back to a topic with its own old times is not late", arguments: Kind.allCases)
    func oldTrace(_ kind: Kind) {
        let harness = harness(kind)
        for (index, topic) in [a, b, a, b, a].enumerated() {
            harness.send(topic, position(1_400_000_000_000 + Int64(index) * 1000))
            #expect(stands(harness) == ["live/" + topic])
        }
        #expect(harness.counters.updates.late == 0)
    }

    @Test("A late position makes no device")
    func lateMakesNoDevice() {
        let harness = harness(.autoCreated)
        harness.send(a, position())
        #expect(harness.result("device/delete", #"{"id":"x"}"#, client: "admin") != nil)
        harness.send(a, position(harness.now - 5))
        #expect(harness.counters.updates.late == 1)
        #expect(harness.hub.datasets["d"]?.devices.isEmpty == true)
    }

    @Test("After a deletion the id is another device, wherever the former one had been")
    func deletedAndReused() {
        let harness = harness(.autoCreated)
        harness.send(a, position())
        harness.send(b, position())
        #expect(harness.result("device/delete", #"{"id":"x"}"#, client: "admin") != nil)
        #expect(stands(harness) == [])
        // The engine gives the former device's number to this one.
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"y"}"#)
        harness.send(a, position())
        #expect(harness.result("device/get", #"{"id":"y"}"#)?["location"] == nil)
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["location"] != nil)
        let engine = harness.hub.datasets["d"]?.geomatching.engine
        #expect(harness.hub.datasets["d"]?.devices["y"].flatMap { engine?.position(of: $0.reference) } == nil)
    }

    @Test("The position of a deleted device does not come back after a crash")
    func deletionIsDurableWithItsPosition() {
        let harness = harness(.autoCreated)
        harness.send(a, position())
        harness.advance(milliseconds: 2000)
        _ = harness.request("device/delete", #"{"id":"x"}"#, client: "admin")
        harness.restart(killed: true)
        #expect(stands(harness) == [])
        #expect(harness.hub.datasets["d"]?.positionsWithoutDevice.isEmpty == true)
    }

    @Test("A position known before its device is taken over, and evaluated with what is attached")
    func adoption() {
        let harness = harness(.unknown)
        harness.makePair()
        harness.send(a, position())
        harness.send("d/v/-/-/b/x/position", position())
        #expect(harness.hub.datasets["d"]?.devices.count == 2)
        #expect(
            harness.result("device/create", #"{"deviceType":"MobileDevice","id":"x"}"#)?["location"]?["latitude"]?.number == 43.73
        )
        _ = harness.request("subscription/create", #"{"id":"sx","deviceId":"x","topic":"coffee","range":50,"duration":3600}"#)
        #expect(harness.matches.count == 1)
        harness.send(a, position())
        #expect(stands(harness) == ["live/" + a])
    }

    @Test("A position known before its device goes when the device is created elsewhere")
    func adoptionWithLocation() {
        let harness = harness(.unknown)
        harness.send(a, position())
        _ = harness.request(
            "device/create", #"{"deviceType":"PinDevice","id":"x","location":{"latitude":1,"longitude":2}}"#)
        #expect(stands(harness) == ["live/d/-/-/-/-/x/position"])
        harness.restart()
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["location"]?["latitude"]?.number == 1)
        #expect(stands(harness) == ["live/d/-/-/-/-/x/position"])
    }

    @Test("Where auto-creation is switched on later, the next position makes the device, and the former one goes")
    func switchedOn() {
        let harness = harness(.unknown)
        harness.send(a, position())
        _ = harness.request("dataset/update", #"{"autoCreateDevices":true}"#, client: "admin")
        harness.send(b, position())
        #expect(harness.hub.datasets["d"]?.devices.count == 1)
        #expect(stands(harness) == ["live/" + b])
    }

    @Test("The position of a room is no device's, though one is called like it")
    func positionOfARoom() {
        let harness = harness(.unknown)
        harness.send("d/v/-/-/x/-/position", position())
        #expect(harness.result("device/create", #"{"deviceType":"MobileDevice","id":"x"}"#)?["location"] == nil)
        harness.send(a, position())
        #expect(harness.retained["live/d/v/-/-/x/-/position"] != nil)
        #expect(harness.hub.datasets["d"]?.devices.count == 1)
    }

    @Test("A device made by its first position has no owner")
    func autoCreated() {
        let harness = harness(.autoCreated)
        harness.send(a, position())
        let device = harness.result("device/get", #"{"id":"x"}"#, client: "bob")
        #expect(device?["deviceType"]?.text == "MobileDevice" && device?["owner"] == nil)
        #expect(harness.result("device/update", #"{"id":"x","name":"n"}"#, client: "bob")?["name"]?.text == "n")
        #expect(harness.refusal("device/delete", #"{"id":"x"}"#, client: "bob") == "forbidden id")
        #expect(harness.result("device/delete", #"{"id":"x"}"#, client: "admin") == ["id": "x", "state": "deleted"])
    }

    @Test("A live position changes neither revision nor updatedAt")
    func revision() {
        let harness = harness(.created)
        let before = harness.result("device/get", #"{"id":"x"}"#)
        harness.advance(milliseconds: 500)
        harness.send(a, position())
        let after = harness.result("device/get", #"{"id":"x"}"#)
        #expect(before?["revision"] == after?["revision"] && before?["updatedAt"] == after?["updatedAt"])
        #expect(after?["location"]?["latitude"]?.number == 43.73)
        #expect(after?["location"]?["timestamp"]?.number == Double(harness.now))
    }

    @Test("A position set by a request appears on the device's own topic, and clears the one elsewhere")
    func setByRequest() {
        let harness = harness(.created)
        harness.send(a, position(harness.now + 200_000))
        let device = harness.result(
            "device/update", #"{"id":"x","location":{"lat":2,"lon":3,"acc":5,"timestamp":1600000000000}}"#)
        #expect(device?["location"]?["latitude"]?.number == 2 && device?["location"]?["horizontalAccuracy"]?.number == 5)
        #expect(stands(harness) == ["live/d/-/-/-/-/x/position"])
        // It is durable with its reply.
        harness.restart(killed: true)
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["location"]?["latitude"]?.number == 2)
        #expect(stands(harness) == ["live/d/-/-/-/-/x/position"])
        #expect(harness.result("device/update", #"{"id":"x","location":null}"#)?["location"] == nil)
        #expect(stands(harness) == [])
        harness.restart(killed: true)
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["location"] == nil)
    }

    @Test("Without a position nothing is in range, and clearing takes it away")
    func nowhere() {
        let harness = HubHarness()
        harness.makePair(#","properties":{}"#, #","matchTTL":0"#)
        #expect(harness.matches.isEmpty)
        harness.move(metres: 10)
        #expect(harness.matches.count == 1)
        harness.send("d/-/-/-/-/phone/position", "")
        harness.published.removeAll()
        _ = harness.request(
            "publication/create", #"{"id":"p2","deviceId":"pin","topic":"coffee","range":50,"duration":3600}"#)
        #expect(harness.matches.isEmpty)
        harness.move(metres: 20)
        #expect(harness.matches.count == 2)
    }

    @Test("A position and its clearing in one batch are handled in order")
    func movedAndCleared() {
        let harness = HubHarness()
        harness.makePair()
        harness.published.removeAll()
        harness.batch([
            .init("d/-/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42}"#), .init("d/-/-/-/-/phone/position", ""),
        ])
        #expect(harness.matches.count == 1)
        #expect(harness.retained["live/d/-/-/-/-/phone/position"] == nil)
        #expect(harness.result("device/get", #"{"id":"phone"}"#)?["location"] == nil)
    }
}
