import Records
import Wire

// A hub that was restored goes on with what another one makes durable, until that one ends and this takes its place.

extension Hub {
    /// Takes in one more durable change between a restoration and ``endRestoration(liveNumber:matchNumber:)``; afterwards the hub is as
    /// if it had been restored behind it.
    ///
    /// - Returns: false where only a restoration from the beginning comes to that: such changes are rare.
    /// - Throws: A ``WireError`` when a row cannot be what this program wrote.
    public func follow(_ change: DurableChange, at now: Int64) throws(WireError) -> Bool {
        if let name = change.dataset { datasets[name]?.beginFollowing() }
        switch change {
        case .put(let record): return try follow(record, change, at: now)
        case .delete(let key): return try followDeletion(of: key, change, at: now)
        case .amend(let it as MatchProgress): outbox.restoreProgress(of: it.key.number, it.completed, it.fate)
        case .amend(let it as EventProgress): outbox.restoreProgress(of: it.key.number, it.completed, it.fate)
        case .amend(let end as MatchEnd): outbox.restoreEnd(of: end.key.number)
        case .forget, .amend, .expire, .forgetTombstones, .putFilters: try restore(change, at: now)
        case .putDocument, .countDocuments: return false
        }
        return true
    }

    private func follow(_ record: any DurableRecord, _ change: DurableChange, at now: Int64) throws(WireError) -> Bool {
        switch record {
        case is DatasetRecord: guard datasets[record.dataset] == nil, deletedDatasets[record.dataset] == nil else { return false }
        case is DatasetDeletionRecord, is StructureRecord: return false
        case is PlaceRecord: guard datasets[record.dataset]?.placesStandAlone != false else { return false }
        case let record as DeviceRecord: return follow(record)
        case let record as LiveStateRecord:
            guard !record.isRemnant, let state = liveStates[record.topic] else { break }
            live.follow(record, state)
            return true
        default: break
        }
        try restore(change, at: now)
        return true
    }

    private func followDeletion(of key: RecordKey, _ change: DurableChange, at now: Int64) throws(WireError) -> Bool {
        switch key.kind {
        case .match: outbox.restoreDeleted(match: key.number)
        case .event: outbox.restoreEnd(of: key.number)
        case .liveState: if let state = liveStates[key.id] { live.follow(nil, state) }
        case .device:
            guard let dataset = dataset(of: key), let device = dataset.devices[key.id] else { return true }
            guard dataset.geofences.following(device: key.id).isEmpty else { return false }
            live.release(device, of: dataset)
            dataset.circumstances.forgetWhereabouts(of: device)
            dataset.remove(device)
        case .place:
            guard dataset(of: key)?.placesStandAlone != false else { return false }
            try restore(change, at: now)
        case .publication, .subscription, .visit, .circumstance, .held, .placeVisit, .geofence, .geofenceVisit, .liveSubscription,
            .beaconMonitor, .follower, .accessKey, .checkpoint, .deletedDataset:
            try restore(change, at: now)
        case .dataset, .structure, .category, .verification, .pair, .stay, .reply: return false
        }
        return true
    }

    private func follow(_ record: DeviceRecord) -> Bool {
        guard let dataset = datasets[record.dataset] else { return true }
        guard let known = dataset.devices[record.id] else {
            guard dataset.geofences.following(device: record.id).isEmpty else { return false }
            live.adoptPosition(dataset.add(record), in: dataset)
            return true
        }
        // What the engines choose devices by.
        guard
            known.record.type == record.type && known.record.beacon == record.beacon && known.record.owner == record.owner
                && (known.record.group == record.group || !dataset.circumstances.isActive)
        else { return false }
        dataset.change(known, to: record)
        return true
    }
}

extension Dataset {
    /// Nothing is evaluated before the restoration has ended.
    fileprivate func beginFollowing() {
        if !circumstances.isRestoring { circumstances.beginRestoring() }
    }

    /// Nothing else is worked out from its places.
    fileprivate var placesStandAlone: Bool { !circumstances.isActive && geofences.isEmpty }
}

extension RecordKey {
    /// Of a kind whose key is a number.
    fileprivate var number: Int64 { if case .integer(let number)? = fields.first { number } else { 0 } }
}
