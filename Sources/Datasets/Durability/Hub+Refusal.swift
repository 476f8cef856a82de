import LiveTopics
import Records
import Wire

// The store refused what requests asked for: their datasets wait until they are loaded again.

extension Hub {
    /// Changes became durable: what waited for them happens.
    ///
    /// - Parameter token: They were handed to the store under it; nil: there were none.
    public func committed(_ done: Uncommitted, token: UInt64?, _ turn: inout Turn) {
        if let token { live.recentMoves.forget(through: token) }
        for sequel in done.sequels {
            switch sequel {
            case .matches(let number):
                outbox.noteDurable(through: number)
                outbox.send(&turn)
            case .liveSubscription(let handle, let serial):
                liveSubscribers.begin(handle, serial: serial, &turn)
            case .creation(let name): datasets[name]?.isDurable = true
            case .deletion(let name):
                guard let dataset = datasets[name], case .deletion? = dataset.suspension else { continue }
                removeDataset(dataset, &turn)
                resume(name, &turn)
            case .erasure(let topics, let forgotten):
                turn.effects.erasedInputs += topics
                turn.effects.forgotten.append(forgotten)
            case .livePositions(let livePositions, let name):
                if let dataset = datasets[name] { live.apply(livePositions, of: dataset, &turn) }
            }
        }
    }

    /// The store refused changes: the clients that asked for them get `internal`, and their datasets wait until they were read again; see
    /// ``loaded(_:_:)``.
    ///
    /// - Parameters:
    ///   - lost: What was refused, in order.
    ///   - token: Of the first of it.
    ///   - waiting: What was handed to the store before that and waits still, in order.
    /// - Returns: What is to be read.
    public func refused(
        _ lost: Uncommitted, from token: UInt64, waiting: [DurableChange], reason: String, _ turn: inout Turn
    ) -> LoadRequest {
        storeIsWritable = false
        var load = PendingLoad(lost, waiting: waiting, lastNumber: outbox.lastNumber)
        answerRefused(lost, reason: reason, &turn)
        forgetMatches(&load)
        for name in load.refusal.datasets {
            guard let dataset = datasets[name] else { continue }
            dataset.isLoading = true
            load.moves[name] = live.recentMoves.since(token, of: name)
            let subscriptions = dataset.geomatching.subscriptions
            for id in subscriptions.keys {
                if let subscription = subscriptions[id] { load.deliveries.note(subscription) }
            }
            for removed in live.recentMoves.removed(of: name) where subscriptions[removed.record.id] == nil {
                load.deliveries.note(removed)
            }
        }
        load.deliveries.correct()
        live.recentMoves.removeAll()
        pendingLoad = load
        return LoadRequest(datasets: load.refusal.datasets, parts: load.refusal.parts)
    }

    /// What a refusal has waiting was read: its datasets become what is durable, with what waits to be and what nobody asked for, and go on.
    ///
    /// - Returns: What nobody asked for, to be handed to the store again.
    /// - Throws: Where something cannot be what this program wrote; it may be read and loaded again.
    public func loaded(_ state: LoadedState, _ turn: inout Turn) throws -> Uncommitted {
        guard var load = pendingLoad else { return Uncommitted() }
        for name in load.refusal.datasets { beginReloading(name) }
        try reloadParts(load, state.parts, &turn)
        try reload(&load, state.datasets, turn.now)
        for case .put(let record as DatasetRecord) in state.datasets { datasets[record.id]?.isDurable = true }
        turn.effects.datasetsChanged = true
        // In one transaction with what they count.
        let kept = load.refusal.kept + endReloading(load, &turn)
        pendingLoad = nil
        for name in load.refusal.datasets { datasets[name]?.isLoading = false }
        for name in load.deletions {
            if let dataset = datasets[name], dataset.isBeingDeleted { dataset.suspension = nil }
        }
        let answers = deferredAnswers
        deferredAnswers = []
        for (query, finding) in answers { answer(query, with: finding, &turn) }
        // What waited and changes something is refused with what was lost: the store cannot be written as far as is known.
        for name in load.refusal.datasets + load.deletions where datasets[name]?.isPushing != true { resume(name, &turn) }
        return load.again(kept)
    }

    /// The process ends before its datasets were read.
    ///
    /// - Returns: What nobody asked for, to be handed to the store again.
    public func abandonLoading() -> Uncommitted {
        guard let load = pendingLoad else { return Uncommitted() }
        pendingLoad = nil
        return load.again(load.refusal.kept)
    }

