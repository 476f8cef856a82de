import Geodesy
import LiveTopics
import Matching
import Ranging
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Beacons, without a hub")
struct BeaconsTests {
    private let dataset = Dataset(DatasetRecord(id: "d", createdAt: 0, updatedAt: 0, revision: ""))
    private let devices = Devices()
    private let beacons: Beacons
    private let identity = BeaconIdentity(proximityUUID: Sample.uuid, major: 7, minor: 1)

    init() {
        beacons = Beacons(devices, Shared())
    }

    private func add(_ id: String, _ number: UInt32, _ change: (inout DeviceRecord) -> Void = { _ in }) {
        var record = DeviceRecord(
            dataset: "d", id: id, type: .mobile, owner: nil, createdAt: 0, updatedAt: 0, revision: "")
        change(&record)
        let device = Device(record, reference: DeviceRef(index: number))
        devices.insert(device)
        #expect(beacons.insert(device).isEmpty)
    }

    private func observer(_ id: String) throws -> Observer {
        let topic = "d/-/-/-/-/\(id)/proximity"
        return beacons.observer(of: LiveState(dataset: dataset, live: try LiveTopic(encoded: topic), topic: topic))
    }

    private func see(_ id: String, _ distance: Double, at now: Int64) throws -> [BeaconEffect] {
        var effects: [BeaconEffect] = []
        let sighting = Sighting(beacon: try #require(identity.key), distance: distance)
        let tally = beacons.receive([sighting], at: nil, by: try observer(id), now: now, into: &effects)
        #expect(tally.taken == 1)
        return effects
    }

    private func events(_ effects: [BeaconEffect]) -> [String] {
        effects.compactMap { effect in
            guard case .event(let record) = effect else { return nil }
            return (try? JSONValue.parse(record.body))?["event"]?.text
        }
    }

    @Test("A sighting is shown to the engine and then reported to monitors, and both end when nothing more is seen")
    func sighting() throws {
        add("beacon", 0) { $0.beacon = identity }
        add("phone", 1)
        let monitor = BeaconMonitorRecord(
            dataset: "d", client: "c", id: "m", proximityUUID: Sample.uuid, major: nil, minor: nil, createdAt: 0)
        beacons.monitors.insert(try #require(BeaconMonitor(monitor)))
        var effects = try see("phone", 2, at: 1000)
        let (beacon, phone) = (DeviceRef(index: 0), DeviceRef(index: 1))
        #expect(effects.first == .seen(DeviceSighting(beacon: beacon, observer: phone, distance: 2, seenAt: 1000)))
        #expect(events(effects) == ["entered"] && effects.count == 2)
        effects = []
        beacons.advanceMonitors(to: 31_000, into: &effects)
        #expect(events(effects) == ["exited"])
        effects = []
        beacons.expire(at: 92_000, into: &effects)
        #expect(effects == [.lost(beacon: beacon, observer: phone)])
        #expect(beacons.removeBehind().map(\.id) == ["phone"])
    }

    @Test("A carried beacon is located by its gateways, once a second at most")
    func carried() throws {
        add("tag", 0) { $0.carries = identity }
        add("gateway", 1)
        let key = try #require(identity.key)
        #expect(try see("gateway", 3, at: 1000) == [])
        let room = beacons.rooms.number(of: ["v", "b", "1", "one"])
        let place = GatewayPlace(asOf: (0, 0), position: Position(latitude: 43.73, longitude: 7.42), room: room)
        #expect(beacons.removeSeenCarried() == [key])
        let location = beacons.locate(key, at: 1000, outlines: nil) { _ in place }
        #expect(location?.device.record.id == "tag" && location?.room == ["v", "b", "1", "one"])
        #expect(location?.gateway == "gateway" && location?.position.latitude == 43.73)
        _ = try see("gateway", 3, at: 1500)
        #expect(beacons.removeSeenCarried() == [key])
        #expect(beacons.locate(key, at: 1500, outlines: nil) { _ in place } == nil)
        #expect(beacons.removeSeenCarried() == [key])
    }

    @Test("What a live message reports is seen again after a restart")
    func restart() throws {
        add("beacon", 0) { $0.beacon = identity }
        add("phone", 1)
        _ = try see("phone", 2, at: 1000)
        var writer = JSONWriter()
        #expect(beacons.encode(try observer("phone"), extras: [], at: 2000, into: &writer) == 1000)
        let restarted = Beacons(devices, Shared())
        for device in devices.all { _ = restarted.insert(device) }
        let topic = "d/-/-/-/-/phone/proximity"
        let state = LiveState(dataset: dataset, live: try LiveTopic(encoded: topic), topic: topic)
        state.receivedAt = 2000
        state.payload = Array(#"{"properties":"#.utf8) + writer.bytes + Array("}".utf8)
        let restored = restarted.restore(state, at: 2000)
        #expect(restored.map(\.seenAt) == [1000] && restored.first?.distance == 2)
    }
}
