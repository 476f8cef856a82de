import LiveTopics
import Wire
import Records

// Deletions wait for the store's word, and memory goes back where the store refuses what was asked.

/// What is let go of in memory once the store has.
public enum Deletion: Equatable, Sendable {
    case dataset(String)
    case device(dataset: String, id: String)
}

/// The state of a topic before a request changed it.
struct FormerLiveState: Sendable {
    var topic: String
    /// nil where nothing was known.
    var record: LiveStateRecord?
    /// The number the request gave it: a later update is not taken back.
    var numberSince: Int64
}

extension Hub {
    /// The changes of these effects are durable: deletions take effect.
    public func committed(_ deletions: [Deletion], at now: Int64, into effects: inout HubEffects) {
        for deletion in deletions {
            switch deletion {
            case .dataset(let id):
                if let dataset = datasets[id] { removeDataset(dataset, at: now, into: &effects) }
            case .device(let dataset, let id):
                guard let dataset = datasets[dataset], let device = dataset.devices[id] else { continue }
                dataset.occupancy?.leave(id)
                dataset.instant = now
                if let state = device.positionTopic {
                    device.positionTopic = nil
                    forgetState(state, asOf: now, receivedAt: now, into: &effects)
                }
                dataset.remove(device)
            }
        }
        // Snapshots follow the replies that announce them; long ones go on at the pace of the link.
        if outbox.lanes.isOpen { _ = continueSnapshots(count: Self.firstSnapshotMessages, at: now, into: &effects) }
    }

    private static let firstSnapshotMessages = 1000

    /// The store refused the changes of these effects: whoever asked is told `internal`.
    ///
    /// - Returns: The changes nobody asked for (matches, devices made by their position), which wait; and the datasets
    ///   whose memory now says more than the store: to be rebuilt by ``beginRebuilding(_:)``, restoring those datasets
    ///   from the store and then the changes that wait, and ``endRebuilding(_:known:at:into:)``.
    public func refused(
        _ refused: HubEffects, reason: String, at now: Int64, into effects: inout HubEffects
    ) -> (waiting: [DurableChange], datasets: [String]) {
        storeIsWritable = false
        let error = WireError(
            .internal,
            "the store cannot be written (\(reason)); nothing was changed, see the log at \(outage(refused.replies.first, into: &effects))"
        )
        for context in refused.replies where !context.isRepeated {
            if let requestId = context.requestId {
                datasets[context.dataset]?.replies.forget(requestId: requestId, of: context.client)
            }
        }
        for context in refused.replies { answerRefused(context, error, at: now, into: &effects) }
        var asked = Set<Int>()
        for range in refused.requested { asked.formUnion(range) }
        asked.formUnion(Self.matchesOfUnborn(in: refused.changes, asked))
        asked.formUnion(Self.visitsAfterRefused(in: refused.changes, asked))
        asked.formUnion(Self.incidentsOfRefused(in: refused.changes, asked))
        takeBackIncidents(refused.changes, asked)
        let missed = takeBackMatches(refused.changes, asked)
        takeBackLiveSubscriptions(refused.formerLiveSubscriptions)
        takeBackPlaces(refused.formerPlaces)
        takeBackLiveStates(refused.formerStates, at: now, into: &effects)
        // Nothing is kept for a dataset that was to be created by a request.
        let unborn = Set(asked.compactMap { refused.changes[$0].createdDataset })
        var waiting: [DurableChange] = []
        for (index, change) in refused.changes.enumerated() where !asked.contains(index) {
            if let dataset = change.dataset, unborn.contains(dataset) { continue }
            waiting.append(change.without(missed, formerMatchAt: refused.formerMatchInstants[index] ?? nil))
        }
        return (waiting, Set(refused.replies.map(\.dataset)).sorted())
    }

    /// Lets go of what the store gives back of these datasets.
    public func beginRebuilding(_ names: [String]) {
        isRebuilding = true
        for name in names { datasets[name]?.reset() }
        datasetsWithDeliveries.removeAll { dataset in names.contains(dataset.id) }
        for state in liveStates.all where names.contains(state.dataset.id) { state.device = nil }
    }

