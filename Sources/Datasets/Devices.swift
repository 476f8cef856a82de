import Matching
import Records

/// The devices of a dataset, by id and by the engine's references, which are dense and reused.
final class Devices {
    private var byID = ByteKeyed<Device>()
    private var byReference: [Device?] = []
    private var order = SortedIDs()
    private struct Group: Hashable {
        var name: String
        var owner: String?
    }
    /// How many devices each has.
    private var groups: [Group: Int] = [:]
    /// How many each client holds.
    private(set) var held = Holdings()
    /// Where they are is shown to their owners and administrators only.
    var isPrivate = false {
        didSet { endValidity() }
    }
    /// Of what doors keep of any of them.
    private var validity = Validity()
    private let isAdministrator: (String) -> Bool
    private let reads: (String) -> LiveReach

    init(
        isAdministrator: @escaping (String) -> Bool = { _ in false }, reads: @escaping (String) -> LiveReach = { _ in .all }
    ) {
        self.isAdministrator = isAdministrator
        self.reads = reads
    }

    var count: Int { byID.count }
    var isEmpty: Bool { byID.isEmpty }
    /// In no order.
    var keys: some Collection<String> { byID.keys }
    /// In the order of their references.
    var all: some Sequence<Device> { byReference.lazy.compactMap { $0 } }

    /// Behind the references of all.
    var referenceEnd: UInt32 { UInt32(truncatingIfNeeded: byReference.count) }

    subscript(id: String) -> Device? { byID[id] }

    subscript(reference: UInt32) -> Device? { Int(reference) < byReference.count ? byReference[Int(reference)] : nil }

    /// Whether a client's devices, or those without an owner, have a group.
    func hasGroup(_ name: String, of client: String) -> Bool {
        groups[Group(name: name, owner: client)] != nil || groups[Group(name: name, owner: nil)] != nil
    }

    private func countGroups(of record: DeviceRecord, by step: Int) {
        for name in record.group {
            let group = Group(name: name, owner: record.owner)
            let count = groups[group, default: 0] + step
            groups[group] = count > 0 ? count : nil
        }
    }

    /// A device has another record from now on.
    func change(_ device: Device, to record: DeviceRecord) {
        countGroups(of: device.record, by: -1)
        device.record = record
        countGroups(of: record, by: 1)
    }

    /// So many ids behind one, in order.
    func ids(after id: String?, count: Int) -> [String] { order.ids(after: id, count: count) }

    /// Whether it is kept from a client where a device is; nil is nobody, and no device.
    func hides(_ device: Device?, from client: String?) -> Bool {
        guard isPrivate else { return false }
        guard let device, let client else { return true }
        return device.record.owner != client && !isAdministrator(client)
    }

    /// Whether what a client has may be about a device: one of its own, or of nobody's; an administrator's may be about any.
    func reaches(_ device: Device, by client: String?) -> Bool {
        guard let owner = device.record.owner else { return true }
        return owner == client || client.map(isAdministrator) ?? false
    }

    /// Whether a client may know where a device is that it reaches: its own, and without an owner where such live data is for it.
    func mayLocate(_ device: Device, by client: String) -> Bool {
        if device.record.owner == client || isAdministrator(client) { return true }
        return !isPrivate && reads(client).includes(device.record.id, for: client)
    }

    /// Holds until a list of the device's matches may show something else.
    func validity(of device: Device) -> Validity {
        if let validity = device.validity, validity.holds { return validity }
        let new = Validity(within: validity)
        device.validity = new
        return new
    }

    private func endValidity() {
        validity.end()
        validity = Validity()
    }

    func insert(_ device: Device) {
        byID[device.record.id] = device
        held.count(device.record.owner, by: 1)
        order.insert(device.record.id)
        countGroups(of: device.record, by: 1)
        byReference.place(device, at: device.reference.index)
        // Whose the others are decides which positions a list shows.
        if isPrivate { endValidity() }
    }

    func remove(_ device: Device) {
        byID[device.record.id] = nil
        order.remove(device.record.id)
        countGroups(of: device.record, by: -1)
        held.count(device.record.owner, by: -1)
        byReference[Int(device.reference.index)] = nil
        device.validity?.end()
        if isPrivate { endValidity() }
    }

    func removeAll() {
        byID.removeAll()
        held = Holdings()
        order = SortedIDs()
        groups.removeAll()
        byReference.removeAll()
        endValidity()
    }
}

extension Array {
    /// Stores at an index beyond the end, filling up with nil.
    mutating func place<Wrapped>(_ element: Wrapped, at index: UInt32) where Element == Wrapped? {
        while count <= Int(index) { append(nil) }
        self[Int(index)] = element
    }
}
