import Matching
import Wire
import Records

// How matches come to whom they are for, and how that is counted.

extension Hub {
    /// A notification arrived, or was refused for good.
    ///
    /// - Parameter refusal: Why it was refused; nil: it arrived.
    public func delivered(_ token: UInt64, refusal: String?, _ turn: inout Turn) {
        if let live = LiveToken(token) {
            if refusal != nil { liveMessageFailed(live) }
            return
        }
        if let follower = FollowerToken(token) { return followerAcknowledged(follower, &turn) }
        let token = ParcelToken(raw: token)
        outbox.lanes.end(token)
        settle(token, as: refusal == nil ? .delivered : .dropped, because: refusal, &turn)
        sendMatches(&turn)
    }

    /// A notification could not be handed over: what must arrive waits until the door opens again.
    public func returned(_ token: UInt64) {
        if let live = LiveToken(token) {
            liveMessageFailed(live)
        } else if let follower = FollowerToken(token) {
            followerReturned(follower)
        } else {
            outbox.lanes.takeBack(ParcelToken(raw: token))
        }
    }

    /// Notifications can leave: what waits goes out, and again what left before and has not arrived by now. It may come twice, under the
    /// same id.
    public func doorOpened(_ turn: inout Turn) {
        outbox.lanes.isOpen = true
        for token in outbox.lanes.takeBackAll() { countRetry(of: token) }
        sendMatches(&turn)
        resumeFollowers(&turn)
    }

    /// No notification leaves until the door opens again; what did not arrive is sent again then.
    public func doorClosed() { outbox.lanes.isOpen = false }

    /// What became of a ``WebhookPost``.
    public func posted(_ token: UInt64, _ outcome: WebhookOutcome, _ turn: inout Turn) {
        latestAt = max(latestAt, turn.now)
        let token = ParcelToken(raw: token)
        switch outcome {
        case .taken:
            guard outbox.posts.end(token, .success, at: turn.now) else { return }
            settle(token, as: .delivered, &turn)
        case .refused(let reason):
            guard outbox.posts.end(token, .silence, at: turn.now) else { return }
            settle(token, as: .dropped, because: reason, &turn)
        case .failed(let reason, let retryAfter):
            fail(token, reason, retryAfter: retryAfter ?? 0, &turn)
        }
        sendMatches(&turn)
    }

    private func fail(_ token: ParcelToken, _ reason: String, retryAfter: Int64, _ turn: inout Turn) {
        guard let parcel = outbox.parcels[token.number], parcel.owes(token.slot) else {
            _ = outbox.posts.end(token, .failure, at: turn.now)
            return
        }
        guard turn.now < parcel.givesUpAt else {
            guard outbox.posts.end(token, .failure, at: turn.now) else { return }
            settle(token, as: .expired, because: reason, &turn)
            return
        }
        let notBefore = turn.now + min(max(retryAfter, 0), Parcel.givesUpAfterMilliseconds)
        guard outbox.posts.end(token, .again(notBefore: notBefore, chance: turn.identifiers.fraction()), at: turn.now),
            let subscription = parcel.subscription
        else { return }
        subscription.record.delivery.lastError = "\(parcel.target(token.slot).shown): \(reason); it is tried again"
        deliveryChanged(subscription, in: parcel.dataset)
    }

    /// Webhooks: those due again, and those whose hour is over.
    func advanceDelivery(to now: Int64, secondIsOver: Bool, _ turn: inout Turn) {
        if secondIsOver {
            let parcels = outbox.parcels
            let over = outbox.posts.removeAll { token in
                parcels[token.number].map { now >= $0.givesUpAt || !$0.owes(token.slot) } ?? true
            }
            for token in over {
                settle(token, as: .expired, because: "it did not take the match within an hour", &turn)
                outbox.posts.forget(token)
            }
        }
        outbox.posts.advance(to: now)
        sendPosts(&turn)
    }

    // MARK: Sending

    func sendMatches(_ turn: inout Turn) {
        while let token = outbox.lanes.next(maximum: configuration.limits.inflightMatches) {
            guard let parcel = outbox.parcels[token.number], parcel.owes(token.slot) else {
                outbox.lanes.end(token)
                continue
            }
            let recipient = if case .path(let recipient) = parcel.target(token.slot) { recipient } else { parcel.recipient }
            turn.effects.output.append(
                .notification(Notification(recipient: recipient, token: token.raw)), payload: parcel.body)
        }
        sendPosts(&turn)
    }

    private func sendPosts(_ turn: inout Turn) {
        while let (token, url, attempts) = outbox.posts.next(at: latestAt) {
            guard let parcel = outbox.parcels[token.number], parcel.owes(token.slot) else {
                _ = outbox.posts.end(token, .silence, at: latestAt)
                outbox.posts.forget(token)
                continue
            }
            if attempts > 0 { countRetry(of: token) }
            turn.effects.posts.append(
                WebhookPost(token: token.raw, url: url, matchID: parcel.id, body: parcel.body, secret: parcel.secret))
        }
    }

    // MARK: Counting

    /// One target of a match took it, or never will. The match counts when all are settled: dropped before expired before delivered.
    private func settle(_ token: ParcelToken, as fate: MatchFate, because reason: String? = nil, _ turn: inout Turn) {
        guard let parcel = outbox.settle(token, as: fate) else { return }
        outbox.posts.forget(token)
        let dataset = parcel.dataset
        if parcel.isIncident {
            settledIncidents.append(parcel.number)
            if let reason {
                tellLoss(
                    fate.rawValue, parcel.recipient, "the incident \(parcel.id) is lost: \(reason)", of: dataset, &turn)
            }
            return
        }
        // One that a request deleted counts on: it is there again where the store refuses that.
        let subscription = parcel.subscription
        if let reason {
            let target = parcel.target(token.slot).shown
            subscription?.record.delivery.lastError = "\(target): \(reason)"
            tellLoss(
                fate.rawValue, parcel.recipient, "the match \(parcel.id) is lost for \(target): \(reason)", of: dataset,
                &turn)
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
        guard let subscription = parcel.subscription else { return }
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
    func recordDeliveries(_ turn: inout Turn) {
        for number in progressedMatches.sorted() {
            guard let parcel = outbox.parcels[number] else { continue }
            turn.keep(.matchProgress(number: number, settled: parcel.settled, fate: parcel.fate))
        }
        progressedMatches.removeAll(keepingCapacity: true)
        for number in settledIncidents { turn.keep(.incidentSettled(number: number)) }
        settledIncidents.removeAll(keepingCapacity: true)
        for number in settledMatches {
            turn.keep(.matchSettled(number: number))
            if outdated.remove(number) != nil { turn.keep(.forgetMatch(number: number)) }
        }
        settledMatches.removeAll(keepingCapacity: true)
        for dataset in datasetsWithDeliveries {
            for subscription in dataset.deliveriesChanged {
                subscription.deliveryChanged = false
                guard !subscription.isGone else { continue }
                turn.keep(
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