    private func answerRefused(_ lost: Uncommitted, reason: String, _ turn: inout Turn) {
        let error = WireError(
            .internal,
            "the store cannot be written (\(reason)); nothing was changed, see the log at \(outage(lost.replies.first, &turn))")
        for context in lost.replies where !context.isRepeated {
            if let requestId = context.requestId {
                datasets[context.dataset]?.replies.forget(requestId: requestId, of: context.client)
            }
        }
        for var context in lost.replies {
            context.address.load = 0
            var body = context.encode(error)
            if context.isRepeated, let requestId = context.requestId,
                let first = datasets[context.dataset]?.replies.reply(to: requestId, of: context.client, at: turn.now)
            {
                body = first
            } else {
                datasets[context.dataset]?.requestCounters.failed += 1
            }
            turn.effects.output.append(.reply(context.address), payload: body)
        }
    }

    /// The name of the present refusal in the log, which reports it once.
    func outage(_ context: ReplyContext?, _ turn: inout Turn) -> String {
        if let outageID { return outageID }
        let id = turn.newID()
        outageID = id
        turn.note(.internalFailure(id: id, request: context?.request ?? "-"))
        return id
    }

    /// Matches and events that are not kept never were.
    private func forgetMatches(_ load: inout PendingLoad) {
        for case .put(let record as EventRecord) in load.refusal.dropped { outbox.discard(event: record.number) }
        for case .put(let record as MatchRecord) in load.refusal.dropped {
            let isPending = outbox.discard(match: record.number, datasets[record.dataset]?.matchAccount)
            load.deliveries.forget(record, isPending: isPending)
        }
        for case .put(let record as MatchRecord) in load.refusal.kept { load.deliveries.keep(record) }
    }

    // MARK: Loading

    private func beginReloading(_ name: String) {
        accessKeys.removeAll(of: name)
        guard let dataset = datasets[name] else { return }
        outbox.forgetChanges(of: name)
        dataset.reset()
        for state in liveStates.all where state.dataset === dataset { state.device = nil }
    }

    /// Restores what was read of whole datasets, and what came later.
    private func reload(_ load: inout PendingLoad, _ state: [DurableChange], _ now: Int64) throws {
        let names = Set(load.refusal.datasets)
        load.vanished = names
        for change in state + load.later {
            if case .put(let record) = change {
                if let record = record as? DatasetRecord { load.vanished.remove(record.id) }
                // Memory knows these.
                if record.kind == .reply || record.kind == .event { continue }
            }
            guard let name = change.dataset, names.contains(name), !change.isLoadedAlone else { continue }
            try restore(change, at: now, again: true)
        }
    }

    /// Loads again, one by one, what is not loaded with its dataset.
    private func reloadParts(_ load: PendingLoad, _ state: [DurableChange], _ turn: inout Turn) throws {
        let parts = load.refusal.parts
        guard !parts.isEmpty else { return }
        var found = ReloadedParts()
        for change in state + load.later { found.add(change) }
        for change in parts.reversed() {
            switch change {
            case .put(let record): try RestoredKind[record.kind].reload?(self, record.key, found)
            case .delete(let key): try RestoredKind[key.kind].reload?(self, key, found)
            default: break
            }
        }
        live.putBack(parts, found, &turn)
    }

    /// Has the devices where they are again. Datasets that the store does not know are gone.
    ///
    /// - Returns: Delivery counters that are others than those that are durable.
    private func endReloading(_ load: PendingLoad, _ turn: inout Turn) -> [DurableChange] {
        var deliveries: [DurableChange] = []
        for dataset in datasets.values { dataset.places.declareRestored() }
        for name in load.vanished.sorted() {
            guard let dataset = datasets[name] else { continue }
            // What the store gave back of an earlier deletion is kept.
            let deletedAt = deletedDatasets[name]
            if dataset.isPushing { pushesWaiting -= 1 }
            removeDataset(dataset, &turn)
            // It never was: nobody deleted it.
            turn.effects.notices.removeAll { $0 == .datasetDeleted(name) }
            deletedDatasets[name] = deletedAt
        }
        for name in load.refusal.datasets {
            guard let dataset = datasets[name] else { continue }
            let moves = load.moves[name] ?? RecentMoves.Since()
            live.placeDevices(of: dataset, before: moves)
            dataset.beacons.monitors.endReset()
            deliveries += dataset.geofences.endReset()
            let subscriptions = dataset.geomatching.subscriptions
            for id in subscriptions.keys {
                guard let subscription = subscriptions[id], load.deliveries.apply(to: subscription) else { continue }
                deliveries.append(.putDelivery(dataset: name, subscriptionId: id, subscription.record.delivery))
            }
            live.repeatMoves(moves, of: dataset, &turn)
        }
        live.findOccupancies()
        return deliveries
    }
}

