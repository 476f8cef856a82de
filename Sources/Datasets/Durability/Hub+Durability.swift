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
        case .forget(let key): datasets[key.text(0)]?.restoreForgotten(key.id)
        case .amend(let amendment): RestoredKind[amendment.kind].amend(self, amendment)
        case .countDocuments(let dataset, let owner, let count): datasets[dataset]?.feed.countDocuments(of: owner, by: count)
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

    /// Ends a restoration: what waits may go out, numbers go on behind the highest one.
    ///
    /// - Parameters:
    ///   - liveNumber: The highest number of a live state that the store knows.
    ///   - matchNumber: The highest number of a match that the store knows.
    public func endRestoration(liveNumber: Int64, matchNumber: Int64) {
        liveStates.noteNumber(liveNumber)
        outbox.noteNumber(matchNumber)
        outbox.endRestoration()
        live.endRestoration()
        for dataset in datasets.values {
            dataset.clearedStates.sort()
            dataset.places.declareRestored()
            dataset.circumstances.beginRestoring()
            dataset.geofences.isRestoring = true
            dataset.positionsChangedAt = liveNumber
        }
        liveSubscribers.resume()
        live.restoreSightings(at: 0)
        unresumed.formUnion(datasets.keys)
        live.findOccupancies()
    }

    func restore(_ record: DeviceRecord) {
        guard let dataset = datasets[record.dataset] else { return }
        if let device = dataset.devices[record.id] { dataset.change(device, to: record) } else { _ = dataset.add(record) }
    }

    func restore(_ record: LiveStateRecord) {
        guard !record.isRemnant, let dataset = datasets[record.dataset] else {
            live.resync.clear(record.topic, of: record.dataset)
            return
        }
        live.restore(record, in: dataset)
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

    /// What is kept from now on becomes durable under this token, and whether requests wait for what was kept before.
    public func begin(token: UInt64, isAwaited: Bool) {
        live.recentMoves.token = token
        live.recentMoves.isAwaited = isAwaited
    }

    // MARK: Writing behind

    /// How many live states are to be made durable now.
    public var statesToWriteCount: Int { storeIsWritable ? liveStates.dueCount : 0 }
    public var hasStatesToWrite: Bool { statesToWriteCount > 0 }

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
        liveSubscribers.releaseAll(&turn)
        writeBehind(count: .max, &turn)
        recordDeliveries(&turn)
    }

    /// Makes durable at once what became of deliveries.
    public func recordDeliveries(_ turn: inout Turn) {
        outbox.recordProgress(ofThoseMadeBy: .max, &turn)
        outbox.record(&turn)
    }
}
