import Ranging
import Records

/// What a dataset knows of beacons by radio: who sees which, who carries them about, and who wants to hear of it.
///
/// It outlives a rebuilding of the dataset from the store, as live state does: nothing of it but the monitors is durable by itself.
final class BeaconField {
    let table = ProximityTable()
    private(set) var beacons = BeaconNumbers()
    private var observers = ByteKeyed<Observer>()
    private var byNumber: [Observer?] = []
    private var freeNumbers: [UInt32] = []
    var monitors = BeaconMonitors()
    /// By the beacon that is carried.
    var carried: [BeaconKey: CarriedBeacon] = [:]
    /// Those that were seen since they were last located, in the order they were.
    var seenCarried: [BeaconKey] = []
    /// Observers whose live message is behind, in order.
    var untold: [Observer] = []
    var rooms = GatewayRooms()

    /// The observer that a live topic speaks for: the device of its `location`, else whatever the topic is about.
    func observer(of state: LiveState) -> Observer {
        let key = Self.key(of: state)
        if let known = observers[key] { return known }
        let number = freeNumbers.popLast() ?? UInt32(truncatingIfNeeded: byNumber.count)
        let observer = Observer(number: number, key: key, id: state.itemID)
        if Int(number) < byNumber.count { byNumber[Int(number)] = observer } else { byNumber.append(observer) }
        observers[key] = observer
        return observer
    }

    func knownObserver(of state: LiveState) -> Observer? { observers[Self.key(of: state)] }

    /// The observer that is the device of this id.
    func observer(device id: String) -> Observer? { observers["d\(id)"] }

    /// By their numbers.
    var allObservers: [Observer] { byNumber.compactMap { $0 } }

    func observer(_ number: UInt32) -> Observer? { Int(number) < byNumber.count ? byNumber[Int(number)] : nil }

    /// Lets go of an observer that sees nothing.
    func forget(_ observer: Observer) {
        observers[observer.key] = nil
        byNumber[Int(observer.number)] = nil
        freeNumbers.append(observer.number)
        untold.removeAll { $0 === observer }
    }

    private static func key(of state: LiveState) -> String { state.hasLocation ? "d\(state.itemID)" : "t\(state.topic)" }

    // MARK: Beacons

    func number(of beacon: BeaconKey) -> UInt32 { beacons.number(of: beacon) }

    func knownNumber(of beacon: BeaconKey) -> UInt32? { beacons.knownNumber(of: beacon) }

    func beacon(_ number: UInt32) -> BeaconKey { beacons[number] }

    /// Frees the number of a beacon that nobody sees.
    func releaseIfUnseen(_ number: UInt32) {
        if !table.isSeen(number) { beacons.release(number) }
    }

    /// Its live message is to be told anew.
    func note(_ observer: Observer) {
        guard !observer.isUntold else { return }
        observer.isUntold = true
        untold.append(observer)
    }
}

/// Beacons as dense numbers, for as long as somebody sees them.
struct BeaconNumbers {
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