/// A refusal whose datasets are not loaded yet.
struct PendingLoad {
    let refusal: Refusal
    /// What was handed to the store before it and waits still, in order.
    private let waiting: [DurableChange]
    /// The last number given to a match when it came.
    private let lastNumber: Int64
    /// Datasets whose deletion was refused.
    let deletions: [String]
    /// What moved in each dataset since its first refused request.
    var moves: [String: RecentMoves.Since] = [:]
    fileprivate var deliveries = DeliveryCorrections()
    /// Datasets that are not in the store.
    var vanished: Set<String> = []

    init(_ lost: Uncommitted, waiting: [DurableChange], lastNumber: Int64) {
        refusal = Refusal(lost)
        self.waiting = waiting
        self.lastNumber = lastNumber
        deletions = lost.sequels.compactMap { if case .deletion(let name) = $0 { name } else { nil } }
    }

    /// What is to be true of what is read, or is already.
    var later: [DurableChange] { waiting + refusal.kept }

    /// What is handed to the store again.
    func again(_ kept: [DurableChange]) -> Uncommitted {
        var again = Uncommitted(unasked: kept)
        if !kept.isEmpty { again.sequels.append(.matches(through: lastNumber)) }
        again.sequels += kept.compactMap { $0.createdDataset.map { .creation(dataset: $0) } }
        return again
    }
}

/// What of the refused changes goes, and what is tried again.
struct Refusal {
    /// What requests asked for.
    var refused: [DurableChange] = []
    /// All that goes: what requests asked for, and what was decided since, which is decided again.
    var dropped: [DurableChange] = []
    /// What nobody asked for.
    var kept: [DurableChange] = []
    /// Those that requests were to change, by name.
    var datasets: [String] = []
    /// What is loaded again one by one.
    var parts: [DurableChange] { refused.filter(\.isLoadedAlone) }

    init(_ lost: Uncommitted) {
        var unborn = Set<String>()
        var names = Set<String>()
        for (change, isAsked) in zip(lost.changes, lost.asked) where isAsked {
            refused.append(change)
            if let name = change.createdDataset { unborn.insert(name) }
            if let name = change.dataset { names.insert(name) }
        }
        var begun = Set<String>()
        for (change, isAsked) in zip(lost.changes, lost.asked) {
            let name = change.dataset ?? ""
            if isAsked { begun.insert(name) }
            // Delivery counters are corrected when the rest is there.
            if case .amend(is DeliveryAmendment) = change, names.contains(name) { continue }
            let goes = isAsked || unborn.contains(name) || change.isEvaluated && begun.contains(name)
            if goes { dropped.append(change) } else { kept.append(change) }
        }
        datasets = names.sorted()
    }
}

/// Delivery counters over a reload: memory knows them, but for matches that never were.
private struct DeliveryCorrections {
    private struct Key: Hashable {
        var dataset: String
        var id: ByteKey

        init(_ dataset: String, _ id: String) {
            self.dataset = dataset
            self.id = ByteKey(id)
        }
    }

    private struct Correction {
        /// As it was: what becomes of its matches is counted there until it is loaded.
        var subscription: Subscription?
        var matched: Int64 = 0
        var dropped: Int64 = 0
        var keptMatchAt: Int64?
    }

    private var corrections: [Key: Correction] = [:]

    mutating func forget(_ record: MatchRecord, isPending: Bool) {
        let key = Key(record.dataset, record.subscriptionId)
        corrections[key, default: Correction()].matched += 1
        if !isPending { corrections[key]?.dropped += 1 }
    }

    mutating func keep(_ record: MatchRecord) {
        corrections[Key(record.dataset, record.subscriptionId), default: Correction()].keptMatchAt = record.createdAt
    }

    mutating func note(_ subscription: Subscription) {
        let record = subscription.record
        corrections[Key(record.dataset, record.id), default: Correction()].subscription = subscription
    }

    /// Counts what never was no longer.
    func correct() {
        for correction in corrections.values {
            correction.subscription?.record.delivery.matched -= correction.matched
            correction.subscription?.record.delivery.dropped -= correction.dropped
        }
    }

    /// - Returns: Whether its counters are others than those that are durable.
    func apply(to subscription: Subscription) -> Bool {
        let record = subscription.record
        guard let correction = corrections[Key(record.dataset, record.id)],
            var delivery = correction.subscription?.record.delivery
        else { return false }
        if correction.matched > 0 { delivery.lastMatchAt = correction.keptMatchAt ?? record.delivery.lastMatchAt }
        guard delivery != record.delivery else { return false }
        subscription.record.delivery = delivery
        return true
    }
}
