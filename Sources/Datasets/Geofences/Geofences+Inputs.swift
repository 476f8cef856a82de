import Geodesy
import Geofencing
import Matching
import Records
import Wire

// What the geofences of a dataset are shown, and what comes of it.

extension Geofences {
    /// Lets the engine know the devices, from the first geofence on. Very many are shown to it in portions: each has entered where it is
    /// inside as it is shown, which is before anything becomes of it.
    func activate(at now: Int64) {
        guard !isActive else { return }
        guard devices.count * Self.enrolmentEffort > shared.limits.portion else { return activateAtOnce(at: now) }
        isActive = true
        enrolAll(at: now)
    }

    /// Has all devices shown to the engine, or looked at, in portions.
    private func enrolAll(at now: Int64) {
        enrolment = Enrolment(of: devices, at: now, behind: enrolment)
        shared.unfinished.append(dataset)
    }

    private func activateAtOnce(at now: Int64) {
        guard !isActive else { return }
        isActive = true
        for device in devices.all {
            engine.restore(device.reference.index, device.fenceIdentity, fix(of: device, at: now))
        }
    }

    /// Shows the engine a device that it may not know yet, or may not have looked at for all geofences.
    func enrol(_ device: Device) {
        if enrolment?.enrol(device.reference.index) == true { show(device) }
    }

    private func show(_ device: Device) {
        guard let startedAt = enrolment?.startedAt else { return }
        let number = device.reference.index
        if !engine.knows(number) { engine.restore(number, device.fenceIdentity, fix(of: device, at: startedAt)) }
        engine.look(at: number, now: startedAt, into: &effects)
        queueEffects()
    }

    /// Shows the engine more of the devices.
    ///
    /// - Returns: Whether it knows all.
    func enrolMore(_ effort: inout Int) -> Bool {
        while enrolment != nil, effort > 0 {
            guard let number = enrolment?.popNext() else {
                enrolment = nil
                engine.endLooks()
                break
            }
            effort -= Self.enrolmentEffort
            if let device = devices[number] { show(device) }
        }
        return enrolment == nil
    }

    /// A portion of what is left to be done: of devices to be shown, of effects to be reported, and of presence that is another.
    ///
    /// - Returns: Whether nothing is left.
    func goOn(_ portion: Int, _ turn: inout Turn) -> Bool {
        guard isActive, !isRestoring else { return true }
        var effort = portion
        queueEffects()
        if !backlog.isEmpty {
            let count = min(backlog.count, 1 + effort / Self.effectEffort)
            effort -= count * Self.effectEffort
            report(atMost: count, &turn)
        }
        if enrolMore(&effort) { refreshPresence(&effort, &turn) }
        return enrolment == nil && backlog.isEmpty && resized.isEmpty
    }

    /// In the unit of ``HubLimits/portion``, as measured.
    private static let enrolmentEffort = 8
    private static let effectEffort = 20

    /// Where a device is, as its live state has it.
    private func fix(of device: Device, at now: Int64) -> FenceFix? {
        guard let state = device.positionTopic, let payload = state.payload,
            let update = LiveMessage.update(inPayload: payload, using: shared.parser)
        else { return nil }
        let found = state.dataset.locatesPositions ? structure.whereabouts(of: update, on: state.topic) : nil
        let floor = structure.floor(of: state, index: update.floorIndex, found: found)
        return FenceFix(update, at: min(state.timestamp, now), heardAt: state.receivedAt, floor: floor)
    }

    // MARK: Inputs

    /// A position was accepted.
    func move(_ device: Device, _ update: LiveUpdate, floor: FloorRef, at timestamp: Int64, _ turn: inout Turn) {
        guard isActive, !isRestoring,
            let fix = FenceFix(update, at: min(timestamp, turn.now), heardAt: turn.now, floor: floor)
        else { return }
        engine.move(device.reference.index, to: fix, into: &effects)
        if !effects.isEmpty || engine.mustLookAtAll || !engine.outsideChanged.isEmpty { handleEffects(&turn) }
        if let followed = device.presenceOf, followed !== device.positionTopic { publishPresence(of: device, &turn) }
    }

    /// A device has another position than before by a request, or is new.
    func move(_ device: Device, _ turn: inout Turn) {
        guard isActive, let state = device.positionTopic, let payload = state.payload,
            let update = LiveMessage.update(inPayload: payload, using: shared.parser)
        else { return }
        let found = state.dataset.locatesPositions ? structure.whereabouts(of: update, on: state.topic) : nil
        let floor = structure.floor(of: state, index: update.floorIndex, found: found) ?? .unknown
        move(device, update, floor: floor, at: state.timestamp, &turn)
    }

    /// A device's last position was cleared.
    func clear(_ device: Device, _ turn: inout Turn) {
        guard isActive else { return }
        engine.clear(device.reference.index, at: turn.now, into: &effects)
        handleEffects(&turn)
        publishPresence(of: device, &turn)
    }