    /// Stands the devices where they are again. Datasets that the store does not know are gone.
    public func endRebuilding(_ names: [String], known: Set<String>, at now: Int64, into effects: inout HubEffects) {
        isRebuilding = false
        for name in names where !known.contains(name) {
            guard let dataset = datasets[name] else { continue }
            // What the store gave back of an earlier deletion stands.
            let deletedAt = deletedDatasets[name]
            removeDataset(dataset, at: now, into: &effects)
            // It never was: nobody deleted it.
            effects.notices.removeAll { $0 == .datasetDeleted(name) }
            deletedDatasets[name] = deletedAt
        }
        for state in liveStates.all where names.contains(state.dataset.id) { settle(state) }
        for name in names { datasets[name]?.beaconField.monitors.endReset() }
        unresumed.formUnion(names.filter { datasets[$0] != nil })
        findOccupancies()
    }

    /// The name of the present refusal in the log, which is told of it once.
    func outage(_ context: ReplyContext?, into effects: inout HubEffects) -> String {
        if let outageID { return outageID }
        let id = identifiers.uuid()
        outageID = id
        effects.notices.append(.internalFailure(id: id, request: context?.request ?? "-"))
        return id
    }

    // MARK: Taking back

    private func answerRefused(
        _ context: ReplyContext, _ error: WireError, at now: Int64, into effects: inout HubEffects
    ) {
        var body = context.encode(error)
        if context.isRepeated, let requestId = context.requestId,
            let first = datasets[context.dataset]?.replies.reply(to: requestId, of: context.client, at: now)
        {
            body = first
        } else {
            datasets[context.dataset]?.counters.failedRequests += 1
        }
        effects.messages.append(
            topic: context.topic, prefix: configuration.topicsPrefix, qos: 1, retain: false, correlation: context.correlation,
            payload: body)
    }

    /// Where in the changes stand matches of what a refused request was to create: positions in the same batch led to them.
    private static func matchesOfUnborn(in changes: [DurableChange], _ asked: Set<Int>) -> [Int] {
        var unborn = Set<UnbornObject>()
        for index in asked {
            switch changes[index] {
            case .putPublication(let record) where Revision.generation(of: record.revision) == 1:
                unborn.insert(UnbornObject(dataset: record.dataset, id: ByteKey(record.id), isPublication: true))
            case .putSubscription(let record) where Revision.generation(of: record.revision) == 1:
                unborn.insert(UnbornObject(dataset: record.dataset, id: ByteKey(record.id), isPublication: false))
            default: break
            }
        }
        guard !unborn.isEmpty else { return [] }
        return changes.indices.filter { index in
            let pair: (dataset: String, publication: String, subscription: String)
            switch changes[index] {
            case .putMatch(let record): pair = (record.dataset, record.publicationId, record.subscriptionId)
            case .putPair(let record): pair = (record.dataset, record.publicationId, record.subscriptionId)
            case .putVisit(let record): pair = (record.dataset, record.publicationId, record.subscriptionId)
            case .deleteVisit(let dataset, let subscription, let publication): pair = (dataset, publication, subscription)
            default: return false
            }
            return unborn.contains(UnbornObject(dataset: pair.dataset, id: ByteKey(pair.publication), isPublication: true))
                || unborn.contains(UnbornObject(dataset: pair.dataset, id: ByteKey(pair.subscription), isPublication: false))
        }
    }

    /// Where in the changes stand visits and their messages that follow one which a refused request began or ended: the pair stands
    /// where it stood before the request.
    private static func visitsAfterRefused(in changes: [DurableChange], _ asked: Set<Int>) -> [Int] {
        var undone = Set<VisitingPair>()
        var following: [Int] = []
        for (index, change) in changes.enumerated() {
            guard let (pair, isVisit) = VisitingPair.of(change) else { continue }
            if asked.contains(index) {
                if isVisit { undone.insert(pair) }
            } else if undone.contains(pair) {
                following.append(index)
            }
        }
        return following
    }

