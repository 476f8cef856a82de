import Ranging
import Records
import Wire

// Events: devices that enter and exit the regions of monitors.

extension Beacons {
    /// An observer saw a beacon: it may have entered regions.
    func enterRegions(
        _ beacon: BeaconKey, _ observer: Observer, seenAt: Int64, at now: Int64, into effects: inout [BeaconEffect]
    ) {
        for monitor in monitors.about(beacon) where monitor.region.contains(beacon) {
            enter(monitor, observer, seenAt: seenAt, at: now, into: &effects)
        }
    }

    /// Exits, and who was in a region when its monitor was asked for.
    func advanceMonitors(to now: Int64, into effects: inout [BeaconEffect]) {
        guard !monitors.isEmpty else { return }
        var ended: Set<ByteKey> = []
        for monitor in monitors.inOrder() {
            for end in monitor.presence.end(at: now) {
                effects.append(.event(monitor.event("exited", end.observer.text, at: end.at)))
                ended.insert(end.observer)
            }
            guard monitor.isUnexamined else { continue }
            monitor.isUnexamined = false
            for observer in allObservers {
                for fact in table.facts(of: observer.number) where monitor.region.contains(beacon(fact.beacon)) {
                    enter(monitor, observer, seenAt: fact.seenAt, at: now, into: &effects)
                }
            }
        }
        guard !ended.isEmpty else { return }
        // Their live messages say from now on that they saw nothing for so long: a restart knows by that what was reported.
        for observer in allObservers where ended.contains(ByteKey(observer.id)) { note(observer) }
    }

    private func enter(
        _ monitor: BeaconMonitor, _ observer: Observer, seenAt: Int64, at now: Int64, into effects: inout [BeaconEffect]
    ) {
        guard now - seenAt < RegionPresence<ByteKey>.holdMilliseconds, reaches(monitor.record, observer),
            monitor.presence.see(ByteKey(observer.id), at: seenAt)
        else { return }
        effects.append(.event(monitor.event("entered", observer.id, at: seenAt)))
    }

    /// An observer saw a beacon before a restart: the monitors that there were have reported that it entered.
    ///
    /// - Parameter silence: How long it had not seen it when that was last noted: after 30 s they have reported that it exited, too.
    func restorePresence(_ beacon: BeaconKey, _ observer: Observer, seenAt: Int64, silence: Int64) {
        let hold = RegionPresence<ByteKey>.holdMilliseconds
        guard silence < hold else { return }
        for monitor in monitors.about(beacon)
        where monitor.region.contains(beacon) && monitor.record.createdAt < seenAt + hold && reaches(monitor.record, observer) {
            _ = monitor.presence.see(ByteKey(observer.id), at: seenAt)
            monitor.isUnexamined = false
        }
    }

    /// Whether a monitor is about what this observer sees: one of its devices and groups, and one that its client reaches.
    private func reaches(_ monitor: BeaconMonitorRecord, _ observer: Observer) -> Bool {
        let record = devices[observer.id]?.record
        if let owner = record?.owner, owner != monitor.client { return false }
        guard let names = monitor.devices else { return true }
        return names.contains { name in
            name.hasSameBytes(as: observer.id) || record?.group.contains { $0.hasSameBytes(as: name) } == true
        }
    }
}

extension BeaconMonitor {
    /// `{"event","deviceId","proximityUUID","major"?,"minor"?,"timestamp"}`
    fileprivate func event(_ name: String, _ device: String, at instant: Int64) -> EventRecord {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("event", name)
        writer.member("deviceId", device)
        record.encodeRegion(into: &writer)
        writer.member("timestamp", instant)
        writer.endObject()
        return EventRecord(
            number: 0, dataset: record.dataset, id: "", source: .beacon, sourceID: record.id, owner: record.client,
            createdAt: instant, body: writer.bytes)
    }
}
