import Geodesy
import LiveTopics
import Matching
import Records
import Wire

// Live states as the store gives them back, at a start and after a refusal.

extension LiveBook {
    /// Restores the state of a topic that is not known yet.
    func restore(_ record: LiveStateRecord, in dataset: Dataset) {
        guard states[record.topic] == nil, let live = try? LiveTopic(encoded: record.topic) else { return }
        let state = LiveState(dataset: dataset, live: live, topic: record.topic)
        state.timestamp = record.timestamp
        state.receivedAt = record.receivedAt
        state.number = record.number
        state.payload = record.payload
        state.isDerived = record.payload.map(LiveMessage.isDerived) ?? false
        states.insert(state, LevelKeys(live))
        if record.payload != nil {
            dataset.countLiveTopic(state, by: 1)
        } else {
            dataset.clearedStates.append(state, again: false)
        }
        states.noteNumber(record.number)
        connectRestored(state)
    }

    /// Connects a position; of two of an item, on different topics, the later one may be cleared next.
    private func connectRestored(_ state: LiveState) {
        let former = currentPosition(of: state)
        connect(state)
        guard let former, former !== state, state.payload != nil else { return }
        overshadowed.append(currentPosition(of: state) === state ? former : state)
    }

    /// Connects a known position with what it names, and places that there without asking what it meets.
    ///
    /// - Parameter places: false: the engine is shown by others where it is.
    func connect(_ state: LiveState, places: Bool = true) {
        guard state.namesDevice, state.payload != nil else { return }
        let dataset = state.dataset
        // A crash may have come between the two changes of a device that went from one topic to another.
        if let known = currentPosition(of: state), (known.timestamp, known.number) > (state.timestamp, state.number) { return }
        if let device = dataset.devices[state.itemID], device.record.type != .beacon {
            device.positionTopic?.device = nil
            tie(state, to: device, places: places)
        } else {
            dataset.positionsWithoutDevice[state.itemID] = state
        }
    }

    /// Has a state that was restored become what is durable by now; nil: it is forgotten.
    func follow(_ record: LiveStateRecord?, _ state: LiveState) {
        let (dataset, device) = (state.dataset, state.device)
        if dataset.positionsWithoutDevice[state.itemID] === state { dataset.positionsWithoutDevice[state.itemID] = nil }
        putBack(state, to: record)
        if let device, device.positionTopic === state, state.payload == nil {
            device.positionTopic = nil
            // Its position on another topic may be next.
            displaced.append((device, dataset))
        }
        connectRestored(state)
    }

    /// All is restored: devices are where the latest of their positions is, and those whose positions were cleared are nowhere. Who saw them
    /// has heard of it.
    func endRestoration() {
        for state in overshadowed where state.isKnown { connect(state) }
        overshadowed = []
        for (device, dataset) in displaced where device.positionTopic == nil && dataset.devices[device.record.id] === device {
            var unsent: [Effect] = []
            dataset.geomatching.engine.move(device.reference, to: nil, at: 0, into: &unsent)
        }
        displaced = []
    }

    /// A device goes; what is known of its position stays.
    func release(_ device: Device, of dataset: Dataset) {
        guard let state = device.positionTopic else { return }
        device.positionTopic = nil
        state.device = nil
        dataset.positionsWithoutDevice[state.itemID] = state
    }

    // MARK: After a refusal

    /// Puts live states back that requests changed, and reports them again; what was reported since is kept.
    func putBack(_ parts: [DurableChange], _ found: ReloadedParts, _ turn: inout Turn) {
        var changed: [LiveState] = []
        for case .put(let refused as LiveStateRecord) in parts.reversed() {
            guard !refused.isRemnant, let state = states[refused.topic], state.number == refused.number else { continue }
            let former = found.record(refused.key, as: LiveStateRecord.self)
            reportPutBack(state, to: former, &turn)
            putBack(state, to: former)
            if !changed.contains(where: { $0 === state }) { changed.append(state) }
        }
        for state in changed {
            publish(state, &turn)
            if state.payload != nil, !state.dataset.liveSubscriptions.isEmpty { subscribers.report(state, &turn) }
            if state.tellsSightings, state.payload != nil { restoreSightings(of: state, at: turn.now) }
            guard state.isKnown else { continue }
            state.number = states.nextNumber()
            if state.payload == nil { state.dataset.clearedStates.append(state, again: true) }
            states.markDirty(state)
        }
    }