    /// A device is about to be deleted.
    func endVisits(of device: Device, _ turn: inout Turn) {
        guard isActive else { return }
        enrol(device)
        engine.remove(device.reference.index, at: turn.now, into: &effects)
        handleEffects(&turn)
        for follower in following(device: device.record.id) {
            follower.problem = "there is no device `\(device.record.id)`"
        }
        forgetPresence(of: device, &turn)
    }

    /// A device's groups changed.
    func identityChanged(_ device: Device, _ turn: inout Turn) {
        guard isActive else { return }
        engine.set(device.reference.index, device.fenceIdentity, at: turn.now, into: &effects)
        handleEffects(&turn)
    }

    /// A place was imported anew, or deleted.
    func placeChanged(_ id: String, _ turn: inout Turn) {
        for geofence in following(place: id) { refreshArea(of: geofence, &turn) }
    }

    /// Structure was imported anew, or deleted.
    func structureChanged(_ turn: inout Turn) {
        for geofence in followingStructure { refreshArea(of: geofence, &turn) }
    }

    /// The structure says by now on which floors devices and geofences are.
    func floorsChanged(_ floors: [(device: Device, floor: FloorRef)], isLast: Bool, _ turn: inout Turn) {
        guard isActive else { return }
        for (device, floor) in floors {
            engine.setFloor(ofDevice: device.reference.index, to: floor.number, at: turn.now, into: &effects)
        }
        for geofence in isLast ? followingStructure : [] { engine.endElsewhere(in: geofence.number, into: &effects) }
        handleEffects(&turn)
    }

    private func refreshArea(of geofence: Geofence, _ turn: inout Turn) {
        let resolved = resolve(geofence.area, of: geofence.record.owner)
        geofence.problem = resolved.problem?.message
        engine.setFloor(of: geofence.number, resolved.floor)
        resize(geofence) {
            engine.setArea(
                of: geofence.number, resolved.area, at: turn.now, ending: resolved.area == nil ? .deleted : .left, into: &effects)
        }
        handleEffects(&turn)
    }

    /// What time alone brings about.
    func advance(_ turn: inout Turn) {
        guard isActive, !isRestoring else { return }
        if let due = engine.nextDeadline, due <= turn.now { engine.advance(to: turn.now, into: &effects) }
        handleEffects(&turn)
    }

    // MARK: Effects

    /// Sends what the engine reports, so much in a turn; ``goOn(_:_:)`` goes on with the rest.
    func handleEffects(atMost limit: Int = effectsPerTurn, _ turn: inout Turn) {
        if engine.mustLookAtAll {
            engine.mustLookAtAll = false
            enrolAll(at: turn.now)
        }
        queueEffects()
        report(atMost: limit, &turn)
        keepOutside(&turn)
        if !backlog.isEmpty { shared.unfinished.append(dataset) }
    }

    /// The fixes outside before a restart count with those after it.
    private func keepOutside(_ turn: inout Turn) {
        guard !engine.outsideChanged.isEmpty else { return }
        for (number, fence) in engine.outsideChanged {
            // A visit that is still to be reported is kept with its report.
            guard let visit = engine.visit(of: number, in: fence), let id = visitID(fence, number), let device = devices[number],
                let geofence = self[fence]
            else { continue }
            turn.keep(
                .put(
                    GeofenceVisitRecord(
                        dataset: dataset, geofence: geofence.record.path, deviceID: device.record.id, id: id, since: visit.since,
                        hasDwelled: visit.hasDwelled, outsideSince: visit.outsideSince)))
            if let state = device.positionTopic { turn.keep(.put(LiveStateRecord(state))) }
        }
        engine.outsideChanged.removeAll(keepingCapacity: true)
    }

    private func report(atMost count: Int, _ turn: inout Turn) {
        guard !backlog.isEmpty else { return }
        var touched: [Device] = []
        var seen: Set<ObjectIdentifier> = []
        for _ in 0..<count {
            guard let (effect, geofence, device) = nextEffect() else { break }
            handle(effect, geofence, device, &turn)
            if seen.insert(ObjectIdentifier(device)).inserted { touched.append(device) }
        }
        for device in touched {
            publishPresence(of: device, &turn)
            // Written behind, a crash could bring back where a device was before, and what it did there would be reported again.
            if let state = device.positionTopic { turn.keep(.put(LiveStateRecord(state))) }
        }
    }

    static let effectsPerTurn = 200
    /// With the geofence that they are of: a crash before the rest would lose them.
    static let endsPerTurn = 1000

