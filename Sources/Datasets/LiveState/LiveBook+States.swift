import Geodesy
import LiveTopics
import Matching
import Wire
import Records

// The known states: reported, cleared, and one position for each id.

extension LiveBook {
    /// Makes an update the known state, reports it, and notes it for the store. Its properties are in the scratch buffer.
    ///
    /// - Parameter derived: The daemon worked it out itself.
    /// - Returns: Where the structure finds a position.
    @discardableResult
    func store(
        _ update: LiveUpdate, at timestamp: Int64, for state: LiveState, derived: Bool = false, receivedAt now: Int64,
        _ turn: inout Turn
    ) -> Whereabouts? {
        let dataset = state.dataset
        if dataset.liveSubscriptions.snapshotCount > 0 { subscribers.reportBeforeChange(state, &turn) }
        if let device = state.device { dataset.enrol(device) }
        var found: Whereabouts?
        if state.namesDevice, dataset.locatesPositions {
            found = dataset.structure.locate(update, on: state.topic, completing: &properties)
            dataset.occupancy?.see(state, update, found, at: now)
        }
        if state.payload == nil {
            dataset.countLiveTopic(state, by: 1)
            if state.isKnown { dataset.clearedStates.revoke() } else { states.insert(state) }
        }
        state.number = states.nextNumber()
        state.timestamp = timestamp
        state.receivedAt = now
        state.isDerived = derived
        // The former message's memory serves for the new one, unless it is on its way to the store.
        var payload = state.payload ?? []
        state.payload = nil
        payload.removeAll(keepingCapacity: true)
        payload.reserveCapacity(properties.count + state.topic.utf8.count + LiveMessage.frameBytes)
        LiveMessage.encode(
            topic: state.topic, domain: state.domain, itemID: state.itemID, timestamp: timestamp, receivedAt: now,
            properties: properties, originSourceId: update.originSourceId, derived: derived, into: &payload)
        state.payload = payload
        publish(state, &turn)
        states.markDirty(state)
        // A subscriber that sees an item move from one topic to another hears that it left the one before it is on the other.
        if state.namesDevice { moveItem(to: state, at: timestamp, receivedAt: now, &turn) }
        if !dataset.liveSubscriptions.isEmpty {
            subscribers.report(state, &turn)
            shared.noteExceeded(dataset.matchAccount)
        }
        dataset.circumstances.liveDataChanged(state, &turn)
        return found
    }

    /// The item of a position is here from now on: the one on another topic is no longer true.
    private func moveItem(to state: LiveState, at timestamp: Int64, receivedAt now: Int64, _ turn: inout Turn) {
        if let device = state.device {
            let former = device.positionTopic
            guard former !== state else { return }
            device.positionTopic = state
            // As of when it was elsewhere, so that it may come back with a time of its own.
            if let former { forgetState(former, asOf: timestamp, receivedAt: now, &turn) }
        } else {
            let former = state.dataset.positionsWithoutDevice[state.itemID]
            guard former !== state else { return }
            state.dataset.positionsWithoutDevice[state.itemID] = state
            if let former { forgetState(former, asOf: timestamp, receivedAt: now, &turn) }
        }
    }

    /// The present position of the item of a position; nil for none, and for states of other domains.
    func currentPosition(of state: LiveState) -> LiveState? {
        guard state.namesDevice else { return nil }
        if let device = state.device { return device.positionTopic }
        if let device = state.dataset.devices[state.itemID], device.record.type != .beacon { return device.positionTopic }
        return state.dataset.positionsWithoutDevice[state.itemID]
    }

    /// What was the position of an id is the position of the device that it now names.
    func adoptPosition(_ device: Device, in dataset: Dataset) {
        guard device.record.type != .beacon, let state = dataset.positionsWithoutDevice.removeValue(forKey: device.record.id)
        else {
            return
        }
        tie(state, to: device)
    }

    /// Places a device at a state, without asking what it meets.
    func tie(_ state: LiveState, to device: Device, places: Bool = true) {
        state.device = device
        device.positionTopic = state
        guard places, let payload = state.payload, let update = LiveMessage.update(inPayload: payload, using: parser),
            let position = update.position
        else { return }
        let structure = state.dataset.structure
        let found = state.dataset.locatesPositions ? structure.whereabouts(of: update, on: state.topic) : nil
        state.dataset.geomatching.engine.place(
            device.reference, at: position, floor: structure.floor(of: state, index: update.floorIndex, found: found) ?? .unknown,
            heardAt: state.receivedAt, fixedAt: state.timestamp)
    }