    /// Where nothing is known after all, subscribers that saw the state hear that it left.
    private func reportPutBack(_ state: LiveState, to record: LiveStateRecord?, _ turn: inout Turn) {
        guard record?.payload == nil, let refused = state.payload else { return }
        guard !state.dataset.liveSubscriptions.isEmpty else { return }
        subscribers.reportBeforeChange(state, &turn)
        state.payload = nil
        subscribers.report(state, former: refused, formerNumber: state.number, &turn)
        state.payload = refused
    }

    private func putBack(_ state: LiveState, to record: LiveStateRecord?) {
        let dataset = state.dataset
        switch (state.payload != nil, record?.payload != nil) {
        case (true, false): dataset.countLiveTopic(state, by: -1)
        case (false, true): dataset.countLiveTopic(state, by: 1)
        default: break
        }
        if state.payload == nil { dataset.clearedStates.revoke() }
        state.device = nil
        state.payload = record?.payload
        state.isDerived = record?.payload.map(LiveMessage.isDerived) ?? false
        state.number = record?.number ?? 0
        state.timestamp = record?.timestamp ?? .min
        state.receivedAt = record?.receivedAt ?? .min
        if record == nil {
            states.remove(state)
        } else if state.payload == nil {
            dataset.clearedStates.append(state, again: false)
        }
    }

    /// Places the devices of a dataset that was loaded again: where they are, or were before what is repeated.
    func placeDevices(of dataset: Dataset, before since: RecentMoves.Since) {
        var former = ByteKeyed<Position?>()
        for move in since.moves where former[move.state.itemID] == nil {
            former[move.state.itemID] = .some(move.former)
        }
        for state in states.all where state.dataset === dataset {
            let isRepeated = state.namesDevice && former[state.itemID] != nil
            connect(state, places: !isRepeated)
        }
        for id in former.keys {
            guard let device = dataset.devices[id], let position = former[id] ?? nil else { continue }
            dataset.geomatching.engine.place(device.reference, at: position, heardAt: device.positionTopic?.receivedAt ?? 0)
        }
    }

    /// Shows the engines of a dataset that was loaded again what moved meanwhile, each when it did.
    func repeatMoves(_ since: RecentMoves.Since, of dataset: Dataset, _ turn: inout Turn) {
        let now = turn.now
        turn.now = since.from ?? now
        dataset.resume(&turn)
        dataset.geofences.resume(in: dataset, moved: Set(since.moves.map { ByteKey($0.state.itemID) }), &turn)
        for move in since.moves {
            turn.now = move.now
            repeatMove(move, &turn)
        }
        turn.now = now
    }

    private func repeatMove(_ move: RecentMoves.Move, _ turn: inout Turn) {
        let state = move.state
        let dataset = state.dataset
        guard let device = (try? device(state.itemID, movedIn: dataset, &turn)) ?? nil else { return }
        dataset.geomatching.advance(&turn)
        if let update = move.update {
            dataset.circumstances.move(device, update, at: move.instant, heardAt: move.knownSince, &turn)
        } else {
            dataset.circumstances.clear(device, &turn)
            dataset.geofences.clear(device, &turn)
        }
        var floor = FloorRef.unknown
        if let update = move.update {
            floor = dataset.structure.floor(of: state, index: update.floorIndex, found: move.found, &turn)
            dataset.geofences.move(device, update, floor: floor, at: move.instant, &turn)
        }
        if let position = move.update?.position {
            _ = dataset.geomatching.note(Move(device: device.reference, position: position, floor: floor, fixedAt: move.instant))
            dataset.geomatching.reportMoves(knownSince: move.knownSince, &turn)
        } else {
            dataset.geomatching.move(device, to: nil, &turn)
        }
    }
}
