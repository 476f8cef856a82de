import Geodesy
import Matching
import Selectors
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Geomatching, without a hub")
struct GeomatchingTests {
    private let shared = Shared()
    private let devices = Devices()
    private let account = MatchAccount(Diagnostics(of: "d"))
    private let geomatching: Geomatching
    private let pin: Device
    private let phone: Device
    private var turn = Turn(at: 0, seed: (1, 2))

    init() {
        geomatching = Geomatching("d", devices, account, shared)
        func device(_ id: String, _ type: DeviceType, _ engine: Engine) -> Device {
            let record = DeviceRecord(
                dataset: "d", id: id, type: type, owner: nil, createdAt: 0, updatedAt: 0, revision: "")
            return Device(record, reference: engine.addDevice(isFixed: type == .pin))
        }
        pin = device("pin", .pin, geomatching.engine)
        phone = device("phone", .mobile, geomatching.engine)
        devices.insert(pin)
        devices.insert(phone)
    }

    private func position(_ metres: Double) -> Position { Position(latitude: 43.73 + metres / 111_100, longitude: 7.42) }

    private mutating func makePair(_ change: (inout SubscriptionRecord) -> Void = { _ in }) throws {
        geomatching.move(pin, to: position(0), &turn)
        let publication = PublicationRecord(
            dataset: "d", id: "p", deviceId: "pin", topic: "coffee", range: 50, duration: 60, properties: "{}", owner: "c",
            createdAt: 0, updatedAt: 0, revision: "")
        geomatching.add(publication, try PropertiesCoding.decode(text: "{}"), on: pin, &turn)
        var subscription = SubscriptionRecord(
            dataset: "d", id: "s", deviceId: "phone", topic: "coffee", range: 50, duration: 60, owner: "c", createdAt: 0,
            updatedAt: 0, revision: "")
        change(&subscription)
        _ = geomatching.add(subscription, try Selector(checking: ""), [], on: phone, &turn)
    }

    /// Which kinds were made durable since the last time.
    private mutating func kept() -> [Kind] {
        defer { turn.effects.removeAll() }
        return turn.effects.changes.compactMap(\.kind)
    }

    @Test("What meets is made durable as a pair and a match, which waits in the outbox")
    mutating func matches() throws {
        try makePair()
        #expect(kept() == [.publication, .subscription])
        let isFirst = geomatching.note(Move(device: phone.reference, position: position(90), floor: .unknown))
        geomatching.reportMoves(&turn)
        #expect(isFirst && kept() == [.pair, .match])
        #expect(shared.outbox.pending.count == 1 && account.counters.matched == 1 && phone.matches == [1])
        #expect(geomatching.publications(of: pin).map(\.record.id) == ["p"])
    }

    @Test("A visit begins and ends once, and what expires is deleted and remembered for a day")
    mutating func visits() throws {
        try makePair { $0.mode = .visit }
        _ = kept()
        geomatching.move(phone, to: position(10), &turn)
        #expect(kept() == [.visit, .match])
        turn.now = 1000
        geomatching.move(phone, to: position(10_000), &turn)
        #expect(kept() == [.visit, .match])
        turn.now = 60_000
        geomatching.advance(&turn)
        #expect(kept() == [.publication, .subscription] || geomatching.publications.isEmpty)
        #expect(geomatching.subscriptions.isEmpty && geomatching.ended.publications["p"]?.at == 60_000)
        geomatching.forgetEnded(at: 60_000 + 86_400_000)
        #expect(geomatching.ended.publications.count == 0)
    }

    @Test("What is restored is evaluated only once it is resumed, and a restored visit does not begin again")
    mutating func restores() throws {
        try makePair { $0.mode = .visit }
        let publication = try #require(geomatching.publications["p"]?.record)
        let subscription = try #require(geomatching.subscriptions["s"]?.record)
        let restored = geomatching.emptied()
        devices.removeAll()
        for device in [pin, phone] {
            devices.insert(Device(device.record, reference: restored.engine.addDevice(isFixed: device === pin)))
            restored.engine.place(try #require(devices[device.record.id]).reference, at: position(0), heardAt: 0)
        }
        _ = kept()
        try restored.restore(publication, at: 0)
        try restored.restore(subscription, at: 0)
        restored.restore(
            VisitRecord(dataset: "d", subscriptionId: "s", publicationId: "p", id: "v", since: 0), at: 0)
        restored.resume(beacons: [], &turn)
        #expect(kept().isEmpty && restored.subscriptions["s"]?.visits.values.map(\.self) == ["v"])
        restored.endVisits(of: try #require(devices["phone"]), &turn)
        #expect(kept() == [.visit, .match])
    }
}
