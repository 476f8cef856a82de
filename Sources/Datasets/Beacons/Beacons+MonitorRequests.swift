import Ranging
import Wire
import Records

// beacon/monitor · unmonitor, and the events they ask for.

extension Beacons {
    func monitor(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let parameters = call.parameters
        let id = try parameters.id("id")
        let uuid = try parameters.proximityUUID()
        let part = 0...65_535
        let record = BeaconMonitorRecord(
            dataset: call.dataset.id, client: call.client.name, id: id, proximityUUID: uuid,
            major: try parameters.optionalInteger("major", in: part), minor: try parameters.optionalInteger("minor", in: part),
            devices: try parameters.optionalStrings("devices", count: 1...1000), createdAt: call.now)
        if record.minor != nil, record.major == nil { throw parameters.error("minor", "needs a `major`") }
        try call.checkFollowed(record.devices ?? [], by: record.client)
        let known = monitors[record.client, id]
        if known == nil, monitors.count(of: record.client) >= limits.beaconMonitors {
            throw WireError(.limit, "a client has \(limits.beaconMonitors) monitors, the maximum")
        }
        guard let monitor = BeaconMonitor(record) else { throw parameters.error("proximityUUID", "must be a UUID") }
        monitors.insert(monitor)
        turn.keep(.put(record))
        return describe(monitor)
    }

    func unmonitor(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let id = try call.parameters.id("id")
        let client = call.client.name
        guard monitors[client, id] != nil else {
            throw call.absent("monitor", id, " of `\(client)`", of: monitors.ids(of: client)) { _ in nil }
        }
        end(id, of: client, in: call.dataset.id, &turn)
        return deleted(id)
    }

    private func end(_ id: String, of client: String, in dataset: String, _ turn: inout Turn) {
        monitors.remove(client: client, id: id)
        turn.keep(.deleteBeaconMonitor(dataset: dataset, client: client, id: id))
    }

    /// Access has changed, or monitors are back: those of clients that may not name the dataset any more end.
    func reviewAccess(_ turn: inout Turn) {
        guard !monitors.isEmpty else { return }
        for record in monitors.inOrder().map(\.record) where !shared.configuration.mayName(record.dataset, record.client) {
            end(record.id, of: record.client, in: record.dataset, &turn)
        }
    }

    private func describe(_ monitor: BeaconMonitor) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("id", monitor.record.id)
            writer.member("topic", shared.naming.name(of: monitor.recipient))
            monitor.record.encodeRegion(into: &writer)
            if let devices = monitor.record.devices { writer.member("devices", devices) }
            writer.member("createdAt", monitor.record.createdAt)
        }
    }

    func restore(_ record: BeaconMonitorRecord) {
        if let monitor = BeaconMonitor(record) { monitors.insert(monitor) }
    }
}
