import LiveTopics
import Records

// Snapshots: what is known when a subscription begins, or again, at the pace of the door.

extension LiveSubscribers {
    /// Puts a subscription in the line for a snapshot.
    func beginSnapshot(of subscription: LiveSubscription) {
        part(subscription)
        if subscription.snapshot == nil {
            subscription.dataset.liveSubscriptions.snapshotCount += 1
            if subscription.isDurable { snapshotting.append(subscription) }
        }
        subscription.snapshot = LiveSubscription.Snapshot(number: states.lastNumber)
        subscription.needsSnapshot = false
    }

    /// A live subscription is durable: what it is to hear of leaves at once from now on, its snapshot at the pace of the door.
    ///
    /// - Parameter serial: Its own, as handles are given again.
    func begin(_ handle: UInt32, serial: UInt64, _ turn: inout Turn) {
        guard let subscription = handles[handle], subscription.serial == serial, !subscription.isDurable, !subscription.isGone
        else { return }
        subscription.isDurable = true
        for (news, notification) in subscription.early { turn.effects.output.append(news, .notification(notification)) }
        subscription.early = []
        guard subscription.snapshot != nil else { return }
        snapshotting.append(subscription)
        if isOpen { _ = continueSnapshots(count: Self.firstSnapshotMessages, &turn) }
    }

    private static let firstSnapshotMessages = 1000

    /// A state is about to change: subscribers that have not seen it in a snapshot that is on its way see it now.
    func reportBeforeChange(_ state: LiveState, _ turn: inout Turn) {
        guard state.payload != nil, isOpen else { return }
        var subject = LiveSubject(state)
        for handle in subscribers(of: state) {
            guard let subscription = handles[handle], let snapshot = subscription.snapshot,
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
                subscription.snapshotDoneAt = states.lastNumber
                endSnapshot(of: subscription)
                join(subscription)
            }
        }
        return sent
    }

    /// How many topics are looked at in one turn: a few milliseconds.
    private static let snapshotSteps = 200_000

    @discardableResult
    private func show(_ subject: inout LiveSubject, to subscription: LiveSubscription, _ turn: inout Turn) -> Bool {
        // What was shown before, and left while nothing could be sent, is reported as left.
        guard let news = news(of: &subject, for: subscription) else { return false }
        send(news, of: subject.state, to: subscription, &turn)
        pause(subject.state.topicNumber, of: subscription, after: news, at: turn.now)
        return true
    }

    private func endSnapshot(of subscription: LiveSubscription) {
        snapshotting.removeFirst()
        if subscription.snapshot != nil { subscription.dataset.liveSubscriptions.snapshotCount -= 1 }
        subscription.snapshot = nil
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

    /// After a restart: snapshots are sent anew, and what an area holds has been shown: all of it with a snapshot, else what was reported
    /// since the subscription.
    func resume() {
        isResuming = true
        for subscription in handles.all {
            part(subscription)
            noteInside(of: subscription)
            if subscription.record.snapshot { beginSnapshot(of: subscription) }
        }
    }

    /// What passes the conditions of an area now, and was reported, is inside.
    ///
    /// - Parameter number: What changed after the message with this number is reported again.
    func noteInside(of subscription: LiveSubscription, through number: Int64 = .max) {
        guard subscription.area != nil else { return }
        forEachTopic(of: subscription) { state in
            guard isOwed(state, to: subscription), newest(of: state, for: subscription) <= number else { return }
            subscription.inside.insert(state.topicNumber)
        }
    }
}
