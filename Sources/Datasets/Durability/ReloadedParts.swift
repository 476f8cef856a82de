import LiveTopics
import Places
import Records
import Wire

/// What was found of what is loaded again one by one.
struct ReloadedParts {
    private var records: [RecordKey: any DurableRecord] = [:]
    /// How often places were verified, by hour.
    private var verifications: [RecordKey: [Int: Int]] = [:]

    mutating func take(_ change: DurableChange) {
        guard change.isLoadedAlone else { return }
        switch change {
        case .put(let record as VerificationRecord):
            let key = RecordKey.place(dataset: record.dataset, id: record.placeID)
            if record.count > 0 { verifications[key, default: [:]][record.hour] = record.count }
        case .put(let record): records[record.key] = record
        case .delete(let key): records[key] = nil
        default: break
        }
    }

    func record<Record: DurableRecord>(_ key: RecordKey, as type: Record.Type = Record.self) -> Record? {
        records[key] as? Record
    }

    /// How often the place was verified, by hour.
    func verifications(_ placeID: String, in dataset: String) -> [Int: Int] {
        verifications[.place(dataset: dataset, id: placeID)] ?? [:]
    }
}

extension Hub {
    func reload(place id: String, _ found: ReloadedParts, in name: String) {
        guard let book = datasets[name]?.places else { return }
        if let place = found.record(.place(dataset: name, id: id), as: PlaceRecord.self)?.place {
            _ = try? book.table.upsert(place)
            let hours = found.verifications(id, in: name)
            if !hours.isEmpty { book.setVerifications(of: id, to: hours) }
        } else {
            book.remove(id)
        }
    }

    func reload(category id: String, _ found: ReloadedParts, in name: String) {
        guard let table = datasets[name]?.places.table else { return }
        if let category = found.record(.category(dataset: name, id: id), as: CategoryRecord.self)?.category {
            _ = try? table.declare([category])
        } else {
            table.removeCategory(id)
        }
    }

    func reload(verification key: RecordKey, _ found: ReloadedParts) {
        guard let book = dataset(of: key)?.places, case .integer(let hour) = key.fields[2] else { return }
        let count = found.verifications(key.id, in: key.text(0))[Int(hour)] ?? 0
        book.setVerifications(of: key.id, in: Int(hour), to: count)
        // Devices may say again what did not become durable.
        book.forgetVerified()
    }

    func reload(live key: RecordKey, _ found: ReloadedParts) throws {
        guard let dataset = dataset(of: key) else { return }
        if let record = found.record(key, as: LiveSubscriptionRecord.self) {
            try liveSubscribers.restore(record, in: dataset, again: true)
        } else if let known = dataset.liveSubscriptions[key.text(1), key.text(2)] {
            liveSubscribers.remove(known)
        }
    }

    func reload(follower key: RecordKey, _ found: ReloadedParts) {
        guard let dataset = key.dataset else { return }
        let known = followers[dataset, key.text(1)]
        if let record = found.record(key, as: FollowerRecord.self) {
            if known?.record.since != record.since { followers.restore(record) }
        } else if let known {
            followers.remove(known)
        }
    }

    /// Puts live states back that requests changed, and reports them again; what was reported since is kept.
    func takeBack(_ parts: [DurableChange], _ found: ReloadedParts, _ turn: inout Turn) {
        var changed: [LiveState] = []
        for case .put(let refused as LiveStateRecord) in parts.reversed() {
            guard !refused.isRemnant, let state = liveStates[refused.topic], state.number == refused.number else { continue }
            let former = found.record(refused.key, as: LiveStateRecord.self)
            tellTakenBack(state, to: former, &turn)
            takeBack(state, to: former)
            if !changed.contains(where: { $0 === state }) { changed.append(state) }
        }
        for state in changed {
            publish(state, &turn)
            if state.payload != nil, !state.dataset.liveSubscriptions.isEmpty { liveSubscribers.report(state, &turn) }
            guard state.isKnown else { continue }
            state.number = liveStates.nextNumber()
            if state.payload == nil { state.dataset.clearedStates.append(state, again: true) }
            liveStates.markDirty(state)
        }
    }

    /// Where nothing is known after all, subscribers that saw the state hear that it left.
    private func tellTakenBack(_ state: LiveState, to record: LiveStateRecord?, _ turn: inout Turn) {
        guard record?.payload == nil, let refused = state.payload else { return }
        guard !state.dataset.liveSubscriptions.isEmpty else { return }
        liveSubscribers.reportBeforeChange(state, &turn)
        state.payload = nil
        liveSubscribers.report(state, former: refused, formerNumber: state.number, &turn)
        state.payload = refused
    }

    private func takeBack(_ state: LiveState, to record: LiveStateRecord?) {
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
            liveStates.remove(state)
        } else if state.payload == nil {
            dataset.clearedStates.append(state, again: false)
        }
    }
}
