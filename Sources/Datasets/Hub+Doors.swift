// What doors and webhooks say became of what left.

extension Hub {
    /// A notification arrived, or was refused for good.
    ///
    /// - Parameter refusal: Why it was refused; nil: it arrived.
    public func delivered(_ token: UInt64, refusal: String?, _ turn: inout Turn) {
        if let live = LiveToken(token) {
            if refusal != nil { liveSubscribers.failed(live) }
        } else if let follower = FollowerToken(token) {
            followers.delivered(follower, &turn)
        } else {
            outbox.delivered(DeliveryToken(raw: token), refusal: refusal, &turn)
        }
    }

    /// A notification could not be handed over: what must arrive waits until the door opens again.
    public func returned(_ token: UInt64) {
        if let live = LiveToken(token) {
            liveSubscribers.failed(live)
        } else if let follower = FollowerToken(token) {
            followers.returned(follower)
        } else {
            outbox.returned(DeliveryToken(raw: token))
        }
    }

    /// A door left out a message of a live topic for a newer one.
    public func conflated(_ token: UInt64) {
        if let live = LiveToken(token) { liveSubscribers.conflated(live) }
    }

    /// The broker left out updates of a live topic for a newer one.
    public func conflatedUpdates(_ count: Int, of dataset: String) { datasets[dataset]?.updateCounters.countConflated(count) }

    /// The highest number of a match or an event so far.
    public var lastDeliveryNumber: Int64 { outbox.lastNumber }

    /// Has the next change of a dataset's feed leave as ``Output/Kind/feedChange``, once.
    public func watchFeed(of dataset: String) {
        if datasets[dataset] != nil { followers.watch(dataset) }
    }

    /// Notifications can leave: what waits goes out, and again what left before and has not arrived by now. It may come twice, under the
    /// same id.
    public func doorOpened(_ turn: inout Turn) {
        liveSubscribers.isOpen = true
        outbox.open(&turn)
        followers.open(&turn)
    }

    /// No notification leaves until the door opens again; what did not arrive is sent again then.
    public func doorClosed() {
        liveSubscribers.isOpen = false
        outbox.close()
        followers.close()
    }

    /// What became of a ``WebhookPost`` or a ``PushPost``.
    public func posted(_ token: UInt64, _ outcome: PostOutcome, _ turn: inout Turn) {
        let token = DeliveryToken(raw: token)
        if token.slot == PendingPushTests.slot { return tested(token, outcome, &turn) }
        if case .gone = outcome, let (delivery, pusher) = outbox.underWay(token), case .push(let target) = pusher {
            datasets[delivery.recipient.dataset]?.geomatching.noteGone(target, delivery, &turn)
        }
        outbox.posted(token, outcome, &turn)
    }

    // MARK: Doors that keep live states

    /// A door that keeps live states has everything up to this number.
    public func doorHolds(through number: Int64) {
        // A number beyond our own was given by a life whose last second is lost to us: nothing it says helps.
        let known = number > liveNumber ? 0 : number
        let lacking = liveStates.all.filter { $0.number > known || $0.isPrivate && $0.wasPublicOnce }
        let deleted = deletedDatasetNames.filter { datasets[$0] == nil }
        live.resync.begin(lacking.sorted { $0.number < $1.number }, holding: known, deleted: deleted)
        liveSubscribers.reopen(since: known)
    }

    /// Reports up to so much again of what may be lacking.
    ///
    /// - Returns: False when nothing is left.
    public func continueResync(count: Int, _ turn: inout Turn) -> Bool {
        liveSubscribers.reportLeftAgain(&turn)
        var budget = count - liveSubscribers.continueSnapshots(count: count, &turn)
        budget -= live.resync.continueClearing(count: budget, liveStates, exists: { datasets[$0] != nil }, &turn)
        live.resync.continueStates(count: max(budget, 0), liveSubscribers, &turn)
        return !isSettled
    }

    /// Doors that keep live states lack nothing.
    public var isSettled: Bool { live.resync.isSettled && liveSubscribers.isSettled }

    /// Datasets that were deleted in the last thirty days, in order, whether or not they exist again: who keeps live states may have
    /// some of them back from before.
    public var deletedDatasetNames: [String] { deletedDatasets.keys.sorted() }

    // MARK: What a door may want to know

    /// Every live topic that is known to all.
    public func forEachLiveTopic(_ body: (_ dataset: String, _ topic: String) -> Void) {
        for state in liveStates.all where state.payload != nil && !state.isPrivate { body(state.dataset.id, state.topic) }
    }

    /// Every subscription of a dataset whose owner wants its matches to be events of Home Assistant.
    public func forEachEventSubscription(
        of dataset: String, _ body: (_ device: String, _ subscription: String, _ recipient: Recipient) -> Void
    ) {
        for subscription in (datasets[dataset]?.geomatching.eventSubscriptions ?? [:]).values {
            body(subscription.record.deviceId, subscription.record.id, subscription.recipient)
        }
    }

    /// Changes whenever ``forEachEventSubscription(of:_:)`` has others.
    public func eventsVersion(of dataset: String) -> Int { datasets[dataset]?.geomatching.eventsVersion ?? 0 }

    /// Whether positions of a dataset are for owners and administrators only.
    public func hidesPositions(_ dataset: String) -> Bool { datasets[dataset]?.hidesPositions ?? false }
}
