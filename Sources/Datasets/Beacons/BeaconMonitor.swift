import LiveTopics
import Ranging
import Records

/// A monitor and who is in its region.
final class BeaconMonitor {
    let record: BeaconMonitorRecord
    let region: BeaconRegion
    let recipient: Recipient
    var presence = RegionPresence<ByteKey>()
    /// Nobody has looked yet who is in the region.
    var isUnexamined = true

    /// nil: the record is not what this program wrote.
    init?(_ record: BeaconMonitorRecord) {
        let key = BeaconIdentity(proximityUUID: record.proximityUUID, major: record.major ?? 0, minor: record.minor ?? 0).key
        guard let key else { return nil }
        self.record = record
        region = BeaconRegion(
            uuid: key, major: record.major == nil ? nil : key.major, minor: record.minor == nil ? nil : key.minor)
        recipient = Recipient(record.dataset, record.client, .beacon, record.id)
    }
}

/// The monitors of a dataset, by client and id and by the UUID they are about.
struct BeaconMonitors {
    private var all = ByteKeyed<BeaconMonitor>()
    private var byUUID: [BeaconKey: [BeaconMonitor]] = [:]
    private var counts: [String: Int] = [:]
    /// What there was before a rebuilding from the store: who is in a region stays in it.
    private var former: ByteKeyed<BeaconMonitor>?
    private var ordered: [BeaconMonitor]?

    var isEmpty: Bool { all.isEmpty }

    /// Clients' names have no slash.
    private static func key(_ client: String, _ id: String) -> String { "\(client)/\(id)" }

    subscript(client: String, id: String) -> BeaconMonitor? { all[Self.key(client, id)] }

    func count(of client: String) -> Int { counts[client] ?? 0 }

    /// In no order; none where there are too many to look for one.
    func ids(of client: String) -> [String] {
        guard all.count <= Call.nearMax else { return [] }
        return all.keys.compactMap { all[$0]?.record }.filter { $0.client == client }.map(\.id)
    }

    /// Those that may be about a beacon.
    func about(_ beacon: BeaconKey) -> [BeaconMonitor] {
        byUUID.isEmpty ? [] : byUUID[BeaconRegion(uuid: beacon).uuid] ?? []
    }

    /// In the order of clients and ids.
    mutating func inOrder() -> [BeaconMonitor] {
        if let ordered { return ordered }
        let sorted = all.keys.sorted { ByteKey($0) < ByteKey($1) }.compactMap { all[$0] }
        ordered = sorted
        return sorted
    }

    mutating func insert(_ monitor: BeaconMonitor) {
        remove(client: monitor.record.client, id: monitor.record.id)
        let key = Self.key(monitor.record.client, monitor.record.id)
        if let known = former?[key], known.record == monitor.record {
            monitor.presence = known.presence
            monitor.isUnexamined = known.isUnexamined
        }
        all[key] = monitor
        byUUID[monitor.region.uuid, default: []].append(monitor)
        counts[monitor.record.client, default: 0] += 1
        ordered = nil
    }

    mutating func remove(client: String, id: String) {
        guard let monitor = all.removeValue(forKey: Self.key(client, id)) else { return }
        byUUID[monitor.region.uuid]?.removeAll { $0 === monitor }
        if byUUID[monitor.region.uuid]?.isEmpty == true { byUUID[monitor.region.uuid] = nil }
        counts[client, default: 1] -= 1
        if counts[client] == 0 { counts[client] = nil }
        ordered = nil
    }

    /// Before the store gives the monitors back.
    mutating func reset() {
        former = all
        all.removeAll()
        byUUID.removeAll()
        counts.removeAll()
        ordered = nil
    }

    mutating func endReset() { former = nil }
}
