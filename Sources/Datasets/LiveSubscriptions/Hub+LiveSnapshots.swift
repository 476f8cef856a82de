import LiveTopics
import Wire
import Records

// Snapshots, and what is told again after the broker was away: paced by the link, never queued.

extension Hub {
    /// Puts a subscription in the line for a snapshot.
    func beginSnapshot(of subscription: LiveSubscription) {
        if subscription.snapshot == nil {
            subscription.dataset.liveSubscriptions.snapshotCount += 1
            if subscription.isDurable { snapshotting.append(subscription) }
        }
        subscription.snapshot = LiveSubscription.Snapshot(number: liveNumber)
        subscription.needsSnapshot = false
    }

    /// A live subscription is durable: what it is to hear of leaves at once from now on, its snapshot at the pace of the link.
    func begin(_ subscription: LiveSubscription, _ turn: inout Turn) {
        guard !subscription.isDurable, !subscription.isGone else { return }
        subscription.isDurable = true
        for (news, notification) in subscription.early { turn.effects.output.append(news, notification) }
        subscription.early = []
        guard subscription.snapshot != nil else { return }
        snapshotting.append(subscription)
        if outbox.isOpen { _ = continueSnapshots(count: Self.firstSnapshotMessages, &turn) }
    }

    private static let firstSnapshotMessages = 1000

    /// A state is about to change: whoever has not seen it in a snapshot that is on its way sees it now.
    func showBeforeChange(_ state: LiveState, _ turn: inout Turn) {
        guard state.payload != nil, state.dataset.liveSubscriptions.snapshotCount > 0, outbox.isOpen else { return }
        var subject = LiveSubject(state)
        for handle in subscribers(of: state) {
            guard let subscription = liveHandles[handle], let snapshot = subscription.snapshot,
                snapshot.cursor <= state.topicNumber, state.number <= snapshot.number
            else { continue }
            show(&subject, to: subscription, &turn)
        }
    }

    /// Sends up to so many messages of the snapshots in line.
    ///
    /// - Returns: How many messages were sent.
    func continueSnapshots(count: Int, _ turn: inout Turn) -> Int {
        var sent = 0
        var steps = Self.snapshotSteps
        while sent < count, steps > 0, let subscription = snapshotting.first {
            guard !subscription.isGone, let snapshot = subscription.snapshot, subscription.record.leaseUntil > turn.now else {
                endSnapshot(of: subscription)
                continue
            }
            guard !subscription.dataset.isLoading else {
                // Whose devices are known again later.
                snapshotting.append(snapshotting.removeFirst())
                steps -= Self.snapshotSteps / 20
                continue
            }
            let found = subscription.dataset.liveTopics.next(subscription.pattern, from: snapshot.cursor, steps: steps)
            steps -= Int(found.number - snapshot.cursor)
            if let state = found.state, state.payload != nil, state.number <= snapshot.number {
                var subject = LiveSubject(state)
                if show(&subject, to: subscription, &turn) { sent += 1 }
            }
            subscription.snapshot?.cursor = found.number
            if found.number >= subscription.dataset.liveTopics.end {
                subscription.snapshotDoneAt = liveNumber
                endSnapshot(of: subscription)
            }
        }
        return sent
    }

    /// How many topics are looked at in one turn: a few milliseconds.
    private static let snapshotSteps = 200_000

    @discardableResult
    private func show(_ subject: inout LiveSubject, to subscription: LiveSubscription, _ turn: inout Turn) -> Bool {
        // What was shown before, and left while nobody could be told, is told as left.
        guard let news = news(of: &subject, for: subscription) else { return false }
        send(news, of: subject.state, to: subscription, &turn)
        pause(subject.state.topicNumber, of: subscription, at: turn.now)
        return true
    }

    private func endSnapshot(of subscription: LiveSubscription) {
        snapshotting.removeFirst()
        if subscription.snapshot != nil { subscription.dataset.liveSubscriptions.snapshotCount -= 1 }
        subscription.snapshot = nil
    }

