import Matching
import Ranging
import Records
import Wire

/// How far a device sees a beacon that is a device, too.
struct DeviceSighting: Equatable {
    var beacon: DeviceRef
    var observer: DeviceRef
    /// Metres; nil: nothing was measured yet.
    var distance: Double?
    /// Milliseconds since 1970 UTC.
    var seenAt: Int64
}

/// What follows from sightings outside of the beacons themselves.
enum BeaconEffect: Equatable {
    case seen(DeviceSighting)
    case lost(beacon: DeviceRef, observer: DeviceRef)
    /// A client is notified; number and id are given when it is sent.
    case event(EventRecord)
}

/// Beacons by radio in one dataset: which observers see them, which devices are or carry them, and which clients monitor them.
///
/// It outlives a reload of its dataset, as live state does: nothing of it but the monitors is durable by itself.
final class Beacons {
    let table = ProximityTable()
    var monitors = BeaconMonitors()
    /// Which device has which identity.
    private(set) var holders: [BeaconKey: String] = [:]
    /// Which device carries which beacon.
    private(set) var carriers: [BeaconKey: String] = [:]
    /// By the beacon that is carried.
    var carried: [BeaconKey: CarriedBeacon] = [:]
    /// Those that were seen since they were last located, in the order they were.
    var seenCarried: [BeaconKey] = []
    var rooms = GatewayRooms()
    private var numbers = BeaconNumbers()
    private var observers = ByteKeyed<Observer>()
    private var byNumber: [Observer?] = []
    private var freeNumbers: [UInt32] = []
    /// Observers whose live message is behind, in order.
    private var behind: [Observer] = []
    let devices: Devices
    let shared: Shared
    var limits: HubLimits { shared.limits }
    var parser: JSONParser { shared.parser }

    init(_ devices: Devices, _ shared: Shared) {
        self.devices = devices
        self.shared = shared
    }

    // MARK: Observers

    /// The observer that a live topic speaks for: the device of its `location`, else whatever the topic is about.
    func observer(of state: LiveState) -> Observer {
        let key = Self.key(of: state)
        if let known = observers[key] { return known }
        let number = freeNumbers.popLast() ?? UInt32(truncatingIfNeeded: byNumber.count)
        let observer = Observer(number: number, key: key, id: state.itemID)
        byNumber.place(observer, at: number)
        observers[key] = observer
        return observer
    }

    func knownObserver(of state: LiveState) -> Observer? { observers[Self.key(of: state)] }

    /// By their numbers.
    var allObservers: [Observer] { byNumber.compactMap { $0 } }

    func observer(_ number: UInt32) -> Observer? { Int(number) < byNumber.count ? byNumber[Int(number)] : nil }

    /// Removes an observer that sees nothing.
    func forget(_ observer: Observer) {
        observers[observer.key] = nil
        byNumber[Int(observer.number)] = nil
        freeNumbers.append(observer.number)
        behind.removeAll { $0 === observer }
    }

    private static func key(of state: LiveState) -> String { state.hasLocation ? "d\(state.itemID)" : "t\(state.topic)" }

    func settings(of observer: Observer) -> RangingSettings { devices[observer.id]?.record.ranging ?? .standard }

    // MARK: Live messages

    /// Its live message is behind.
    func note(_ observer: Observer) {
        guard !observer.isBehind else { return }
        observer.isBehind = true
        behind.append(observer)
    }

    /// The observers whose live message is behind, in order; see ``isDue(_:at:)``.
    func removeBehind() -> [Observer] {
        guard !behind.isEmpty else { return [] }
        defer { behind.removeAll() }
        return behind
    }

    /// Whether the live message of an observer that was behind may be sent now; else it stays behind.
    func isDue(_ observer: Observer, at now: Int64) -> Bool {
        observer.isBehind = false
        let isDue = observer.mayReport(at: now)
        if !isDue { note(observer) }
        return isDue
    }

    /// The live messages of those that see a beacon name the device no longer.
    func noteObservers(of record: DeviceRecord) {
        guard let number = record.beacon?.key.flatMap(knownNumber) else { return }
        for fact in table.facts(ofBeacon: number) {
            if let observer = observer(fact.observer) { note(observer) }
        }
    }

    // MARK: Beacons

    func number(of beacon: BeaconKey) -> UInt32 { numbers.number(of: beacon) }

    func knownNumber(of beacon: BeaconKey) -> UInt32? { numbers.knownNumber(of: beacon) }

    func beacon(_ number: UInt32) -> BeaconKey { numbers[number] }

    /// Frees the number of a beacon that nobody sees.
    func releaseIfUnseen(_ number: UInt32) {
        if !table.isSeen(number) { numbers.release(number) }
    }

    // MARK: Devices

    /// A device exists from now on.
    ///
    /// - Returns: What it is seen by, if it is a beacon, and what it sees.
    func insert(_ device: Device) -> [DeviceSighting] {
        let record = device.record
        if let key = record.beacon?.key { holders[key] = record.id }
        if let key = record.carries?.key { carriers[key] = record.id }
        guard table.count > 0 else { return [] }
        var facts: [ProximityTable.Fact] = []
        if let number = record.beacon?.key.flatMap(knownNumber) { facts += table.facts(ofBeacon: number) }
        if let observer = observers["d\(record.id)"] { facts += table.facts(of: observer.number) }
        return facts.compactMap(sighting)
    }

    /// A device has another record by now.
    func change(_ former: DeviceRecord, to record: DeviceRecord) {
        guard former.carries != record.carries else { return }
        uncarry(former)
        if let carried = record.carries?.key { carriers[carried] = record.id }
    }

    func remove(_ record: DeviceRecord) {
        if let key = record.beacon?.key, holders[key]?.hasSameBytes(as: record.id) == true { holders[key] = nil }
        uncarry(record)
    }

    private func uncarry(_ record: DeviceRecord) {
        guard let key = record.carries?.key, carriers[key]?.hasSameBytes(as: record.id) == true else { return }
        carriers[key] = nil
        carried[key] = nil
    }

    /// Before the store gives devices and monitors back.
    func reset() {
        holders.removeAll()
        carriers.removeAll()
        monitors.reset()
    }

    /// What one device sees of another; nil where one of the two is no device.
    func sighting(_ fact: ProximityTable.Fact) -> DeviceSighting? {
        guard let beacon = holders[beacon(fact.beacon)].flatMap({ devices[$0] }),
            let observer = observer(fact.observer).flatMap({ devices[$0.id] })
        else { return nil }
        return DeviceSighting(
            beacon: beacon.reference, observer: observer.reference, distance: fact.distance, seenAt: fact.seenAt)
    }
}

/// Beacons as dense numbers, for as long as somebody sees them.
private struct BeaconNumbers {
    private var numbers: [BeaconKey: UInt32] = [:]
    private var keys: [BeaconKey] = []
    private var free: [UInt32] = []

    subscript(number: UInt32) -> BeaconKey { keys[Int(number)] }

    func knownNumber(of key: BeaconKey) -> UInt32? { numbers[key] }

    mutating func number(of key: BeaconKey) -> UInt32 {
        if let known = numbers[key] { return known }
        let number = free.popLast() ?? UInt32(truncatingIfNeeded: keys.count)
        if Int(number) < keys.count { keys[Int(number)] = key } else { keys.append(key) }
        numbers[key] = number
        return number
    }

    mutating func release(_ number: UInt32) {
        guard numbers.removeValue(forKey: keys[Int(number)]) != nil else { return }
        free.append(number)
    }
}