    /// Clears a state on demand: the device of a position has none from now on.
    func clear(_ state: LiveState, _ turn: inout Turn) {
        guard state.isKnown else {
            // Nothing is known; what somebody may still keep from earlier days goes all the same.
            clearPublished(state.topic, &turn)
            return
        }
        let device = state.device
        if state.tellsSightings { forgetSightings(of: state, &turn) }
        forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn)
        guard let device, device.positionTopic === state else { return }
        reportMoves(&turn)
        if !turn.isAsked { noteMove(of: device, at: state, nil, instant: turn.now, now: turn.now) }
        device.positionTopic = nil
        device.stay = nil
        state.dataset.circumstances.clear(device, &turn)
        state.dataset.geofences.clear(device, &turn)
        state.dataset.geomatching.move(device, to: nil, &turn)
    }

    /// - Parameter asOf: From when on it is not true any more; what is older is late.
    func forgetState(_ state: LiveState, asOf timestamp: Int64, receivedAt now: Int64, _ turn: inout Turn) {
        let dataset = state.dataset
        if dataset.liveSubscriptions.snapshotCount > 0 { subscribers.reportBeforeChange(state, &turn) }
        if let device = state.device { dataset.enrol(device) }
        let wasCleared = state.payload == nil
        let former = (payload: state.payload, number: state.number)
        dataset.occupancy?.noteForgotten(state, isCurrent: currentPosition(of: state) === state)
        state.isDerived = false
        if !wasCleared { dataset.countLiveTopic(state, by: -1) }
        // It is found anew when it comes back: the device may be gone by then.
        state.device = nil
        if dataset.positionsWithoutDevice[state.itemID] === state { dataset.positionsWithoutDevice[state.itemID] = nil }
        state.number = states.nextNumber()
        state.timestamp = timestamp
        state.receivedAt = now
        state.payload = nil
        dataset.clearedStates.append(state, again: wasCleared)
        states.markDirty(state)
        publish(state, &turn)
        if !dataset.liveSubscriptions.isEmpty {
            subscribers.report(state, former: former.payload, formerNumber: former.number, &turn)
        }
        dataset.circumstances.liveDataChanged(state, &turn)
        forgetCleared(of: dataset, before: .min, &turn)
    }

    /// Forgets cleared states that are too old, or too many.
    func forgetCleared(of dataset: Dataset, before instant: Int64, _ turn: inout Turn) {
        let maximum = limits.liveTopics
        while let state = dataset.clearedStates.popOldest(clearedBefore: instant, maximum: maximum) {
            states.remove(state)
            turn.keep(.forgetLiveState(dataset: dataset.id, topic: state.topic))
        }
    }

    /// Publishes a state as it is by now, unless it is private.
    func publish(_ state: LiveState, _ turn: inout Turn) {
        guard !state.isPrivate else { return }
        turn.effects.output.append(.liveState, name: state.topic, payload: state.payload ?? [])
    }

    /// Clears what somebody may still keep of a topic.
    func clearPublished(_ topic: String, _ turn: inout Turn) {
        turn.effects.output.append(.liveState, name: topic, payload: [])
    }
}

extension LiveBook {
    /// States published at once where all of a dataset change; the rest is paced.
    private static let shownAtOnce = 1000

    /// Who may know where the devices of a dataset are has changed: what is retained and subscribed to follows.
    func apply(_ livePositions: LivePositions, of dataset: Dataset, _ turn: inout Turn) {
        let hides = livePositions == .none
        guard dataset.hidesPositions != hides else { return }
        let whereabouts = states.all.filter { $0.dataset === dataset && $0.isWhereabouts && $0.payload != nil }
        if hides {
            for state in whereabouts { subscribers.hide(state, &turn) }
            turn.effects.forgotten.append(Forgotten(dataset: dataset.id))
        }
        dataset.hidesPositions = hides
        for state in whereabouts {
            state.number = states.nextNumber()
            states.markDirty(state)
        }
        dataset.positionsChangedAt = states.lastNumber
        for state in whereabouts.prefix(Self.shownAtOnce) { resync.report(state, subscribers, &turn) }
        resync.add(whereabouts.dropFirst(Self.shownAtOnce))
    }
}

extension LiveState {
    /// nil where nothing is known.
    var snapshot: LiveStateRecord? { isKnown ? LiveStateRecord(self) : nil }

    /// A position as objects show it: its properties and when they were true.
    func location(using parser: JSONParser) -> JSONObject? {
        guard let payload, case .object(let message)? = try? JSONValue.parse(payload, using: parser),
            case .object(var location)? = message["properties"]
        else { return nil }
        location["timestamp"] = message["timestamp"]
        return location
    }
}

extension Turn {
    /// Makes a state durable with the request that changed it. What it was before is written first: where the request is refused, that is
    /// what stays.
    mutating func keep(_ state: LiveState, after former: LiveStateRecord?) {
        if let former { keepUnasked(.put(former)) }
        keep(.put(LiveStateRecord(state)))
    }
}