    /// How many topics a snapshot would show now.
    func snapshotCount(of subscription: LiveSubscription) -> Int {
        var count = 0
        forEachTopic(of: subscription) { _ in count += 1 }
        return count
    }

    /// Visits the topics with a known state that a subscription lets through.
    private func forEachTopic(of subscription: LiveSubscription, _ visit: (LiveState) -> Void) {
        var cursor: UInt32 = 0
        let table = subscription.dataset.liveTopics
        while cursor < table.end {
            let found = table.next(subscription.pattern, from: cursor, steps: .max >> 1)
            cursor = found.number
            guard let state = found.state, state.payload != nil else { continue }
            var subject = LiveSubject(state)
            if passes(&subject, subscription) { visit(state) }
        }
    }

    /// After a restart: snapshots are sent anew, and what an area holds has been shown: all of it with a snapshot, else what was told
    /// since the subscription.
    func resumeLiveSubscriptions() {
        for subscription in liveHandles.all {
            if subscription.area != nil {
                let since = subscription.record.snapshot ? .min : subscription.record.number
                forEachTopic(of: subscription) { state in
                    if state.number > since { subscription.inside.insert(state.topicNumber) }
                }
            }
            if subscription.record.snapshot { beginSnapshot(of: subscription) }
        }
    }

    // MARK: After the broker was away

    /// The broker is known to hold everything up to a number: a snapshot that may not have arrived whole begins anew, and what
    /// left since is told again.
    func resumeSubscribers(since number: Int64) {
        for subscription in liveHandles.all where subscription.record.snapshot {
            if subscription.snapshot != nil || subscription.snapshotDoneAt >= number { beginSnapshot(of: subscription) }
        }
        leftAgain = recentlyLeft.filter { $0.number > number }
    }

    func tellLeftAgain(_ turn: inout Turn) {
        for left in leftAgain where !left.subscription.isGone && !left.subscription.inside.contains(left.topicNumber) {
            left.subscription.delivered += 1
            post(left.news, of: left.topicNumber, to: left.subscription, &turn)
        }
        leftAgain.removeAll()
    }

    /// Tells a state that the broker may have lost again: to all but those who get it with their snapshot.
    func tellAgain(_ state: LiveState, _ turn: inout Turn) {
        guard !state.dataset.liveSubscriptions.isEmpty else { return }
        var subject = LiveSubject(state, former: state.lastPayload, formerNumber: state.number)
        for handle in subscribers(of: state) {
            guard let subscription = liveHandles[handle], subscription.record.leaseUntil > turn.now else { continue }
            if let snapshot = subscription.snapshot, state.payload != nil, snapshot.cursor <= state.topicNumber,
                state.number <= snapshot.number
            {
                // Shown, or told as left, when the snapshot comes to it.
                continue
            }
            if let news = news(of: &subject, for: subscription) {
                tell(news, of: state, to: subscription, &turn)
            }
        }
        state.lastPayload = nil
    }

    /// Remembers what left, for as long as the message may be lost with a connection that is dead already.
    func leftRecently(_ news: LiveNews, _ state: LiveState, _ subscription: LiveSubscription) {
        recentlyLeft.append(
            RecentlyLeft(
                subscription: subscription, topicNumber: state.topicNumber, news: news, number: liveNumber, at: lastTickAt))
        if recentlyLeft.count > Self.recentlyLeftMaximum { recentlyLeft.removeFirst() }
    }

    func forgetRecentlyLeft(at now: Int64) {
        guard outbox.isOpen else { return }
        while let first = recentlyLeft.first, now - first.at > Self.recentlyLeftMilliseconds || now < first.at {
            recentlyLeft.removeFirst()
        }
    }

    private static let recentlyLeftMaximum = 10_000
    private static let recentlyLeftMilliseconds: Int64 = 120_000
}

/// A message about what left that the broker may not have.
struct RecentlyLeft {
    var subscription: LiveSubscription
    var topicNumber: UInt32
    var news: LiveNews
    /// The number of the last `live/…` message then.
    var number: Int64
    var at: Int64
}
