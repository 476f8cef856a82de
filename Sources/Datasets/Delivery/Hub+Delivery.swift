import Matching
import Wire
import Records

// How matches come to whom they are for, and how that is counted.

extension Hub {
    /// The changes of a batch are durable: its matches may go out.
    public func durable(matchesThrough number: Int64, into effects: inout HubEffects) {
        outbox.durable(through: number)
        sendMatches(into: &effects)
    }

    /// The broker took a message of a match, or refused it for good.
    public func acknowledged(_ token: UInt64, reason: UInt8, into effects: inout HubEffects) {
        if let live = LiveToken(token) {
            if reason >= 0x80 { liveMessageFailed(live) }
            return
        }
        if let follower = FollowerToken(token) { return followerAcknowledged(follower, into: &effects) }
        let token = ParcelToken(raw: token)
        outbox.lanes.end(token)
        if reason < 0x80 {
            settle(token, as: .delivered, into: &effects)
        } else {
            settle(token, as: .dropped, because: "the broker refused it with reason \(reason)", into: &effects)
        }
        sendMatches(into: &effects)
    }

    /// A message of a match could not be handed over: it waits for the next connection.
    public func returned(_ token: UInt64) {
        if let live = LiveToken(token) {
            liveMessageFailed(live)
        } else if let follower = FollowerToken(token) {
            followerReturned(follower)
        } else {
            outbox.lanes.takeBack(ParcelToken(raw: token))
        }
    }

    /// The broker is there: what waits goes out, and again what was sent over the former connection and has not been acknowledged
    /// by now. It may come twice, under the same id.
    public func brokerConnected(into effects: inout HubEffects) {
        outbox.lanes.isOpen = true
        for token in outbox.lanes.takeBackAll() { countRetry(of: token) }
        sendMatches(into: &effects)
        resumeFollowers(into: &effects)
    }

    /// Nothing is handed to the broker until it is back; what it did not acknowledge is sent again then.
    public func brokerLost() { outbox.lanes.isOpen = false }

    /// What became of a ``WebhookPost``.
    public func posted(_ token: UInt64, _ outcome: WebhookOutcome, at now: Int64, into effects: inout HubEffects) {
        latestAt = max(latestAt, now)
        let token = ParcelToken(raw: token)
        switch outcome {
        case .taken:
            guard outbox.posts.end(token, .success, at: now) else { return }
            settle(token, as: .delivered, into: &effects)
        case .refused(let reason):
            guard outbox.posts.end(token, .silence, at: now) else { return }
            settle(token, as: .dropped, because: reason, into: &effects)
        case .failed(let reason, let retryAfter):
            fail(token, reason, retryAfter: retryAfter ?? 0, at: now, into: &effects)
        }
        sendMatches(into: &effects)
    }

    private func fail(
        _ token: ParcelToken, _ reason: String, retryAfter: Int64, at now: Int64, into effects: inout HubEffects
    ) {
        guard let parcel = outbox.parcels[token.number], parcel.owes(token.slot) else {
            _ = outbox.posts.end(token, .failure, at: now)
            return
        }
        guard now < parcel.givesUpAt else {
            guard outbox.posts.end(token, .failure, at: now) else { return }
            settle(token, as: .expired, because: reason, into: &effects)
            return
        }
        let notBefore = now + min(max(retryAfter, 0), Parcel.givesUpAfterMilliseconds)
        guard outbox.posts.end(token, .again(notBefore: notBefore, chance: identifiers.fraction()), at: now),
            let subscription = parcel.subscription, !subscription.isGone
        else { return }
        subscription.record.delivery.lastError = "\(parcel.target(token.slot).shown): \(reason); it is tried again"
        deliveryChanged(subscription, in: parcel.dataset)
    }

    /// Webhooks: those due again, and those whose hour is over.
    func advanceDelivery(to now: Int64, secondIsOver: Bool, into effects: inout HubEffects) {
        if secondIsOver {
            let parcels = outbox.parcels
            let over = outbox.posts.removeAll { token in
                parcels[token.number].map { now >= $0.givesUpAt || !$0.owes(token.slot) } ?? true
            }
            for token in over {
                settle(token, as: .expired, because: "it did not take the match within an hour", into: &effects)
                outbox.posts.forget(token)
            }
        }
        outbox.posts.advance(to: now)
        sendPosts(into: &effects)
    }

    // MARK: Sending

    func sendMatches(into effects: inout HubEffects) {
        while let token = outbox.lanes.next(maximum: configuration.limits.inflightMatches) {
            guard let parcel = outbox.parcels[token.number], parcel.owes(token.slot) else {
                outbox.lanes.end(token)
                continue
            }
            let topic = if case .topic(let topic) = parcel.target(token.slot) { topic } else { parcel.matchTopic }
            effects.messages.append(
                topic: topic, prefix: configuration.topicsPrefix, qos: 1, retain: false, token: token.raw, payload: parcel.body)
        }
        sendPosts(into: &effects)
    }

