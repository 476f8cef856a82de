import Geodesy
import LiveTopics
import Matching
import Wire
import Records

// The known states: told, cleared, and one position for each id.

extension Hub {
    /// Makes an update the known state, tells it, and remembers to make it durable. Its properties stand in the scratch buffer.
    ///
    /// - Parameter derived: The daemon worked it out itself.
    /// - Returns: Where the structure finds a position.
    @discardableResult
    func store(
        _ update: LiveUpdate, at timestamp: Int64, for state: LiveState, derived: Bool = false, receivedAt now: Int64,
        _ turn: inout Turn
    ) -> Whereabouts? {
        let dataset = state.dataset
        if dataset.liveSubscriptions.snapshotCount > 0 { liveSubscribers.reportBeforeChange(state, &turn) }
        var found: Whereabouts?
        if state.namesDevice, dataset.locatesPositions {
            found = locate(update, at: state)
            see(state, update, found, at: now)
        }
        if state.payload == nil {
            dataset.countLiveTopic(state.domain, by: 1)
            if state.isKnown { dataset.clearedStates.revoke() } else { liveStates.insert(state) }
        }
        state.number = liveStates.nextNumber()
        state.timestamp = timestamp
        state.receivedAt = now
        state.isDerived = derived
        // The former message's memory serves for the new one, unless it is on its way to the store.
        var payload = state.payload ?? []
        state.payload = nil
        payload.removeAll(keepingCapacity: true)
        payload.reserveCapacity(properties.count + state.topic.utf8.count + 160)
        LiveMessage.encode(
            topic: state.topic, domain: state.domain, itemID: state.itemID, timestamp: timestamp, receivedAt: now,
            properties: properties, originSourceId: update.originSourceId, derived: derived, into: &payload)
        publishLive(topic: state.topic, payload: payload, &turn)
        state.payload = payload
        liveStates.markDirty(state)
        // Who sees an item move from one topic to another is told that it left the one before it is on the other.
        if state.namesDevice { stand(at: state, at: timestamp, receivedAt: now, &turn) }
        if !dataset.liveSubscriptions.isEmpty { liveSubscribers.report(state, &turn) }
        liveDataChanged(state, &turn)
        return found
    }

    /// The item of a position stands here from now on: the one on another topic is no longer true.
    private func stand(at state: LiveState, at timestamp: Int64, receivedAt now: Int64, _ turn: inout Turn) {
        if let device = state.device {
            let former = device.positionTopic
            guard former !== state else { return }
            device.positionTopic = state
            // As of when it stood elsewhere, so that it may come back with a time of its own.
            if let former { forgetState(former, asOf: timestamp, receivedAt: now, &turn) }
        } else {
            let former = state.dataset.positionsWithoutDevice[state.itemID]
            guard former !== state else { return }
            state.dataset.positionsWithoutDevice[state.itemID] = state
            if let former { forgetState(former, asOf: timestamp, receivedAt: now, &turn) }
        }
    }

    /// Where the item of a position stands at present; nil for nowhere, and for states of other domains.
    func standing(of state: LiveState) -> LiveState? {
        guard state.namesDevice else { return nil }
        if let device = state.device { return device.positionTopic }
        if let device = state.dataset.devices[state.itemID], device.record.type != .beacon { return device.positionTopic }
        return state.dataset.positionsWithoutDevice[state.itemID]
    }

    /// What was the position of an id is the position of the device that it now names.
    func takeOverPosition(_ device: Device, in dataset: Dataset) {
        guard device.record.type != .beacon, let state = dataset.positionsWithoutDevice.removeValue(forKey: device.record.id)
        else {
            return
        }
        tie(state, to: device)
    }

    /// Stands a device at a state, without asking what it meets.
    func tie(_ state: LiveState, to device: Device, places: Bool = true) {
        state.device = device
        device.positionTopic = state
        guard places, let payload = state.payload, let update = LiveMessage.update(inPayload: payload, using: parser),
            let position = update.position
        else { return }
        let found = state.dataset.locatesPositions ? whereabouts(of: update, at: state) : nil
        state.dataset.engine.place(
            device.reference, at: position, floor: floor(of: state, index: update.floorIndex, found: found) ?? .unknown,
            heardAt: state.receivedAt)
    }

    /// Clears a state on demand: the device of a position stands nowhere from now on.
    func clear(_ state: LiveState, _ turn: inout Turn) {
        guard state.isKnown else {
            // Nothing is known; what somebody may still keep from earlier days goes all the same.
            publishLive(topic: state.topic, payload: [], &turn)
            return
        }
        let device = state.device
        if state.tellsSightings { forgetSightings(of: state, &turn) }
        forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn)
        guard let device, device.positionTopic === state else { return }
        showMoves(&turn)
        if !turn.isAsked { noteMove(of: device, at: state, nil, instant: turn.now, now: turn.now) }
        device.positionTopic = nil
        clearCircumstances(device, in: state.dataset, &turn)
        engineEffects.removeAll(keepingCapacity: true)
        state.dataset.engine.move(device.reference, to: nil, at: turn.now, into: &engineEffects)
        handleEngineEffects(of: state.dataset, &turn)
    }

    /// - Parameter asOf: From when on it is not true any more; what is older is late.
    func forgetState(_ state: LiveState, asOf timestamp: Int64, receivedAt now: Int64, _ turn: inout Turn) {
        let dataset = state.dataset
        if dataset.liveSubscriptions.snapshotCount > 0 { liveSubscribers.reportBeforeChange(state, &turn) }
        let wasCleared = state.payload == nil
        let former = (payload: state.payload, number: state.number)
        noteForgotten(state)
        state.isDerived = false
        if !wasCleared { dataset.countLiveTopic(state.domain, by: -1) }
        // It is found anew when it comes back: the device may be gone by then.
        state.device = nil
        if dataset.positionsWithoutDevice[state.itemID] === state { dataset.positionsWithoutDevice[state.itemID] = nil }
        state.number = liveStates.nextNumber()
        state.timestamp = timestamp
        state.receivedAt = now
        state.payload = nil
        dataset.clearedStates.append(state, again: wasCleared)
        liveStates.markDirty(state)
        publishLive(topic: state.topic, payload: [], &turn)
        if !dataset.liveSubscriptions.isEmpty {
            liveSubscribers.report(state, former: former.payload, formerNumber: former.number, &turn)
        }
        liveDataChanged(state, &turn)
        forgetCleared(of: dataset, before: .min, &turn)
    }

    /// Forgets cleared states that are too old, or too many.
    func forgetCleared(of dataset: Dataset, before instant: Int64, _ turn: inout Turn) {
        let maximum = configuration.limits.liveTopics
        while let state = dataset.clearedStates.popOldest(clearedBefore: instant, maximum: maximum) {
            liveStates.remove(state)
            turn.keep(.forgetLiveState(dataset: dataset.id, topic: state.topic))
        }
    }

    func publishLive(topic: String, payload: [UInt8], _ turn: inout Turn) {
        turn.effects.output.append(.liveState, name: topic, payload: payload)
    }
}