    /// Matches that a refused request led to never were.
    ///
    /// - Returns: What the delivery counters of each subscription lose.
    private func takeBackMatches(_ changes: [DurableChange], _ asked: Set<Int>) -> [MatchedSubscription: TakenBack] {
        var missed: [MatchedSubscription: TakenBack] = [:]
        for (index, change) in changes.enumerated() {
            guard case .putMatch(let record) = change else { continue }
            let key = MatchedSubscription(dataset: record.dataset, id: ByteKey(record.subscriptionId))
            guard asked.contains(index) else {
                missed[key, default: TakenBack()].keptMatchAt = record.createdAt
                continue
            }
            let isPending = outbox.remove(record.number) != nil
            outdated.remove(record.number)
            let counters = datasets[record.dataset]
            counters?.counters.matched -= 1
            if isPending { counters?.counters.pending -= 1 } else { counters?.counters.dropped -= 1 }
            missed[key, default: TakenBack()].matched += 1
            if !isPending { missed[key]?.dropped += 1 }
        }
        return missed
    }

    /// Puts live states back, the newest change first, and tells them again.
    private func takeBackLiveStates(_ former: [FormerLiveState], at now: Int64, into effects: inout HubEffects) {
        var changed: [LiveState] = []
        for former in former.reversed() {
            guard let state = liveStates[former.topic], state.number == former.numberSince else { continue }
            tellTakenBack(state, to: former.record, at: now, into: &effects)
            takeBack(state, to: former.record)
            if !changed.contains(where: { $0 === state }) { changed.append(state) }
        }
        for state in changed {
            publishLive(topic: state.topic, payload: state.payload ?? [], into: &effects)
            if state.payload != nil { tellSubscribers(of: state, at: now, into: &effects) }
            guard state.isKnown else { continue }
            liveNumber += 1
            state.number = liveNumber
            if state.payload == nil { state.dataset.clearedStates.append(state, again: true) }
            markDirty(state)
        }
    }

    /// Where nothing is known after all, who saw the state is told that it left.
    private func tellTakenBack(
        _ state: LiveState, to record: LiveStateRecord?, at now: Int64, into effects: inout HubEffects
    ) {
        guard record?.payload == nil, let refused = state.payload else { return }
        showBeforeChange(state, at: now, into: &effects)
        state.payload = nil
        tellSubscribers(of: state, former: refused, formerNumber: state.number, at: now, into: &effects)
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

/// A publication or subscription that was to be created.
private struct UnbornObject: Hashable {
    var dataset: String
    var id: ByteKey
    var isPublication: Bool
}

/// A pair whose visits begin and end.
private struct VisitingPair: Hashable {
    var dataset: String
    var subscription: ByteKey
    var publication: ByteKey

    /// The pair a change is about, and whether it is a begin or an end itself.
    static func of(_ change: DurableChange) -> (VisitingPair, Bool)? {
        func pair(_ dataset: String, _ subscription: String, _ publication: String) -> VisitingPair {
            VisitingPair(dataset: dataset, subscription: ByteKey(subscription), publication: ByteKey(publication))
        }
        switch change {
        case .putVisit(let record): return (pair(record.dataset, record.subscriptionId, record.publicationId), true)
        case .deleteVisit(let dataset, let subscription, let publication): return (pair(dataset, subscription, publication), true)
        case .putMatch(let record): return (pair(record.dataset, record.subscriptionId, record.publicationId), false)
        default: return nil
        }
    }
}

/// A subscription of any dataset.
private struct MatchedSubscription: Hashable {
    var dataset: String
    var id: ByteKey
}

/// What its delivery counters lose.
private struct TakenBack {
    var matched: Int64 = 0
    var dropped: Int64 = 0
    /// The last match in the same batch that stays.
    var keptMatchAt: Int64?
}

extension DurableChange {
    /// The dataset that this change creates.
    fileprivate var createdDataset: String? {
        if case .putDataset(let record) = self, Revision.generation(of: record.revision) == 1 { record.id } else { nil }
    }

    /// Delivery counters without the matches that never were.
    fileprivate func without(_ missed: [MatchedSubscription: TakenBack], formerMatchAt: Int64?) -> DurableChange {
        guard case .putDelivery(let dataset, let id, var delivery) = self,
            let missed = missed[MatchedSubscription(dataset: dataset, id: ByteKey(id))], missed.matched > 0
        else { return self }
        delivery.lastMatchAt = missed.keptMatchAt ?? formerMatchAt
        delivery.matched -= missed.matched
        delivery.dropped -= missed.dropped
        return .putDelivery(dataset: dataset, subscriptionId: id, delivery)
    }
}
