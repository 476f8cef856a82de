import DequeModule
import Geofencing
import Records

/// The geofences of one dataset, and who is inside.
///
/// It owns the engine and the ids of visits. What it finds leaves as durable changes of the turn, as events in the outbox and as
/// live states of presence.
final class Geofences {
    let dataset: String
    let devices: Devices
    let places: PlaceBook
    let structure: StructureBook
    let shared: Shared
    let account: MatchAccount
    var engine = GeofenceEngine()
    var effects: [FenceEffect] = []
    /// What is still to be reported, in order: a fence over a million devices must not keep others waiting.
    private(set) var backlog = Deque<(effect: FenceEffect, geofence: Geofence, device: Device)>()
    /// Those that became larger or smaller, while the presence of some inside may name another as the smallest.
    var resized = Deque<Geofence>()
    /// The engine knows the devices: it does from the first geofence on, so that a dataset without them pays nothing.
    var isActive = false
    /// Those it does not know yet, or has not looked at since there is another geofence about very many; nil: there are none.
    var enrolment: Enrolment?
    /// Its dataset was restored, and nothing is evaluated before all of it is back.
    var isRestoring = false
    private var byPath = ByteKeyed<Geofence>()
    private var byNumber: [Geofence?] = []
    private var free: [Int32] = []
    /// How many each client has.
    private var counts: [String: Int] = [:]
    /// The ids of visits, by geofence and device.
    private var visitIDs: [UInt64: String] = [:]
    /// Those that follow places, the structure, and devices, by what they follow.
    private var followers = ByteKeyed<Set<Int32>>()
    private var structural: Set<Int32> = []
    /// What there was before a rebuilding from the store: messages on their way count for them.
    private var former = ByteKeyed<Geofence>()
    /// The paths of those that were there before a rebuilding: memory knows their counters better, which may be others than those that
    /// are durable.
    private var kept = ByteKeyed<Bool>()

    init(
        _ dataset: String, _ devices: Devices, _ places: PlaceBook, _ structure: StructureBook, _ account: MatchAccount,
        _ shared: Shared
    ) {
        self.dataset = dataset
        self.devices = devices
        self.places = places
        self.structure = structure
        self.account = account
        self.shared = shared
        engine.lookedAtOnce = shared.limits.portion
    }

    var count: Int { byPath.count }
    var isEmpty: Bool { byPath.isEmpty }

    func count(of client: String) -> Int { counts[client] ?? 0 }

    subscript(owner: String, id: String) -> Geofence? { byPath[GeofenceRecord.path(owner, id)] }
    subscript(path path: String) -> Geofence? { byPath[path] }
    subscript(number: Int32) -> Geofence? { Int(number) < byNumber.count ? byNumber[Int(number)] : nil }

    /// In no order; none where there are too many to look for one.
    func ids(of client: String) -> [String] {
        guard count <= Call.nearMax else { return [] }
        return all.filter { $0.record.owner == client }.map(\.record.id)
    }

    var all: [Geofence] { byPath.keys.compactMap { byPath[$0] } }

    // MARK: Coming and going

    /// A geofence under a number of its own; the one of its path becomes this one.
    func make(_ record: GeofenceRecord, _ area: GeofenceArea, pushers: [Pusher]) -> Geofence {
        if let known = byPath[record.path] {
            var record = record
            if kept[record.path] != nil { record.delivery = known.record.delivery }
            change(known, to: record, area, pushers: pushers)
            return known
        }
        let geofence = remake(record, area, pushers: pushers) ?? Geofence(record, area, pushers: pushers, number: freeNumber())
        byPath[record.path] = geofence
        byNumber[Int(geofence.number)] = geofence
        counts[record.owner, default: 0] += 1
        follow(geofence)
        return geofence
    }

    /// The one that was there before a rebuilding: memory knows its counters better.
    private func remake(_ record: GeofenceRecord, _ area: GeofenceArea, pushers: [Pusher]) -> Geofence? {
        guard let known = former.removeValue(forKey: record.path) else { return nil }
        kept[record.path] = known.record.delivery != record.delivery
        var record = record
        record.delivery = known.record.delivery
        (known.record, known.area, known.pushers) = (record, area, pushers)
        return known
    }

    private func freeNumber() -> Int32 {
        if let number = free.popLast() { return number }
        byNumber.append(nil)
        return Int32(truncatingIfNeeded: byNumber.count - 1)
    }

    /// Another area, name or rule.
    func change(_ geofence: Geofence, to record: GeofenceRecord, _ area: GeofenceArea, pushers: [Pusher]) {
        unfollow(geofence)
        geofence.record = record
        geofence.area = area
        geofence.pushers = pushers
        follow(geofence)
    }

    /// Forgets what the engine has let go of.
    func forget(_ geofence: Geofence) {
        unfollow(geofence)
        geofence.isGone = true
        byPath[geofence.record.path] = nil
        byNumber[Int(geofence.number)] = nil
        free.append(geofence.number)
        let left = count(of: geofence.record.owner) - 1
        counts[geofence.record.owner] = left > 0 ? left : nil
    }

