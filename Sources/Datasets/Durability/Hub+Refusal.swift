import LiveTopics
import Records
import Wire

// The store refused what requests asked for: their datasets are loaded again.

/// What gives back what is durable.
public protocol DurableState: AnyObject {
    /// All of a dataset but its places, categories and verifications.
    func restore(dataset: String, _ visit: (DurableChange) throws -> Void) throws
    /// What is durable of what these changes are about, one by one: `put…` where there is something, nothing else.
    func restore(like changes: [DurableChange], _ visit: (DurableChange) throws -> Void) throws
}

extension Hub {
    /// Changes became durable: what waited for them happens.
    ///
    /// - Parameter token: They were handed to the store under it; nil: there were none.
    public func committed(_ done: Uncommitted, token: UInt64?, _ turn: inout Turn) {
        if let token { recentMoves.forget(through: token) }
        for sequel in done.sequels {
            switch sequel {
            case .matches(let number):
                outbox.durable(through: number)
                sendMatches(&turn)
            case .liveSubscription(let handle):
                if let subscription = liveHandles[handle] { begin(subscription, &turn) }
            case .deletion(let name):
                guard let dataset = datasets[name], case .deletion? = dataset.suspension else { continue }
                removeDataset(dataset, &turn)
                resume(dataset, &turn)
            }
        }
    }

