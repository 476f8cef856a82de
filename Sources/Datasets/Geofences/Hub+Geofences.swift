import Geodesy
import Geofencing
import Matching
import Records
import Wire

// What the geofences of a dataset are shown, and what comes of it.

extension Hub {
    /// Lets the engine know the devices, from the first geofence on.
    func activateGeofences(of dataset: Dataset, at now: Int64) {
        let geofences = dataset.geofences
        guard !geofences.isActive else { return }
        geofences.isActive = true
        for device in dataset.devices.all {
            geofences.engine.restore(device.reference.index, device.fenceIdentity, fenceFix(of: device, in: dataset, at: now))
        }
    }

    /// Where a device is, as its live state has it.
    private func fenceFix(of device: Device, in dataset: Dataset, at now: Int64) -> FenceFix? {
        guard let state = device.positionTopic, let payload = state.payload,
            let update = LiveMessage.update(inPayload: payload, using: parser)
        else { return nil }
        let found = dataset.locatesPositions ? dataset.structure.whereabouts(of: update, on: state.topic) : nil
        let floor = dataset.structure.floor(of: state, index: update.floorIndex, found: found)
        return FenceFix(update, at: min(state.timestamp, now), heardAt: state.receivedAt, floor: floor)
    }

    // MARK: Inputs

    /// A position was accepted.
    func showGeofences(
        _ device: Device, _ update: LiveUpdate, floor: FloorRef, at timestamp: Int64, in dataset: Dataset, _ turn: inout Turn
    ) {
        let geofences = dataset.geofences
        guard geofences.isActive, !unresumed.contains(dataset.id),
            let fix = FenceFix(update, at: min(timestamp, turn.now), heardAt: turn.now, floor: floor)
        else { return }
        geofences.engine.move(device.reference.index, to: fix, into: &geofences.effects)
        if !geofences.effects.isEmpty { handleFenceEffects(of: dataset, &turn) }
        if let followed = device.presenceOf, followed !== device.positionTopic { showPresence(of: device, in: dataset, &turn) }
    }

    /// A device has another position than before by a request, or is new.
    func showGeofences(_ device: Device, in dataset: Dataset, _ turn: inout Turn) {
        guard dataset.geofences.isActive, let state = device.positionTopic, let payload = state.payload,
            let update = LiveMessage.update(inPayload: payload, using: parser)
        else { return }
        let found = dataset.locatesPositions ? dataset.structure.whereabouts(of: update, on: state.topic) : nil
        let floor = dataset.structure.floor(of: state, index: update.floorIndex, found: found) ?? .unknown
        showGeofences(device, update, floor: floor, at: state.timestamp, in: dataset, &turn)
    }

    /// A device's last position was cleared.
    func clearGeofences(_ device: Device, in dataset: Dataset, _ turn: inout Turn) {
        let geofences = dataset.geofences
        guard geofences.isActive else { return }
        geofences.engine.clear(device.reference.index, at: turn.now, into: &geofences.effects)
        handleFenceEffects(of: dataset, &turn)
        showPresence(of: device, in: dataset, &turn)
    }

    /// A device is about to be deleted.
    func endGeofences(of device: Device, in dataset: Dataset, _ turn: inout Turn) {
        let geofences = dataset.geofences
        guard geofences.isActive else { return }
        geofences.engine.remove(device.reference.index, at: turn.now, into: &geofences.effects)
        handleFenceEffects(of: dataset, &turn)
        for follower in geofences.following(device: device.record.id) {
            follower.problem = "there is no device `\(device.record.id)`"
        }
        forgetPresence(of: device, &turn)
    }

    /// A device's groups changed.
    func fenceIdentityChanged(_ device: Device, in dataset: Dataset, _ turn: inout Turn) {
        let geofences = dataset.geofences
        guard geofences.isActive else { return }
        geofences.engine.set(device.reference.index, device.fenceIdentity, at: turn.now, into: &geofences.effects)
        handleFenceEffects(of: dataset, &turn)
    }

    /// A place was imported anew, or deleted.
    func placeChanged(_ id: String, in dataset: Dataset, _ turn: inout Turn) {
        for geofence in dataset.geofences.following(place: id) { refreshArea(of: geofence, in: dataset, &turn) }
    }