    /// Before the store gives everything back.
    func reset() {
        former = byPath
        kept.removeAll()
        engine = GeofenceEngine()
        engine.lookedAtOnce = shared.limits.portion
        effects = []
        backlog.removeAll()
        for geofence in resized { geofence.presencesLeft = nil }
        resized.removeAll()
        isActive = false
        enrolment = nil
        let taken = Set(former.keys.compactMap { former[$0]?.number })
        free = byNumber.indices.reversed().map { Int32(truncatingIfNeeded: $0) }.filter { !taken.contains($0) }
        byPath.removeAll()
        byNumber = byNumber.map { _ in nil }
        counts = [:]
        visitIDs = [:]
        followers.removeAll()
        structural = []
    }

    /// - Returns: Delivery counters that are others than those that are durable.
    func endReset() -> [DurableChange] {
        for path in former.keys {
            guard let gone = former[path] else { continue }
            gone.isGone = true
            free.append(gone.number)
        }
        former.removeAll()
        defer { kept.removeAll() }
        return kept.keys.compactMap { path in
            guard kept[path] == true, let geofence = byPath[path] else { return nil }
            return geofence.deliveryChange
        }
    }

    /// Counters that the store gives back; where memory knows them better, it does.
    func restore(_ amendment: any RecordAmendment) {
        guard let delivery = (amendment as? GeofenceDeliveryAmendment)?.delivery else { return }
        let path = amendment.key.id
        guard kept[path] == nil else {
            kept[path] = true
            return
        }
        byPath[path]?.record.delivery = delivery
    }

    // MARK: What they follow

    private func follow(_ geofence: Geofence) {
        switch geofence.area {
        case .fixed: break
        case .place(let id): followers[Self.placeKey(id), or: []].insert(geofence.number)
        case .around(let device, _): followers[Self.deviceKey(device), or: []].insert(geofence.number)
        case .structure: structural.insert(geofence.number)
        }
    }

    private func unfollow(_ geofence: Geofence) {
        switch geofence.area {
        case .fixed: break
        case .place(let id): followers[Self.placeKey(id), or: []].remove(geofence.number)
        case .around(let device, _): followers[Self.deviceKey(device), or: []].remove(geofence.number)
        case .structure: structural.remove(geofence.number)
        }
    }

    private static func placeKey(_ id: String) -> String { "p\(id)" }
    private static func deviceKey(_ id: String) -> String { "d\(id)" }

    func following(place id: String) -> [Geofence] { sorted(followers.isEmpty ? nil : followers[Self.placeKey(id)]) }
    func following(device id: String) -> [Geofence] { sorted(followers.isEmpty ? nil : followers[Self.deviceKey(id)]) }
    var followingStructure: [Geofence] { sorted(structural) }

    private func sorted(_ numbers: Set<Int32>?) -> [Geofence] { (numbers ?? []).sorted().compactMap { self[$0] } }

    // MARK: Reporting

    /// Puts the engine's effects behind what is still to be reported.
    func queueEffects() {
        for effect in effects {
            guard let geofence = self[effect.fence], let device = devices[effect.device] else { continue }
            backlog.append((effect, geofence, device))
        }
        effects.removeAll(keepingCapacity: true)
    }

    func nextEffect() -> (effect: FenceEffect, geofence: Geofence, device: Device)? { backlog.popFirst() }

    // MARK: Visits

    private static func key(_ number: Int32, _ device: UInt32) -> UInt64 {
        UInt64(UInt32(bitPattern: number)) << 32 | UInt64(device)
    }

    func begin(_ id: String, _ number: Int32, _ device: UInt32) { visitIDs[Self.key(number, device)] = id }
    func visitID(_ number: Int32, _ device: UInt32) -> String? { visitIDs[Self.key(number, device)] }
    func end(_ number: Int32, _ device: UInt32) -> String? { visitIDs.removeValue(forKey: Self.key(number, device)) }

    /// The geofences that a device is inside of, in the order of their paths.
    func geofences(of device: UInt32) -> [Geofence] {
        engine.visits(of: device).compactMap { self[$0.fence] }.sorted { ByteKey($0.record.path) < ByteKey($1.record.path) }
    }

    /// A device exists from now on.
    func insert(_ device: Device) {
        _ = enrolment?.enrol(device.reference.index)
        if isActive { engine.restore(device.reference.index, device.fenceIdentity, nil) }
    }

    /// Forgets a device without reporting it.
    func forget(device: UInt32) {
        guard isActive else { return }
        for visit in engine.visits(of: device) { _ = end(visit.fence, device) }
        var unreported: [FenceEffect] = []
        engine.remove(device, at: 0, into: &unreported)
        for case .exited(let fence, let member, _, _, _, _) in unreported { _ = end(fence, member) }
    }

    /// Forgets a geofence without reporting it.
    func remove(_ geofence: Geofence) {
        var unreported: [FenceEffect] = []
        engine.remove(geofence.number, into: &unreported)
        for case .exited(let fence, let member, _, _, _, _) in unreported { _ = end(fence, member) }
        forget(geofence)
    }
}
