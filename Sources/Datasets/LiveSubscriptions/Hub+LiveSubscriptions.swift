import Wire
import Records

// The live subscriptions there are: made, ended, restored, put back.

extension Hub {
    /// - Throws: Where the record is not what this program wrote.
    @discardableResult
    func addLive(_ record: LiveSubscriptionRecord, in dataset: Dataset) throws(WireError) -> LiveSubscription {
        let subscription = try LiveSubscription(
            record, in: dataset, showsOwnOnly: configuration.reads(dataset.id, record.client) == .own)
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
    func removeLiveSubscriptions(of dataset: Dataset, _ turn: inout Turn) {
        let all = dataset.liveSubscriptions.values.sorted { $0.handle < $1.handle }
        var farewells = Self.farewellsMaximum
        for subscription in all {
            for number in outbox.isOpen ? subscription.inside.sorted.prefix(farewells) : [] {
                guard let state = dataset.liveTopics[number], let payload = state.payload else { continue }
                farewells -= 1
                send(LiveNews(payload: payload, isLeft: true), of: state, to: subscription, &turn)
            }
            removeLive(subscription)
        }
        recentlyLeft.removeAll { $0.subscription.dataset === dataset }
    }

    /// A deletion must not fill the memory with what nobody needs any more.
    private static let farewellsMaximum = 10_000

    /// Takes back what is durable. One whose client may not read live data any more ends with the next tick.
    func restore(_ record: LiveSubscriptionRecord, again: Bool) throws(WireError) {
        guard let dataset = datasets[record.dataset] else { return }
        var record = record
        if configuration.reads(record.dataset, record.client) == .none { record.leaseUntil = .min }
        if let known = dataset.liveSubscriptions[record.client, record.id] {
            guard !known.record.differsOnlyInLease(from: record) else {
                known.record = record
                return
            }
            removeLive(known)
        }
        let subscription = try addLive(record, in: dataset)
        subscription.isDurable = true
        // At a start snapshots wait until all is there.
        if record.snapshot, again { beginSnapshot(of: subscription) }
    }

    // MARK: Time

    /// Leases that are over, topics held long enough, snapshots that make good what was dropped.
    func advanceLiveSubscriptions(to now: Int64, _ turn: inout Turn) {
        if now >= nextLeaseEnd {
            nextLeaseEnd = .max
            for subscription in liveHandles.all {
                let record = subscription.record
                guard record.leaseUntil <= now else {
                    nextLeaseEnd = min(nextLeaseEnd, record.leaseUntil)
                    continue
                }
                removeLive(subscription)
                turn.keep(
                    .deleteLiveSubscription(dataset: record.dataset, client: record.client, id: record.id))
            }
        }
        releaseHeld(&turn)
    }

    /// Once a second.
    func repairLiveSubscriptions(at now: Int64) {
        forgetRecentlyLeft(at: now)
        guard outbox.isOpen, liveBacklog < configuration.limits.liveBacklog / 2 else { return }
        for subscription in liveHandles.all where subscription.needsSnapshot { beginSnapshot(of: subscription) }
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