    /// Structure was imported anew, or deleted.
    func structureChanged(in dataset: Dataset, _ turn: inout Turn) {
        for geofence in dataset.geofences.followingStructure { refreshArea(of: geofence, in: dataset, &turn) }
    }

    private func refreshArea(of geofence: Geofence, in dataset: Dataset, _ turn: inout Turn) {
        let resolved = resolve(geofence.area, in: dataset)
        geofence.problem = resolved.problem?.message
        let geofences = dataset.geofences
        geofences.engine.setFloor(of: geofence.number, resolved.floor)
        geofences.engine.setArea(
            of: geofence.number, resolved.area, at: turn.now, ending: resolved.area == nil ? .deleted : .left,
            into: &geofences.effects)
        handleFenceEffects(of: dataset, &turn)
    }

    /// What time alone brings about.
    func advanceGeofences(of dataset: Dataset, to now: Int64, _ turn: inout Turn) {
        let geofences = dataset.geofences
        guard geofences.isActive, !unresumed.contains(dataset.id) else { return }
        if let due = geofences.engine.nextDeadline, due <= now {
            geofences.engine.advance(to: now, into: &geofences.effects)
        }
        handleFenceEffects(of: dataset, &turn)
    }

    // MARK: Effects

    /// Tells what the engine wants told, so much in a turn; ticks go on with the rest.
    func handleFenceEffects(of dataset: Dataset, _ turn: inout Turn) {
        let geofences = dataset.geofences
        geofences.queueEffects { dataset.devices[$0] }
        guard !geofences.backlog.isEmpty else { return }
        var touched: [Device] = []
        var seen: Set<ObjectIdentifier> = []
        for _ in 0..<Self.fenceEffectsPerTurn {
            guard let (effect, geofence, device) = geofences.nextEffect() else { break }
            handle(effect, geofence, device, in: dataset, &turn)
            if seen.insert(ObjectIdentifier(device)).inserted { touched.append(device) }
        }
        for device in touched {
            showPresence(of: device, in: dataset, &turn)
            // Written behind, a crash could bring back where a device was before, and what it did there would be told again.
            if let state = device.positionTopic { turn.keep(.put(LiveStateRecord(state))) }
        }
    }

    private static let fenceEffectsPerTurn = 2000

    private func handle(
        _ effect: FenceEffect, _ geofence: Geofence, _ device: Device, in dataset: Dataset, _ turn: inout Turn
    ) {
        let id = turn.identifiers.uuid()
        let number = device.reference.index
        var event = GeofenceEvent(id: id, geofence: geofence.record, deviceID: device.record.id, effect)
        if dataset.devices.hides(device, from: geofence.record.owner) { event.fix = nil }
        var visit = GeofenceVisitRecord(
            dataset: dataset.id, geofence: geofence.record.path, deviceID: device.record.id, id: id, since: event.at)
        switch effect {
        case .entered:
            dataset.geofences.begin(id, geofence.number, number)
            turn.keep(.put(visit))
        case .dwelled:
            guard let known = dataset.geofences.visitID(geofence.number, number) else { return }
            visit.id = known
            visit.since = dataset.geofences.engine.visit(of: number, in: geofence.number)?.since ?? event.at
            visit.hasDwelled = true
            turn.keep(.put(visit))
        case .exited(_, _, _, _, let since, _):
            guard let known = dataset.geofences.end(geofence.number, number) else { return }
            visit.id = known
            event.duration = Double(event.at - since) / 1000
            turn.keep(.delete(visit.key))
        }
        event.visit = visit.id
        let isOwn = device.record.owner.map { $0.hasSameBytes(as: geofence.record.owner) } ?? true
        outbox.send(
            IncidentRecord(
                number: 0, dataset: dataset.id, id: id, source: .geofence, sourceID: geofence.record.id,
                owner: geofence.record.owner, createdAt: turn.now, body: event.encoded()),
            of: geofence, to: Targets(geofence.pushers, about: isOwn ? device.record : nil),
            saying: {
                PushMessage(
                    [("id", id), ("geofence", geofence.record.id), ("deviceId", device.record.id), ("event", event.event)],
                    geofence.record.notification, device: device.record)
            }, dataset.matchAccount, &turn)
    }