    private func handle(_ effect: FenceEffect, _ geofence: Geofence, _ device: Device, _ turn: inout Turn) {
        let id = turn.newID()
        let number = device.reference.index
        var event = GeofenceEvent(id: id, geofence: geofence.record, deviceID: device.record.id, effect)
        if !devices.mayLocate(device, by: geofence.record.owner) { event.fix = nil }
        var visit = GeofenceVisitRecord(
            dataset: dataset, geofence: geofence.record.path, deviceID: device.record.id, id: id, since: event.at)
        visit.outsideSince = engine.visit(of: number, in: geofence.number)?.outsideSince
        switch effect {
        case .entered:
            begin(id, geofence.number, number)
            turn.keep(.put(visit))
        case .dwelled:
            guard let known = visitID(geofence.number, number) else { return }
            visit.id = known
            visit.since = engine.visit(of: number, in: geofence.number)?.since ?? event.at
            visit.hasDwelled = true
            turn.keep(.put(visit))
        case .exited(_, _, _, _, let since, _):
            guard let known = end(geofence.number, number) else { return }
            visit.id = known
            event.duration = Double(event.at - since) / 1000
            turn.keep(.delete(visit.key))
        }
        event.visit = visit.id
        let isOwn = device.record.owner.map { $0.hasSameBytes(as: geofence.record.owner) } ?? true
        shared.outbox.send(
            EventRecord(
                number: 0, dataset: dataset, id: id, source: .geofence, sourceID: geofence.record.id,
                owner: geofence.record.owner, createdAt: turn.now, body: event.encoded()),
            of: geofence, to: Targets(geofence.pushers, about: isOwn ? device.record : nil),
            saying: {
                PushMessage(
                    [("id", id), ("geofence", geofence.record.id), ("deviceId", device.record.id), ("event", event.event)],
                    geofence.record.notification, device: device.record)
            }, account, &turn)
    }

    // MARK: Restoring

    func restore(_ record: GeofenceRecord) throws(WireError) {
        let area = try GeofenceArea(stored: record.area, using: shared.parser)
        let geofence = make(
            record, area, pushers: try [Pusher](reading: record.pushers, of: record.recipient, naming: shared.naming))
        let (fence, around) = fence(of: geofence)
        engine.restore(geofence.number, fence, around: around)
    }

    func restoreDeleted(_ key: RecordKey) {
        if let geofence = self[path: key.id] { remove(geofence) }
    }

    func restore(_ record: GeofenceVisitRecord) {
        guard let device = devices[record.deviceID], let geofence = self[path: record.geofence] else { return }
        let number = device.reference.index
        begin(record.id, geofence.number, number)
        engine.restoreVisit(
            of: number, in: geofence.number, since: record.since, hasDwelled: record.hasDwelled,
            outsideSince: record.outsideSince)
    }

    func restoreEnd(of key: RecordKey) {
        guard let device = devices[key.text(2)], let geofence = self[path: key.text(1)] else { return }
        _ = end(geofence.number, device.reference.index)
        engine.restoreEnd(of: device.reference.index, in: geofence.number)
    }

    /// Everything is back: devices are where they are, visits go on, and presence says so.
    ///
    /// - Parameters:
    ///   - owner: The dataset that these are of: it has the live states.
    ///   - moved: The ids of devices of which it is shown next how they moved.
    func resume(in owner: Dataset, moved: Set<ByteKey> = [], _ turn: inout Turn) {
        isRestoring = false
        // Presence that is retained follows its devices, also after the last geofence was deleted.
        if !isEmpty || owner.activeDomains[KnownDomain.presence.rawValue] != nil {
            activateAtOnce(at: turn.now)
            engine.resume()
            // Visits of a circle around a device that the geofence's owner reaches no longer.
            for number in all.filter({ $0.problem != nil }).map(\.number).sorted() {
                engine.setArea(of: number, nil, at: turn.now, ending: .deleted, into: &effects)
            }
            // Of those that a request about a geofence had enter or leave, some may not have been reported before the end.
            for device in devices.all where moved.isEmpty || !moved.contains(ByteKey(device.record.id)) {
                engine.look(at: device.reference.index, reviewsAll: true, now: turn.now, into: &effects)
            }
            handleEffects(&turn)
        }
        resumePresence(in: owner, &turn)
    }

    /// A geofence as the engine knows it, with what it encloses now.
    func fence(of geofence: Geofence) -> (fence: Fence, around: (device: UInt32, radius: Double)?) {
        let resolved = resolve(geofence.area, of: geofence.record.owner)
        geofence.problem = resolved.problem?.message
        var fence = geofence.fence
        fence.area = resolved.area
        fence.floor = resolved.floor
        guard case .around(let id, let radius) = geofence.area, let device = centre(id, of: geofence.record.owner) else {
            return (fence, nil)
        }
        enrol(device)
        return (fence, (device.reference.index, radius))
    }

    /// A device is known by now that geofences are to move with.
    func follow(_ device: Device) {
        for geofence in following(device: device.record.id) {
            let (fence, around) = fence(of: geofence)
            engine.restore(geofence.number, fence, around: around)
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
    var fenceIdentity: FenceDevice {
        FenceDevice(id: record.id, owner: record.owner, groups: record.group, isFixed: record.type == .pin)
    }
}
