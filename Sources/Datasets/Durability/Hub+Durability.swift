import LiveTopics
import Records
import Wire

// How the hub comes back: a restart is a replay of what is durable.

extension Hub {
    /// Takes back one durable change; datasets come first, then devices with their publications and subscriptions, and the rest.
    ///
    /// - Throws: A ``WireError`` when a row cannot be what this program wrote.
    public func restore(_ change: DurableChange, at now: Int64) throws(WireError) {
        try restore(change, at: now, again: false)
    }

    /// - Parameter again: Its dataset is loaded again after a refusal; what only memory knows stays.
    func restore(_ change: DurableChange, at now: Int64, again: Bool) throws(WireError) {
        switch change {
        case .put(let record): try RestoredKind[record.kind].put(self, record, Restoration(now: now, isAgain: again))
        case .delete(let key): RestoredKind[key.kind].delete(self, key)
        case .forget(let key): restoreForgotten(key.id, in: key.text(0))
        case .amend(let amendment): RestoredKind[amendment.kind].amend(self, amendment)
        case .countDocuments(let dataset, let count): datasets[dataset]?.documentCount = count
        case .expire, .putDocument, .forgetTombstones, .putFilters: break
        }
    }

    func restore(_ record: DatasetRecord) {
        if let dataset = datasets[record.id] {
            dataset.record = record
        } else {
            datasets[record.id] = Dataset(record, shared)
        }
    }

    func restore(_ record: DatasetDeletionRecord, again: Bool) {
        deletedDatasets[record.dataset] = record.at
        if !again { resync.clearStatus(of: record.dataset) }
    }

    /// Ends a restoration: what waits may go out, numbers go on behind the highest one.
    ///
    /// - Parameters:
    ///   - liveNumber: The highest number of a live state that the store knows.
    ///   - matchNumber: The highest number of a match that the store knows.
    public func endRestoration(liveNumber: Int64, matchNumber: Int64) {
        liveStates.noteNumber(liveNumber)
        outbox.noteNumber(matchNumber)
        outbox.noteDurable(through: outbox.lastNumber)
        for dataset in datasets.values {
            dataset.clearedStates.sort()
            dataset.places.declareRestored()
            dataset.circumstances.beginRestoring()
            dataset.positionsChangedAt = liveNumber
        }
        liveSubscribers.resume()
        restoreSightings(at: 0)
        unresumed.formUnion(datasets.keys)
        findOccupancies()
    }

    func restore(_ record: DeviceRecord) {
        guard let dataset = datasets[record.dataset] else { return }
        if let device = dataset.devices[record.id] {
            dataset.change(device, to: record)
            return
        }
        _ = dataset.add(record)
    }

    func restore(_ record: LiveStateRecord) {
        guard !record.isRemnant, let dataset = datasets[record.dataset] else {
            resync.clear(record.topic, of: record.dataset)
            return
        }
        guard liveStates[record.topic] == nil, let live = try? LiveTopic(encoded: record.topic) else { return }
        let state = LiveState(dataset: dataset, live: live, topic: record.topic)
        state.timestamp = record.timestamp
        state.receivedAt = record.receivedAt
        state.number = record.number
        state.payload = record.payload
        state.isDerived = record.payload.map(LiveMessage.isDerived) ?? false
        liveStates.insert(state, LevelKeys(live))
        if record.payload != nil {
            dataset.countLiveTopic(state, by: 1)
        } else {
            dataset.clearedStates.append(state, again: false)
        }
        liveStates.noteNumber(record.number)
        settle(state)
    }

    /// Ties a known position to what it names, and places that there without asking what it meets.
    ///
    /// - Parameter places: false: the engine is shown by others where it is.
    func settle(_ state: LiveState, places: Bool = true) {
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

    func restore(_ record: ReplyRecord) {
        if let dataset = datasets[record.dataset] {
            dataset.replies.remember(
                record.body, to: record.requestId, of: record.client, at: record.at, limits: configuration.limits)
        } else if deletedDatasets[record.dataset] != nil {
            repliesOfDeleted[record.dataset, default: ReplyMemory()].remember(
                record.body, to: record.requestId, of: record.client, at: record.at, limits: configuration.limits)
        }
    }

    func restore(_ record: MatchRecord, again: Bool) throws(WireError) {
        guard let dataset = datasets[record.dataset] else { return outbox.noteNumber(record.number) }
        // A subscription that was made since has the id of the one it was for.
        let subscription = dataset.geomatching.subscriptions[record.subscriptionId].flatMap {
            $0.record.createdAt <= record.createdAt && $0.record.deviceId.hasSameBytes(as: record.deviceId) ? $0 : nil
        }
        try outbox.restore(
            record, of: dataset.devices[record.deviceId], subscription, dataset.matchAccount, isKnown: again)
    }

    func dataset(of key: RecordKey) -> Dataset? { key.dataset.flatMap { datasets[$0] } }

    // MARK: Writing behind

    /// Some live state is to be made durable now.
    public var hasStatesToWrite: Bool { liveStates.hasDue && storeIsWritable }

    /// Makes up to so many live states durable: in small portions, so that a match never waits behind all of them.
    public func writeBehind(count: Int, _ turn: inout Turn) {
        guard hasStatesToWrite else { return }
        for _ in 0..<count {
            guard let state = liveStates.nextDue() else { break }
            turn.keep(.put(LiveStateRecord(state)))
        }
    }

    /// Everything that is only in memory, for a clean stop.
    public func finish(_ turn: inout Turn) {
        storeIsWritable = true
        liveStates.noteDue()
        writeBehind(count: .max, &turn)
        outbox.record(&turn)
    }
}
