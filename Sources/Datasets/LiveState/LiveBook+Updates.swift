import LiveTopics
import Matching
import Records
import Wire

// A live update from its bytes to the known state: what is accepted, and what becomes of the rest.

extension LiveBook {
    /// - Returns: What became of it.
    func receive(
        _ message: IncomingUpdate, of state: LiveState, published: UnsafeRawBufferPointer, _ turn: inout Turn
    ) throws(WireError) -> UpdateCounters.Outcome {
        try checkPublished(domain: state.domain)
        guard !message.payload.isEmpty else {
            clear(state, &turn)
            return .accepted
        }
        try state.dataset.checkDeclared(state)
        if let device = state.device {
            state.dataset.circumstances.engine.expect(device.reference.index)
            state.dataset.geofences.engine.expect(device.reference.index)
        }
        let update = try decode(message, domain: state.domain)
        if state.tellsSightings { return try receiveSightings(update, of: state, published: published, message, &turn) }
        var timestamp = update.timestamp ?? turn.now
        let isSkewed = timestamp > turn.now + Self.skewMaximumMilliseconds
        if isSkewed { timestamp = turn.now }
        if message.isRepeated, !isNews(update, of: state, at: turn.now) { return .ignored }
        let current = currentPosition(of: state)
        // What was sent is never late beside what the daemon worked out.
        let newest = max(state.sentTime(at: turn.now), current?.sentTime(at: turn.now) ?? .min)
        guard timestamp >= newest else {
            if message.isRepeated { return .ignored }
            state.dataset.diagnostics.reportLate(timestamp, newest: newest, published: published, &turn)
            return .late
        }
        try admit(state, instead: current, &turn)
        if isSkewed { reportSkewed(state, published, &turn) }
        let found = store(update, at: timestamp, for: state, receivedAt: turn.now, &turn)
        reportMove(of: state, update, found: found, at: timestamp, &turn)
        return .accepted
    }

    /// Whether an update that its source kept and sends again counts: only by its own timestamp can it be newer than what is known. What
    /// a deleted dataset of the name held counts as cleared at its deletion.
    func isNews(_ update: LiveUpdate, of state: LiveState, at now: Int64) -> Bool {
        let deletedAt = shared.deletedDatasets[state.dataset.id]
        guard state.isKnown || deletedAt != nil else { return true }
        guard let timestamp = update.timestamp, timestamp <= now + Self.skewMaximumMilliseconds else { return false }
        return timestamp != state.timestamp && timestamp > max(state.time(at: now), deletedAt ?? .min)
    }

    /// Throws `invalid` for a domain that only the daemon publishes.
    func checkPublished(domain: String) throws(WireError) {
        guard domain != KnownDomain.presence.rawValue else {
            throw WireError(.invalid, "`presence` follows from geofences and is not published by clients", field: "domain")
        }
    }

    func reportSkewed(_ state: LiveState, _ published: UnsafeRawBufferPointer, _ turn: inout Turn) {
        state.dataset.updateCounters.countSkewed()
        answered?.isSkewed = true
        state.dataset.diagnostics.reportSkewed(published: published, &turn)
    }

    func decode(_ message: IncomingUpdate, domain: String) throws(WireError) -> LiveUpdate {
        guard message.payload.count <= Self.updateMaximumBytes else {
            throw WireError(
                .tooLarge, "a live update has at most \(Self.updateMaximumBytes) bytes, not \(message.payload.count)")
        }
        properties.removeAll(keepingCapacity: true)
        return try decoder.decode(message.payload, padded: message.isPadded, domain: domain, properties: &properties)
    }

    /// Checks that there is room for the state, and finds or makes the device that a position names.
    ///
    /// - Parameters:
    ///   - instead: The state that goes when this one comes.
    ///   - makesDevice: Where there is none of the name.
    func admit(
        _ state: LiveState, instead current: LiveState?, makesDevice: Bool = true, _ turn: inout Turn
    ) throws(WireError) {
        if state.payload == nil, current == nil { try state.dataset.checkRoomForLiveTopic(of: state.item) }
        try state.dataset.checkRoom(
            forLiveBytes: properties.count + state.topic.utf8.count + LiveMessage.frameBytes,
            insteadOf: (state.payload ?? current?.payload)?.count ?? 0)
        if state.namesDevice, state.device == nil {
            guard makesDevice || state.dataset.devices[state.itemID] != nil else { return }
            state.device = try device(state.itemID, movedIn: state.dataset, &turn)
        }
    }

    /// Where positions come from devices or from the daemon: shows the engine where a device is by now.
    ///
    /// - Parameters:
    ///   - found: Where the structure finds it.
    ///   - instant: When it was there.
    func reportMove(
        of state: LiveState, _ update: LiveUpdate, found: Whereabouts?, at instant: Int64, knownSince: Int64 = .max,
        _ turn: inout Turn
    ) {
        guard let device = state.device, let position = update.position else { return }
        let dataset = state.dataset
        noteMove(of: device, at: state, update, found: found, instant: instant, now: turn.now, knownSince: knownSince)
        dataset.circumstances.move(device, update, at: instant, heardAt: knownSince, &turn)
        if dataset.places.table.count > 0 { dataset.places.note(position, of: device, at: instant) }
        let floor = dataset.structure.floor(of: state, index: update.floorIndex, found: found, &turn)
        dataset.geofences.move(device, update, floor: floor, at: instant, &turn)
        let move = Move(device: device.reference, position: position, floor: floor, fixedAt: instant)
        if dataset.geomatching.note(move) { moved.append(dataset) }
    }

    /// Remembers a move for as long as requests before it may be refused.
    func noteMove(
        of device: Device, at state: LiveState, _ update: LiveUpdate?, found: Whereabouts? = nil, instant: Int64, now: Int64,
        knownSince: Int64 = .max
    ) {
        guard recentMoves.isAwaited || !recentMoves.isEmpty else { return }
        let former = state.dataset.geomatching.engine.position(of: device.reference)
        recentMoves.note(
            RecentMoves.Move(
                state: state, former: former, update: update, found: found, instant: instant, now: now, knownSince: knownSince))
    }

    /// The device a position names; an unknown one is made where the dataset allows it, else the position is live state only.
    func device(_ id: String, movedIn dataset: Dataset, _ turn: inout Turn) throws(WireError) -> Device? {
        if let device = dataset.devices[id] {
            // A beacon is known by proximity only.
            return device.record.type == .beacon ? nil : device
        }
        guard dataset.record.autoCreateDevices else { return nil }
        try dataset.checkRoomForDevice(of: nil, field: "location")
        var record = DeviceRecord(
            dataset: dataset.id, id: id, type: .mobile, owner: nil, createdAt: turn.now, updatedAt: turn.now, revision: "")
        record.revision = Revision.next(after: nil, content: record.encoded())
        let device = dataset.add(record)
        turn.keep(.put(record))
        adoptPosition(device, in: dataset)
        dataset.geofences.follow(device)
        return device
    }
}
