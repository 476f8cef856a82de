import Ranging
import Wire
import Records

// beacon/monitor · unmonitor, and the events they ask for.

extension Hub {
    func monitorBeacons(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let parameters = call.parameters
        let dataset = call.dataset
        let id = try parameters.id("id")
        let uuid = try parameters.proximityUUID()
        let part = 0...65_535
        let record = BeaconMonitorRecord(
            dataset: dataset.id, client: call.client.name, id: id, proximityUUID: uuid,
            major: try parameters.optionalInteger("major", in: part), minor: try parameters.optionalInteger("minor", in: part),
            devices: try parameters.optionalStrings("devices", count: 1...1000), createdAt: call.now)
        if record.minor != nil, record.major == nil { throw parameters.error("minor", "needs a `major`") }
        try checkDevices(record.devices, call)
        let known = dataset.beaconField.monitors[record.client, id]
        if known == nil, dataset.beaconField.monitors.count(of: record.client) >= configuration.limits.beaconMonitors {
            throw WireError(.limit, "a client has \(configuration.limits.beaconMonitors) monitors, the maximum")
        }
        guard let monitor = BeaconMonitor(record) else { throw parameters.error("proximityUUID", "must be a UUID") }
        dataset.beaconField.monitors.insert(monitor)
        turn.keep(.put(record))
        return describe(monitor)
    }

    func unmonitorBeacons(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let id = try call.parameters.id("id")
        let client = call.client.name
        guard call.dataset.beaconField.monitors[client, id] != nil else {
            throw WireError(.notFound, "there is no monitor `\(id)` of `\(client)`", field: "id")
        }
        call.dataset.beaconField.monitors.remove(client: client, id: id)
        turn.keep(.deleteBeaconMonitor(dataset: call.dataset.id, client: client, id: id))
        return deleted(id)
    }

    /// An id that names a device is refused where that is another client's; any other is a group, or a device to come.
    private func checkDevices(_ names: [String]?, _ call: Call) throws(WireError) {
        for name in names ?? [] {
            guard let device = call.dataset.devices[name] else { continue }
            try call.checkOwner(device.record.owner, of: "device", name, field: "devices")
        }
    }

    private func describe(_ monitor: BeaconMonitor) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", monitor.record.id)
        writer.member("topic", naming.prefix + naming.name(of: monitor.recipient))
        monitor.record.encodeRegion(into: &writer)
        if let devices = monitor.record.devices { writer.member("devices", devices) }
        writer.member("createdAt", monitor.record.createdAt)
        writer.endObject()
        return writer.bytes
    }

    func restore(_ record: BeaconMonitorRecord) {
        guard let dataset = datasets[record.dataset], let monitor = BeaconMonitor(record) else { return }
        dataset.beaconField.monitors.insert(monitor)
    }

    // MARK: Events

    /// An observer saw a beacon: it may have come into regions.
    func enterRegions(_ beacon: BeaconKey, _ observer: Observer, seenAt: Int64, in dataset: Dataset, _ turn: inout Turn) {
        for monitor in dataset.beaconField.monitors.about(beacon) where monitor.region.contains(beacon) {
            enterRegion(monitor, observer, seenAt: seenAt, in: dataset, &turn)
        }
    }

    /// Exits, and who was in a region when its monitor was asked for.
    func advanceMonitors(of dataset: Dataset, to now: Int64, _ turn: inout Turn) {
        for monitor in dataset.beaconField.monitors.inOrder() {
            for end in monitor.presence.end(at: now) {
                tell(monitor, "exited", end.observer.text, of: dataset, at: end.at, &turn)
            }
            guard monitor.isUnexamined else { continue }
            monitor.isUnexamined = false
            examine(monitor, of: dataset, &turn)
        }
    }

    private func examine(_ monitor: BeaconMonitor, of dataset: Dataset, _ turn: inout Turn) {
        let field = dataset.beaconField
        for observer in field.allObservers {
            for fact in field.table.facts(of: observer.number) where monitor.region.contains(field.beacon(fact.beacon)) {
                enterRegion(monitor, observer, seenAt: fact.seenAt, in: dataset, &turn)
            }
        }
    }

    private func enterRegion(
        _ monitor: BeaconMonitor, _ observer: Observer, seenAt: Int64, in dataset: Dataset, _ turn: inout Turn
    ) {
        guard turn.now - seenAt < RegionPresence<ByteKey>.holdMilliseconds, dataset.reaches(monitor.record, observer),
            monitor.presence.see(ByteKey(observer.id), at: seenAt)
        else { return }
        tell(monitor, "entered", observer.id, of: dataset, at: seenAt, &turn)
    }

    private func tell(
        _ monitor: BeaconMonitor, _ event: String, _ device: String, of dataset: Dataset, at instant: Int64, _ turn: inout Turn
    ) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("event", event)
        writer.member("deviceId", device)
        monitor.record.encodeRegion(into: &writer)
        writer.member("timestamp", instant)
        writer.endObject()
        let record = monitor.record
        outbox.send(
            IncidentRecord(
                number: 0, dataset: record.dataset, id: turn.identifiers.uuid(), source: .beacon, sourceID: record.id,
                owner: record.client, createdAt: instant, body: writer.bytes), dataset.matchAccount, &turn)
    }
}

extension Dataset {
    /// Whether a monitor is about what this observer sees: one of its devices and groups, and one that its client reaches.
    func reaches(_ monitor: BeaconMonitorRecord, _ observer: Observer) -> Bool {
        let record = devices[observer.id]?.record
        if let owner = record?.owner, owner != monitor.client { return false }
        guard let names = monitor.devices else { return true }
        return names.contains { name in
            name.hasSameBytes(as: observer.id) || record?.group.contains { $0.hasSameBytes(as: name) } == true
        }
    }
}