    /// The store refused changes: whoever asked for some of them gets `internal`, and their datasets become what is durable, with what
    /// waits to be and what nobody asked for.
    ///
    /// - Parameters:
    ///   - lost: What was refused, in order.
    ///   - token: Of the first of it.
    ///   - waiting: What was handed to the store before that and waits still, in order.
    /// - Returns: What nobody asked for, to be handed to the store again.
    /// - Throws: Where the store cannot be read either.
    public func refused(
        _ lost: Uncommitted, from token: UInt64, waiting: [DurableChange], reason: String, reading state: any DurableState,
        _ turn: inout Turn
    ) throws -> Uncommitted {
        storeIsWritable = false
        let number = matchNumber
        answerRefused(lost, reason: reason, &turn)
        let refusal = Refusal(lost)
        var subscriptions = forgetMatches(refusal)
        isReloading = true
        for name in refusal.datasets { beginReloading(name, &subscriptions) }
        defer { isReloading = false }
        try reloadParts(refusal, waiting: waiting, from: state, &turn)
        for name in refusal.datasets { try reload(name, waiting + refusal.kept, from: state, turn.now) }
        // In one transaction with what they count.
        let orphans = vanished.sorted().compactMap { datasets[$0] }
        let kept = refusal.kept + endReloading(refusal, subscriptions, from: token, &turn)
        var again = Uncommitted(unasked: kept)
        if !kept.isEmpty { again.sequels.append(.matches(through: number)) }
        isReloading = false
        recentMoves.removeAll()
        for dataset in orphans { resume(dataset, &turn) }
        for case .deletion(let name) in lost.sequels {
            if let dataset = datasets[name], case .deletion? = dataset.suspension { resume(dataset, &turn) }
        }
        return again
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
                datasets[context.dataset]?.counters.failedRequests += 1
            }
            turn.effects.output.append(.reply(context.address), payload: body)
        }
    }

    /// The name of the present refusal in the log, which is told of it once.
    func outage(_ context: ReplyContext?, _ turn: inout Turn) -> String {
        if let outageID { return outageID }
        let id = turn.identifiers.uuid()
        outageID = id
        turn.note(.internalFailure(id: id, request: context?.request ?? "-"))
        return id
    }

    /// Matches and incidents that are not kept never were.
    ///
    /// - Returns: What becomes of the delivery counters of their subscriptions.
    private func forgetMatches(_ refusal: Refusal) -> DeliveryCorrections {
        var corrections = DeliveryCorrections()
        for case .put(let record as IncidentRecord) in refusal.dropped { _ = outbox.remove(record.number) }
        for case .put(let record as MatchRecord) in refusal.dropped {
            let isPending = outbox.remove(record.number) != nil
            outdated.remove(record.number)
            let dataset = datasets[record.dataset]
            dataset?.counters.matched -= 1
            if isPending { dataset?.counters.pending -= 1 } else { dataset?.counters.dropped -= 1 }
            corrections.forget(record, isPending: isPending)
        }
        for case .put(let record as MatchRecord) in refusal.kept { corrections.keep(record) }
        return corrections
    }

    // MARK: Loading

    private func beginReloading(_ name: String, _ corrections: inout DeliveryCorrections) {
        guard let dataset = datasets[name] else { return }
        for id in dataset.subscriptions.keys {
            if let subscription = dataset.subscriptions[id] { corrections.note(subscription) }
        }
        for subscription in recentMoves.removed(of: name) where dataset.subscriptions[subscription.record.id] == nil {
            corrections.note(subscription)
        }
        datasetsWithDeliveries.removeAll { $0 === dataset }
        dataset.reset()
        for state in liveStates.all where state.dataset === dataset { state.device = nil }
    }

    private func reload(_ name: String, _ later: [DurableChange], from state: any DurableState, _ now: Int64) throws {
        var isKnown = false
        func restore(_ change: DurableChange) throws {
            if case .put(let record) = change {
                if record.kind == .dataset { isKnown = true }
                // Memory knows these.
                if record.kind == .reply || record.kind == .incident { return }
            }
            if !change.isLoadedAlone { try self.restore(change, at: now) }
        }
        try state.restore(dataset: name, restore)
        for change in later where change.dataset == name { try restore(change) }
        if !isKnown { vanished.insert(name) }
    }

    /// Loads again, one by one, what is not loaded with its dataset.
    private func reloadParts(
        _ refusal: Refusal, waiting: [DurableChange], from state: any DurableState, _ turn: inout Turn
    ) throws {
        let parts = refusal.refused.filter(\.isLoadedAlone)
        guard !parts.isEmpty else { return }
        var found = ReloadedParts()
        try state.restore(like: parts) { found.take($0) }
        for change in waiting + refusal.kept { found.take(change) }
        for change in parts.reversed() {
            switch change {
            case .put(let record): try RestoredKind[record.kind].reload?(self, record.key, found)
            case .delete(let key): try RestoredKind[key.kind].reload?(self, key, found)
            default: break
            }
        }
        takeBack(parts, found, &turn)
    }

    /// Has the devices where they are again. Datasets that the store does not know are gone.
    ///
    /// - Returns: Delivery counters that are others than those that are durable.
    private func endReloading(
        _ refusal: Refusal, _ corrections: DeliveryCorrections, from token: UInt64, _ turn: inout Turn
    ) -> [DurableChange] {
        var deliveries: [DurableChange] = []
        declareRestoredCategories()
        for name in vanished.sorted() {
            guard let dataset = datasets[name] else { continue }
            // What the store gave back of an earlier deletion stands.
            let deletedAt = deletedDatasets[name]
            if case .push? = dataset.suspension { pushesWaiting -= 1 }
            removeDataset(dataset, &turn)
            // It never was: nobody deleted it.
            turn.effects.notices.removeAll { $0 == .datasetDeleted(name) }
            deletedDatasets[name] = deletedAt
        }
        vanished.removeAll()
        for name in refusal.datasets {
            guard let dataset = datasets[name] else { continue }
            placeDevices(of: dataset, from: token)
            dataset.beaconField.monitors.endReset()
            for id in dataset.subscriptions.keys {
                guard let subscription = dataset.subscriptions[id], corrections.apply(to: subscription) else { continue }
                deliveries.append(
                    .putDelivery(dataset: name, subscriptionId: id, subscription.record.delivery))
            }
            repeatMoves(of: dataset, from: token, &turn)
        }
        findOccupancies()
        return deliveries
    }
}

/// What of the refused changes goes, and what is tried again.
private struct Refusal {
    /// What requests asked for.
    var refused: [DurableChange] = []
    /// All that goes: what requests asked for, and what was decided since, which is decided again.
    var dropped: [DurableChange] = []
    /// What nobody asked for.
    var kept: [DurableChange] = []
    /// Those that requests were to change, by name.
    var datasets: [String] = []

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
        var delivery: Delivery?
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
        corrections[Key(record.dataset, record.subscriptionId), default: Correction()].keptMatchAt =
            record.createdAt
    }

    mutating func note(_ subscription: Subscription) {
        let record = subscription.record
        corrections[Key(record.dataset, record.id), default: Correction()].delivery = record.delivery
    }

    /// - Returns: Whether its counters are others than those that are durable.
    func apply(to subscription: Subscription) -> Bool {
        let record = subscription.record
        guard let correction = corrections[Key(record.dataset, record.id)],
            var delivery = correction.delivery
        else { return false }
        delivery.matched -= correction.matched
        delivery.dropped -= correction.dropped
        if correction.matched > 0 { delivery.lastMatchAt = correction.keptMatchAt ?? record.delivery.lastMatchAt }
        guard delivery != record.delivery else { return false }
        subscription.record.delivery = delivery
        return true
    }
}
