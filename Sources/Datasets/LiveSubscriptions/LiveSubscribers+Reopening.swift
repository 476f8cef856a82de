import LiveTopics
import Records

// After a door was closed: what may not have arrived is sent again.

extension LiveSubscribers {
    /// Everything up to a number is known to have arrived: a snapshot that may not have arrived whole begins anew, and what
    /// left since is reported again.
    func reopen(since number: Int64) {
        if isResuming {
            isResuming = false
            // States that somebody kept over a kill came back since.
            for subscription in handles.all where !subscription.record.snapshot { noteInside(of: subscription, through: number) }
        }
        for subscription in handles.all where subscription.record.snapshot {
            if subscription.snapshot != nil || subscription.snapshotDoneAt >= number { beginSnapshot(of: subscription) }
        }
        leftAgain = recentlyLeft.filter { $0.number > number }
    }

    func reportLeftAgain(_ turn: inout Turn) {
        for left in leftAgain
        where !left.subscription.isGone
            && !(left.subscription.leader ?? left.subscription).inside.contains(left.topicNumber)
        {
            left.subscription.delivered += 1
            post(left.news, of: left.topicNumber, to: left.subscription, &turn)
        }
        leftAgain.removeAll()
    }

    /// Reports a state again that may not have arrived: to all but those who get it with their snapshot, or are not owed it.
    ///
    /// - Parameter number: What changed after the message with this number is reported again, too.
    func reportAgain(_ state: LiveState, changedAfter number: Int64, _ turn: inout Turn) {
        guard !state.dataset.liveSubscriptions.isEmpty else { return }
        var subject = LiveSubject(state, former: state.lastPayload, formerNumber: state.number)
        for handle in subscribers(of: state) {
            guard let subscription = active(handle, at: turn.now) else { continue }
            if let snapshot = subscription.snapshot, state.payload != nil, snapshot.cursor <= state.topicNumber,
                state.number <= snapshot.number
            {
                // Shown, or reported as left, when the snapshot comes to it.
                continue
            }
            guard isOwed(state, to: subscription) || subscription.inside.contains(state.topicNumber) else { continue }
            if let news = news(of: &subject, for: subscription) {
                deliver(news, of: state, to: subscription, &turn)
            }
        }
        state.lastPayload = nil
        reportCompanions(of: state, through: number, &turn)
    }

    /// Whether a subscription is sent a state: with a snapshot all that is there, else what changed since it began.
    func isOwed(_ state: LiveState, to subscription: LiveSubscription) -> Bool {
        if subscription.record.snapshot, state.payload != nil { return true }
        return newest(of: state, for: subscription) > subscription.record.number
    }

    /// The number of the last change of a state, or of where its item is, which brings it into areas.
    func newest(of state: LiveState, for subscription: LiveSubscription) -> Int64 {
        guard subscription.area != nil, state.hasLocation, let position = state.dataset.positionState(of: state.itemID) else {
            return state.number
        }
        return max(state.number, position.number)
    }

    /// Remembers what left, for as long as the message may be lost with a connection that is dead already.
    func leftRecently(_ news: LiveNews, _ state: LiveState, _ subscription: LiveSubscription) {
        recentlyLeft.append(
            RecentlyLeft(
                subscription: subscription, topicNumber: state.topicNumber, news: news, number: states.lastNumber, at: secondAt))
        if recentlyLeft.count > Self.recentlyLeftMaximum { recentlyLeft.removeFirst() }
    }

    func forgetRecentlyLeft(at now: Int64) {
        guard isOpen else { return }
        while let first = recentlyLeft.first, now - first.at > Self.recentlyLeftMilliseconds || now < first.at {
            recentlyLeft.removeFirst()
        }
    }

    private static let recentlyLeftMaximum = 10_000
    private static let recentlyLeftMilliseconds: Int64 = 120_000
}

/// A message about what left that may not have arrived.
struct RecentlyLeft {
    var subscription: LiveSubscription
    var topicNumber: UInt32
    var news: LiveNews
    /// The number of the last `live/…` message then.
    var number: Int64
    var at: Int64
}
