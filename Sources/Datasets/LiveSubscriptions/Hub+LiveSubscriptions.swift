import Wire
import Records

// The live subscriptions there are: made, ended, restored, put back.

extension Hub {
    /// - Throws: Where the record is not what this program wrote.
    @discardableResult
    func addLive(_ record: LiveSubscriptionRecord, in dataset: Dataset) throws(WireError) -> LiveSubscription {
        let subscription = try LiveSubscription(record, in: dataset, prefix: configuration.topicsPrefix)
        liveHandles.insert(subscription)
        dataset.liveSubscriptions.insert(subscription)
        nextLeaseEnd = min(nextLeaseEnd, record.leaseUntil)
        return subscription
    }

    func removeLive(_ subscription: LiveSubscription) {
        subscription.isGone = true
        forgetHeld(of: subscription)
        if subscription.snapshot != nil {
            subscription.snapshot = nil
            subscription.dataset.liveSubscriptions.snapshotCount -= 1
            snapshotting.removeAll { $0 === subscription }
        }
        subscription.dataset.liveSubscriptions.remove(subscription)
        liveHandles.remove(subscription)
    }

    /// Lets go of all of a dataset; what they saw inside their areas has left.
    func removeLiveSubscriptions(of dataset: Dataset, into effects: inout HubEffects) {
        let all = dataset.liveSubscriptions.values.sorted { $0.handle < $1.handle }
        var farewells = Self.farewellsMaximum
        for subscription in all {
            for number in outbox.lanes.isOpen ? subscription.inside.sorted.prefix(farewells) : [] {
                guard let state = dataset.liveTopics[number], let payload = state.payload else { continue }
                farewells -= 1
                send(LiveNews(payload: payload, isLeft: true), of: state, to: subscription, into: &effects)
            }
            removeLive(subscription)
        }
        recentlyLeft.removeAll { $0.subscription.dataset === dataset }
    }

    /// A deletion must not fill the memory with what nobody needs any more.
    private static let farewellsMaximum = 10_000

    /// Takes back what is durable. One whose client may not read live data any more ends with the next tick.
    func restore(_ record: LiveSubscriptionRecord) throws(WireError) {
        // While rebuilding, memory knows live subscriptions better than the store.
        guard !isRebuilding, let dataset = datasets[record.dataset] else { return }
        if let known = dataset.liveSubscriptions[record.client, record.id] { removeLive(known) }
        var record = record
        if !configuration.liveReaders.allow(client: record.client, in: record.dataset) { record.leaseUntil = .min }
        try addLive(record, in: dataset)
    }

    // MARK: Time

    /// Leases that are over, topics held long enough, snapshots that make good what was dropped.
    func advanceLiveSubscriptions(to now: Int64, into effects: inout HubEffects) {
        if now >= nextLeaseEnd {
            nextLeaseEnd = .max
            for subscription in liveHandles.all {
                let record = subscription.record
                guard record.leaseUntil <= now else {
                    nextLeaseEnd = min(nextLeaseEnd, record.leaseUntil)
                    continue
                }
                removeLive(subscription)
                effects.changes.append(
                    .deleteLiveSubscription(dataset: record.dataset, client: record.client, id: record.id))
            }
        }
        releaseHeld(at: now, into: &effects)
    }

    /// Once a second.
    func repairLiveSubscriptions(at now: Int64) {
        forgetRecentlyLeft(at: now)
        guard outbox.lanes.isOpen, liveBacklog < configuration.limits.liveBacklog / 2 else { return }
        for subscription in liveHandles.all where subscription.needsSnapshot { beginSnapshot(of: subscription) }
    }

    // MARK: Refused by the store

    /// Remembers what a request changes, in case the store refuses.
    func note(_ former: LiveSubscriptionRecord?, before record: LiveSubscriptionRecord, into effects: inout HubEffects) {
        effects.formerLiveSubscriptions.append(
            FormerLiveSubscription(dataset: record.dataset, client: record.client, id: record.id, record: former))
    }

    /// Puts back what requests changed, the newest change first.
    func takeBackLiveSubscriptions(_ former: [FormerLiveSubscription]) {
        for former in former.reversed() {
            guard let dataset = datasets[former.dataset] else { continue }
            let present = dataset.liveSubscriptions[former.client, former.id]
            if let present, let record = former.record, present.record.differsOnlyInLease(from: record) {
                present.record = record
                continue
            }
            if let present { removeLive(present) }
            guard let record = former.record, let subscription = try? addLive(record, in: dataset) else { continue }
            if record.snapshot { beginSnapshot(of: subscription) }
        }
    }
}

extension LiveSubscriptionRecord {
    fileprivate func differsOnlyInLease(from other: LiveSubscriptionRecord) -> Bool {
        var renewed = self
        renewed.lease = other.lease
        renewed.leaseUntil = other.leaseUntil
        return renewed == other
    }
}

/// A live subscription before a request changed it.
struct FormerLiveSubscription: Sendable {
    var dataset: String
    var client: String
    var id: String
    /// nil where there was none.
    var record: LiveSubscriptionRecord?
}