    private func sendPosts(into effects: inout HubEffects) {
        while let (token, url, attempts) = outbox.posts.next(at: latestAt) {
            guard let parcel = outbox.parcels[token.number], parcel.owes(token.slot) else {
                _ = outbox.posts.end(token, .silence, at: latestAt)
                outbox.posts.forget(token)
                continue
            }
            if attempts > 0 { countRetry(of: token) }
            effects.posts.append(
                WebhookPost(token: token.raw, url: url, matchID: parcel.id, body: parcel.body, secret: parcel.secret))
        }
    }

    // MARK: Counting

    /// One target of a match took it, or never will. The match counts when all are settled: dropped before expired before delivered.
    private func settle(
        _ token: ParcelToken, as fate: MatchFate, because reason: String? = nil, into effects: inout HubEffects
    ) {
        guard let parcel = outbox.settle(token, as: fate) else { return }
        outbox.posts.forget(token)
        let dataset = parcel.dataset
        if parcel.isIncident {
            settledIncidents.append(parcel.number)
            if let reason {
                tellLoss(
                    fate.rawValue, parcel.matchTopic, "the incident \(parcel.id) is lost: \(reason)", of: dataset, into: &effects)
            }
            return
        }
        let subscription = parcel.subscription.flatMap { $0.isGone ? nil : $0 }
        if let reason {
            let target = parcel.target(token.slot).shown
            subscription?.record.delivery.lastError = "\(target): \(reason)"
            tellLoss(
                fate.rawValue, parcel.matchTopic, "the match \(parcel.id) is lost for \(target): \(reason)", of: dataset,
                into: &effects)
        }
        if let subscription { deliveryChanged(subscription, in: dataset) }
        guard parcel.isSettled else {
            progressedMatches.insert(parcel.number)
            return
        }
        progressedMatches.remove(parcel.number)
        settledMatches.append(parcel.number)
        dataset.counters.pending -= 1
        dataset.counters.count(parcel.fate)
        if parcel.fate == .dropped { dataset.droppedMatches += 1 }
        if let subscription, subscription.record.delivery.pending > 0 { subscription.record.delivery.count(parcel.fate) }
    }

    private func countRetry(of token: ParcelToken) {
        guard let parcel = outbox.parcels[token.number], parcel.owes(token.slot), !parcel.isIncident else { return }
        parcel.dataset.counters.retried += 1
        guard let subscription = parcel.subscription, !subscription.isGone else { return }
        subscription.record.delivery.retried += 1
        deliveryChanged(subscription, in: parcel.dataset)
    }

    func deliveryChanged(_ subscription: Subscription, in dataset: Dataset) {
        guard !subscription.deliveryChanged, !subscription.isGone else { return }
        subscription.deliveryChanged = true
        dataset.deliveriesChanged.append(subscription)
        if dataset.deliveriesChanged.count == 1 { datasetsWithDeliveries.append(dataset) }
    }

    /// Makes the delivery counters durable together with what changed them.
    func tellDeliveries(into effects: inout HubEffects) {
        for number in progressedMatches.sorted() {
            guard let parcel = outbox.parcels[number] else { continue }
            effects.changes.append(.matchProgress(number: number, settled: parcel.settled, fate: parcel.fate))
        }
        progressedMatches.removeAll(keepingCapacity: true)
        for number in settledIncidents { effects.changes.append(.incidentSettled(number: number)) }
        settledIncidents.removeAll(keepingCapacity: true)
        for number in settledMatches {
            effects.changes.append(.matchSettled(number: number))
            if outdated.remove(number) != nil { effects.changes.append(.forgetMatch(number: number)) }
        }
        settledMatches.removeAll(keepingCapacity: true)
        for dataset in datasetsWithDeliveries {
            for subscription in dataset.deliveriesChanged {
                subscription.deliveryChanged = false
                // One that a request deleted is there again where the store refuses that.
                let mayReturn = effects.hasRequests && dataset.subscriptions[subscription.record.id] == nil
                guard !subscription.isGone || mayReturn else { continue }
                // Only what a request led to can be refused.
                if effects.hasRequests {
                    effects.formerMatchInstants[effects.changes.count] = .some(subscription.lastMatchAtTold)
                }
                subscription.lastMatchAtTold = subscription.record.delivery.lastMatchAt
                effects.changes.append(
                    .putDelivery(
                        dataset: dataset.id, subscriptionId: subscription.record.id, subscription.record.delivery))
            }
            dataset.deliveriesChanged.removeAll(keepingCapacity: true)
        }
        datasetsWithDeliveries.removeAll(keepingCapacity: true)
    }
}

extension DatasetCounters {
    fileprivate mutating func count(_ fate: MatchFate) {
        switch fate {
        case .delivered: delivered += 1
        case .expired: expired += 1
        case .dropped: dropped += 1
        }
    }
}

extension Delivery {
    fileprivate mutating func count(_ fate: MatchFate) {
        switch fate {
        case .delivered: delivered += 1
        case .expired: expired += 1
        case .dropped: dropped += 1
        }
    }
}
