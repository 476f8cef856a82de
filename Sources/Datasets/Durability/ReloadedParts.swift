import LiveTopics
import Places
import Records
import Wire

/// What was found of what is loaded again one by one.
struct ReloadedParts {
    private var places: [PartKey: Place] = [:]
    private var categories: [PartKey: Category] = [:]
    private var verifications: [PartKey: [Int: Int]] = [:]
    private var liveStates: [PartKey: LiveStateRecord] = [:]
    private var liveSubscriptions: [PartKey: LiveSubscriptionRecord] = [:]
    private var followers: [PartKey: FollowerRecord] = [:]

    private struct PartKey: Hashable {
        var dataset: String
        var first: ByteKey
        var second: ByteKey

        init(_ dataset: String, _ first: String, _ second: String = "") {
            self.dataset = dataset
            self.first = ByteKey(first)
            self.second = ByteKey(second)
        }
    }

    mutating func take(_ change: DurableChange) {
        switch change {
        case .putPlace(let record): places[PartKey(record.dataset, record.place.id)] = record.place
        case .deletePlace(let dataset, let id): places[PartKey(dataset, id)] = nil
        case .putCategory(let record): categories[PartKey(record.dataset, record.category.id)] = record.category
        case .putVerification(let record):
            if record.count > 0 {
                verifications[PartKey(record.dataset, record.placeID), default: [:]][record.hour] = record.count
            }
        case .putLiveState(let record): liveStates[PartKey(record.dataset, record.topic)] = record
        case .forgetLiveState(let dataset, let topic): liveStates[PartKey(dataset, topic)] = nil
        case .putLiveSubscription(let record): liveSubscriptions[PartKey(record.dataset, record.client, record.id)] = record
        case .deleteLiveSubscription(let dataset, let client, let id):
            liveSubscriptions[PartKey(dataset, client, id)] = nil
        case .putFollower(let record): followers[PartKey(record.dataset, record.client)] = record
        case .deleteFollower(let dataset, let client): followers[PartKey(dataset, client)] = nil
        default: break
        }
    }

    func place(_ id: String, in dataset: String) -> Place? { places[PartKey(dataset, id)] }
    func category(_ id: String, in dataset: String) -> Category? { categories[PartKey(dataset, id)] }
    /// How often the place was verified, by hour.
    func verifications(_ placeID: String, in dataset: String) -> [Int: Int] {
        verifications[PartKey(dataset, placeID)] ?? [:]
    }
    func liveState(_ topic: String, in dataset: String) -> LiveStateRecord? { liveStates[PartKey(dataset, topic)] }
    func liveSubscription(_ client: String, _ id: String, in dataset: String) -> LiveSubscriptionRecord? {
        liveSubscriptions[PartKey(dataset, client, id)]
    }
    func follower(_ client: String, in dataset: String) -> FollowerRecord? { followers[PartKey(dataset, client)] }
}

extension Hub {
    func reload(place id: String, _ found: ReloadedParts, in name: String) {
        guard let book = datasets[name]?.places else { return }
        if let place = found.place(id, in: name) {
            _ = try? book.table.upsert(place)
            let hours = found.verifications(id, in: name)
            if !hours.isEmpty { book.setVerifications(of: id, to: hours) }
        } else {
            book.table.remove(id)
            book.setVerifications(of: id, to: [:])
        }
    }

    func reload(category id: String, _ found: ReloadedParts, in name: String) {
        guard let table = datasets[name]?.places.table else { return }
        if let category = found.category(id, in: name) {
            _ = try? table.declare([category])
        } else {
            table.removeCategory(id)
        }
    }

    func reload(verification record: VerificationRecord, _ found: ReloadedParts) {
        guard let book = datasets[record.dataset]?.places else { return }
        let count = found.verifications(record.placeID, in: record.dataset)[record.hour] ?? 0
        book.setVerifications(of: record.placeID, in: record.hour, to: count)
        // Devices may say again what did not become durable.
        book.forgetVerified()
    }

    func reload(live client: String, _ id: String, _ found: ReloadedParts, in name: String) throws {
        if let record = found.liveSubscription(client, id, in: name) {
            if let dataset = datasets[name] { try liveSubscribers.restore(record, in: dataset, again: true) }
        } else if let known = datasets[name]?.liveSubscriptions[client, id] {
            liveSubscribers.remove(known)
        }
    }

    func reload(follower client: String, _ found: ReloadedParts, in name: String) {
        let known = followers[name, client]
        if let record = found.follower(client, in: name) {
            if known?.record.since != record.since { followers.restore(record) }
        } else if let known {
            followers.remove(known)
        }
    }

    /// Puts live states back that requests changed, and reports them again; what was reported since stands.
    func takeBack(_ parts: [DurableChange], _ found: ReloadedParts, _ turn: inout Turn) {
        var changed: [LiveState] = []
        for case .putLiveState(let refused) in parts.reversed() {
            guard !refused.isRemnant, let state = liveStates[refused.topic], state.number == refused.number else { continue }
            let former = found.liveState(refused.topic, in: refused.dataset)
            tellTakenBack(state, to: former, &turn)
            takeBack(state, to: former)
            if !changed.contains(where: { $0 === state }) { changed.append(state) }
        }
        for state in changed {
            publishLive(topic: state.topic, payload: state.payload ?? [], &turn)
            if state.payload != nil, !state.dataset.liveSubscriptions.isEmpty { liveSubscribers.report(state, &turn) }
            guard state.isKnown else { continue }
            state.number = liveStates.nextNumber()
            if state.payload == nil { state.dataset.clearedStates.append(state, again: true) }
            liveStates.markDirty(state)
        }
    }

    /// Where nothing is known after all, who saw the state is told that it left.
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
        case (true, false): dataset.countLiveTopic(state.domain, by: -1)
        case (false, true): dataset.countLiveTopic(state.domain, by: 1)
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