    // MARK: Restoring

    func restore(_ record: GeofenceRecord) throws(WireError) {
        guard let dataset = datasets[record.dataset] else { return }
        let area = try GeofenceArea(stored: record.area, using: parser)
        let geofence = dataset.geofences.make(
            record, area, pushers: try [Pusher](reading: record.pushers, of: record.recipient, naming: naming))
        let (fence, around) = fence(of: geofence, in: dataset)
        dataset.geofences.engine.restore(geofence.number, fence, around: around)
    }

    func restoreDeleted(geofence key: RecordKey) {
        guard let geofences = dataset(of: key)?.geofences, let geofence = geofences[path: key.id] else { return }
        geofences.remove(geofence)
    }

    func restore(_ record: GeofenceVisitRecord) {
        guard let dataset = datasets[record.dataset], let device = dataset.devices[record.deviceID],
            let geofence = dataset.geofences[path: record.geofence]
        else { return }
        let number = device.reference.index
        dataset.geofences.begin(record.id, geofence.number, number)
        dataset.geofences.engine.restoreVisit(
            of: number, in: geofence.number, since: record.since, hasDwelled: record.hasDwelled)
    }

    func restoreEnd(ofGeofenceVisit key: RecordKey) {
        guard let dataset = dataset(of: key), let device = dataset.devices[key.text(2)],
            let geofence = dataset.geofences[path: key.text(1)]
        else { return }
        _ = dataset.geofences.end(geofence.number, device.reference.index)
        dataset.geofences.engine.restoreEnd(of: device.reference.index, in: geofence.number)
    }

    /// Everything is back: devices are where they are, visits go on, and presence says so.
    func resumeGeofences(of dataset: Dataset, _ turn: inout Turn) {
        if !dataset.geofences.isEmpty {
            activateGeofences(of: dataset, at: turn.now)
            dataset.geofences.engine.resume(at: turn.now)
        }
        resumePresence(of: dataset, &turn)
    }

    /// A geofence as the engine knows it, with what it encloses now.
    func fence(of geofence: Geofence, in dataset: Dataset) -> (fence: Fence, around: (device: UInt32, radius: Double)?) {
        let resolved = resolve(geofence.area, in: dataset)
        geofence.problem = resolved.problem?.message
        var fence = geofence.fence
        fence.area = resolved.area
        fence.floor = resolved.floor
        guard case .around(let id, let radius) = geofence.area, let device = dataset.devices[id] else { return (fence, nil) }
        return (fence, (device.reference.index, radius))
    }

    /// A device is known by now that geofences are to move with.
    func followDevice(_ device: Device, in dataset: Dataset) {
        for geofence in dataset.geofences.following(device: device.record.id) {
            let (fence, around) = fence(of: geofence, in: dataset)
            dataset.geofences.engine.restore(geofence.number, fence, around: around)
        }
    }
}

extension FenceEffect {
    var fence: Int32 {
        switch self {
        case .entered(let fence, _, _, _), .dwelled(let fence, _, _, _), .exited(let fence, _, _, _, _, _): fence
        }
    }

    var device: UInt32 {
        switch self {
        case .entered(_, let device, _, _), .dwelled(_, let device, _, _), .exited(_, let device, _, _, _, _): device
        }
    }
}

extension FenceFix {
    /// nil where the update is no position.
    init?(_ update: LiveUpdate, at timestamp: Int64, heardAt: Int64, floor: FloorRef?) {
        guard let position = update.position else { return nil }
        self.init(
            latitude: position.latitude, longitude: position.longitude, accuracy: max(0, position.horizontalAccuracy ?? 0),
            timestamp: timestamp, heardAt: heardAt, floor: floor?.number ?? 0)
    }
}

extension Device {
    /// By what geofences choose it.
    var fenceIdentity: FenceDevice { FenceDevice(id: record.id, owner: record.owner, groups: record.group) }
}
