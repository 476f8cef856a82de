import DequeModule
import LiveTopics
import Records
import Selectors
import Wire

/// The live subscriptions of all datasets, and what is on its way to them.
///
/// For each subscription there is one stream of news about a topic: updates that its criteria and conditions let through, and the
/// last one about what left. What cannot go out at once (an interval is not over, the door cannot keep up) is held, the
/// newest only for each topic. While the door is closed nothing is made at all: afterwards every topic that changed is looked at.
final class LiveSubscribers {
    private let limits: HubLimits
    private let reads: @Sendable (_ dataset: String, _ client: String) -> LiveReach
    private let states: LiveStates
    private let parser: JSONParser
    private var handles = LiveSubscriptionHandles()
    /// Those whose snapshot is being sent or waits its turn, the first being sent.
    private var snapshotting = Deque<LiveSubscription>()
    /// Those with topics that are held.
    private var holders: [LiveSubscription] = []
    /// How many topics are held for all of them.
    private var heldTopicCount = 0
    /// What left of late, and what of it is to be reported again.
    private var recentlyLeft = Deque<RecentlyLeft>()
    private var leftAgain: [RecentlyLeft] = []
    /// When the first lease may be over.
    private var nextLeaseEnd: Int64 = .max
    /// When the last second began.
    private var secondAt: Int64 = 0
    /// How much waits at the doors: where it is much, subscribers get the newest only.
    var backlog = 0
    /// Notifications can leave.
    var isOpen = false

    init(
        limits: HubLimits, reads: @escaping @Sendable (_ dataset: String, _ client: String) -> LiveReach, states: LiveStates,
        parser: JSONParser
    ) {
        self.limits = limits
        self.reads = reads
        self.states = states
        self.parser = parser
    }

    /// In the order of their handles.
    var all: some Sequence<LiveSubscription> { handles.all }
    /// No snapshot is on its way, and nothing is to be reported again.
    var isSettled: Bool { snapshotting.isEmpty && leftAgain.isEmpty }

    // MARK: Coming and going

    /// - Throws: Where the record is not what this program wrote.
    @discardableResult
    func add(_ record: LiveSubscriptionRecord, in dataset: Dataset) throws(WireError) -> LiveSubscription {
        let subscription = try LiveSubscription(
            record, in: dataset, showsOwnOnly: reads(dataset.id, record.client) == .own)
        handles.insert(subscription)
        dataset.liveSubscriptions.insert(subscription)
        nextLeaseEnd = min(nextLeaseEnd, record.leaseUntil)
        return subscription
    }

    /// A lease was renewed.
    func renewed(_ subscription: LiveSubscription) { nextLeaseEnd = min(nextLeaseEnd, subscription.record.leaseUntil) }

    func remove(_ subscription: LiveSubscription) {
        subscription.isGone = true
        forgetHeld(of: subscription)
        if subscription.snapshot != nil {
            subscription.snapshot = nil
            subscription.dataset.liveSubscriptions.snapshotCount -= 1
            snapshotting.removeAll { $0 === subscription }
        }
        subscription.dataset.liveSubscriptions.remove(subscription)
        handles.remove(subscription)
    }

    /// Lets go of all of a dataset; what they saw inside their areas has left.
    func removeAll(of dataset: Dataset, _ turn: inout Turn) {
        let all = dataset.liveSubscriptions.values.sorted { $0.handle < $1.handle }
        var farewells = Self.farewellsMaximum
        for subscription in all {
            for number in isOpen ? subscription.inside.sorted.prefix(farewells) : [] {
                guard let state = dataset.liveTopics[number], let payload = state.payload else { continue }
                farewells -= 1
                send(LiveNews(payload: payload, isLeft: true), of: state, to: subscription, &turn)
            }
            remove(subscription)
        }
        recentlyLeft.removeAll { $0.subscription.dataset === dataset }
    }

    /// A deletion must not fill the memory with what nobody needs any more.
    private static let farewellsMaximum = 10_000

    /// Takes back what is durable. One whose client may not read live data any more ends with the next tick.
    ///
    /// - Parameter again: Its dataset is loaded again; at a start snapshots wait until all is there.
    func restore(_ record: LiveSubscriptionRecord, in dataset: Dataset, again: Bool) throws(WireError) {
        var record = record
        if reads(record.dataset, record.client) == .none { record.leaseUntil = .min }
        if let known = dataset.liveSubscriptions[record.client, record.id] {
            guard !known.record.differsOnlyInLease(from: record) else {
                known.record = record
                return
            }
            remove(known)
        }
        let subscription = try add(record, in: dataset)
        subscription.isDurable = true
        if record.snapshot, again { beginSnapshot(of: subscription) }
    }

    // MARK: Time

    /// Leases that are over, topics held long enough, snapshots that make good what was dropped.
    func advance(_ turn: inout Turn) {
        let now = turn.now
        if now >= nextLeaseEnd {
            nextLeaseEnd = .max
            for subscription in handles.all {
                let record = subscription.record
                guard record.leaseUntil <= now else {
                    nextLeaseEnd = min(nextLeaseEnd, record.leaseUntil)
                    continue
                }
                remove(subscription)
                turn.keep(
                    .deleteLiveSubscription(dataset: record.dataset, client: record.client, id: record.id))
            }
        }
        releaseHeld(&turn)
    }

    /// Once a second.
    func repair(at now: Int64) {
        secondAt = now
        forgetRecentlyLeft(at: now)
        guard isOpen, backlog < limits.liveBacklog / 2 else { return }
        for subscription in handles.all where subscription.needsSnapshot { beginSnapshot(of: subscription) }
    }

    // MARK: Changes

    /// A live state has changed: its subscribers are notified.
    ///
    /// - Parameters:
    ///   - former: The message that a cleared state had before.
    ///   - formerNumber: The number of that message.
    func report(_ state: LiveState, former: [UInt8]? = nil, formerNumber: Int64 = 0, _ turn: inout Turn) {
        guard isOpen else {
            // What left meanwhile is reported with its last properties.
            if state.payload != nil { state.lastPayload = nil } else if let former { state.lastPayload = former }
            return
        }
        var subject = LiveSubject(state, former: former, formerNumber: formerNumber)
        for handle in subscribers(of: state) {
            guard let subscription = handles[handle], subscription.record.leaseUntil > turn.now else { continue }
            if let news = news(of: &subject, for: subscription) {
                tell(news, of: state, to: subscription, &turn)
            }
        }
    }

    /// The handles of the subscriptions whose criteria want a topic, in rising order.
    private func subscribers(of state: LiveState) -> [UInt32] {
        var found: [UInt32] = []
        let dataset = state.dataset
        dataset.liveSubscriptions.index.find(
            dataset.liveTopics.keys(of: state), topic: state.topic, remembering: &state.subscribers, into: &found)
        return found
    }

    /// What a subscription is to be told of a state as it is now, if anything.
    private func news(of subject: inout LiveSubject, for subscription: LiveSubscription) -> LiveNews? {
        let number = subject.state.topicNumber
        guard let payload = subject.state.payload else {
            guard let former = subject.former, sawFormer(&subject, subscription) else {
                return subscription.inside.remove(number) ? LiveNews(payload: emptyMessage(of: subject.state), isLeft: true) : nil
            }
            return LiveNews(payload: former, isLeft: true)
        }
        if passes(&subject, subscription) {
            if subscription.area != nil { subscription.inside.insert(number) }
            return LiveNews(payload: payload, isLeft: false)
        }
        return subscription.inside.remove(number) ? LiveNews(payload: payload, isLeft: true) : nil
    }

    /// Whether a subscription was shown what is cleared by now.
    private func sawFormer(_ subject: inout LiveSubject, _ subscription: LiveSubscription) -> Bool {
        if subscription.area != nil { return subscription.inside.remove(subject.state.topicNumber) }
        guard subscription.record.snapshot || subject.formerNumber > subscription.record.number else { return false }
        return passes(&subject, subscription)
    }

    /// Whether the conditions of a subscription let a state through, as it is or, where it is cleared, as it was.
    func passes(_ subject: inout LiveSubject, _ subscription: LiveSubscription) -> Bool {
        guard subscription.isConditional else { return true }
        if subscription.showsOwnOnly, !isOwn(subject.state, of: subscription.record.client) { return false }
        guard subscription.selector != nil || subscription.area != nil else { return true }
        guard let facts = facts(of: &subject) else { return false }
        if let selector = subscription.selector, !selector.matches(facts.properties) { return false }
        guard let area = subscription.area else { return true }
        guard let position = facts.position else { return false }
        return area.contains(latitude: position.latitude, longitude: position.longitude)
    }

    /// Whether a topic is of a client's name, or of a device of its.
    private func isOwn(_ state: LiveState, of client: String) -> Bool {
        guard state.hasLocation else { return false }
        return state.itemID == client || state.dataset.devices[state.itemID]?.record.owner == client
    }

    /// Read once for all subscriptions of one change.
    private func facts(of subject: inout LiveSubject) -> LiveMessage.Facts? {
        if subject.isRead { return subject.facts }
        subject.isRead = true
        guard let payload = subject.state.payload ?? subject.former else { return nil }
        subject.facts = LiveMessage.facts(inPayload: payload, using: parser)
        let state = subject.state
        if subject.facts?.position == nil, state.hasLocation, state.domain != KnownDomain.position.rawValue {
            // It is where the device is whose id it has.
            let standing =
                state.dataset.devices[state.itemID]?.positionTopic ?? state.dataset.positionsWithoutDevice[state.itemID]
            subject.facts?.position = standing?.payload.flatMap { LiveMessage.position(inPayload: $0, using: parser) }
        }
        return subject.facts
    }

    /// What is told as left where the last properties are not known any more.
    private func emptyMessage(of state: LiveState) -> [UInt8] {
        var message: [UInt8] = []
        LiveMessage.encode(
            topic: state.topic, domain: state.domain, itemID: state.itemID, timestamp: state.timestamp,
            receivedAt: state.receivedAt, properties: Array("{}".utf8), originSourceId: nil, derived: false, into: &message)
        return message
    }

    // MARK: Sending

    /// Sends news, or holds them where they may not go out yet.
    private func tell(_ news: LiveNews, of state: LiveState, to subscription: LiveSubscription, _ turn: inout Turn) {
        let number = state.topicNumber
        if subscription.held[number] != nil {
            hold(news, number, of: subscription, until: nil)
        } else if backlog + turn.effects.output.items.count >= limits.liveBacklog {
            hold(news, number, of: subscription, until: turn.now + max(subscription.record.minInterval, 1))
        } else {
            send(news, of: state, to: subscription, &turn)
            pause(number, of: subscription, at: turn.now)
        }
    }

    private func send(_ news: LiveNews, of state: LiveState, to subscription: LiveSubscription, _ turn: inout Turn) {
        subscription.delivered += 1
        if news.isLeft { leftRecently(news, state, subscription) }
        post(news, of: state.topicNumber, to: subscription, &turn)
    }

    /// What a subscription that is not yet durable hears of follows the reply to who asked for it.
    private func post(_ news: LiveNews, of topicNumber: UInt32, to subscription: LiveSubscription, _ turn: inout Turn) {
        let token = LiveToken(subscription: subscription.handle, topicNumber: topicNumber).token
        let notification = Notification(
            recipient: subscription.recipient, token: token, isAssured: subscription.record.qos > 0)
        guard !subscription.isDurable else { return turn.effects.output.append(news, notification) }
        guard subscription.early.count < Self.earlyMaximum else {
            failed(LiveToken(subscription: subscription.handle, topicNumber: topicNumber))
            return
        }
        subscription.early.append((news, notification))
    }

    /// So many messages wait for a subscription to become durable; what is beyond counts as dropped.
    private static let earlyMaximum = 10_000

    /// From now on the topic is told at the end of the interval, where the subscription has one.
    private func pause(_ number: UInt32, of subscription: LiveSubscription, at now: Int64) {
        guard subscription.record.minInterval > 0 else { return }
        guard subscription.held[number] == nil else {
            // What is held is older than what was just told.
            subscription.held[number]?.message = nil
            return
        }
        // Without room for one more the interval is not kept: better early than lost.
        guard heldTopicCount < limits.heldLiveTopics else { return }
        hold(nil, number, of: subscription, until: now + subscription.record.minInterval)
    }

    /// - Parameter instant: nil where the topic is held already.
    private func hold(_ news: LiveNews?, _ number: UInt32, of subscription: LiveSubscription, until instant: Int64?) {
        guard let instant else {
            if subscription.held[number]?.message != nil { subscription.conflated += 1 }
            subscription.held[number]?.message = news
            return
        }
        guard heldTopicCount < limits.heldLiveTopics else {
            subscription.dropped += 1
            subscription.needsSnapshot = subscription.record.snapshot
            return
        }
        heldTopicCount += 1
        subscription.held[number] = LiveSubscription.HeldUpdate(message: news)
        subscription.heldOrder.append(LiveSubscription.HeldTopic(at: instant, topicNumber: number))
        guard !subscription.isHolding else { return }
        subscription.isHolding = true
        holders.append(subscription)
    }

    /// Sends what was held long enough.
    private func releaseHeld(_ turn: inout Turn) {
        guard isOpen, !holders.isEmpty else { return }
        for subscription in holders {
            while let first = subscription.heldOrder.first, first.at <= turn.now || first.at > turn.now + subscription.longestHold
            {
                guard backlog + turn.effects.output.items.count < limits.liveBacklog else { return }
                subscription.heldOrder.removeFirst()
                guard let update = subscription.held.removeValue(forKey: first.topicNumber) else { continue }
                heldTopicCount -= 1
                guard let news = update.message, let state = subscription.dataset.liveTopics[first.topicNumber] else { continue }
                tell(news, of: state, to: subscription, &turn)
            }
        }
        holders.removeAll { subscription in
            if subscription.heldOrder.isEmpty { subscription.isHolding = false }
            return !subscription.isHolding
        }
    }

    /// Forgets what is held for a subscription that is gone.
    private func forgetHeld(of subscription: LiveSubscription) {
        heldTopicCount -= subscription.held.count
        subscription.held.removeAll()
        subscription.heldOrder.removeAll()
        if subscription.isHolding { holders.removeAll { $0 === subscription } }
        subscription.isHolding = false
    }

    // MARK: What doors say

    /// A message could not be handed over, or was refused for good.
    func failed(_ token: LiveToken) {
        guard let subscription = handles[token.subscription] else { return }
        if subscription.delivered > 0 { subscription.delivered -= 1 }
        subscription.dropped += 1
        subscription.needsSnapshot = subscription.record.snapshot
    }

    // MARK: Snapshots

    /// Puts a subscription in the line for a snapshot.
    func beginSnapshot(of subscription: LiveSubscription) {
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
        for (news, notification) in subscription.early { turn.effects.output.append(news, notification) }
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
    func resume() {
        for subscription in handles.all {
            if subscription.area != nil {
                let since = subscription.record.snapshot ? .min : subscription.record.number
                forEachTopic(of: subscription) { state in
                    if state.number > since { subscription.inside.insert(state.topicNumber) }
                }
            }
            if subscription.record.snapshot { beginSnapshot(of: subscription) }
        }
    }

    // MARK: After a door was closed

    /// Everything up to a number is known to have arrived: a snapshot that may not have arrived whole begins anew, and what
    /// left since is reported again.
    func reopen(since number: Int64) {
        for subscription in handles.all where subscription.record.snapshot {
            if subscription.snapshot != nil || subscription.snapshotDoneAt >= number { beginSnapshot(of: subscription) }
        }
        leftAgain = recentlyLeft.filter { $0.number > number }
    }

    func reportLeftAgain(_ turn: inout Turn) {
        for left in leftAgain where !left.subscription.isGone && !left.subscription.inside.contains(left.topicNumber) {
            left.subscription.delivered += 1
            post(left.news, of: left.topicNumber, to: left.subscription, &turn)
        }
        leftAgain.removeAll()
    }

    /// Reports a state again that may not have arrived: to all but those who get it with their snapshot.
    func reportAgain(_ state: LiveState, _ turn: inout Turn) {
        guard !state.dataset.liveSubscriptions.isEmpty else { return }
        var subject = LiveSubject(state, former: state.lastPayload, formerNumber: state.number)
        for handle in subscribers(of: state) {
            guard let subscription = handles[handle], subscription.record.leaseUntil > turn.now else { continue }
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
    private func leftRecently(_ news: LiveNews, _ state: LiveState, _ subscription: LiveSubscription) {
        recentlyLeft.append(
            RecentlyLeft(
                subscription: subscription, topicNumber: state.topicNumber, news: news, number: states.lastNumber, at: secondAt))
        if recentlyLeft.count > Self.recentlyLeftMaximum { recentlyLeft.removeFirst() }
    }

    private func forgetRecentlyLeft(at now: Int64) {
        guard isOpen else { return }
        while let first = recentlyLeft.first, now - first.at > Self.recentlyLeftMilliseconds || now < first.at {
            recentlyLeft.removeFirst()
        }
    }

    private static let recentlyLeftMaximum = 10_000
    private static let recentlyLeftMilliseconds: Int64 = 120_000
}

extension LiveSubscriptionRecord {
    fileprivate func differsOnlyInLease(from other: LiveSubscriptionRecord) -> Bool {
        var renewed = self
        renewed.lease = other.lease
        renewed.leaseUntil = other.leaseUntil
        return renewed == other
    }
}

extension LiveSubscription {
    /// Nothing is held longer than this; what seems so was held by a clock that has been put back since.
    fileprivate var longestHold: Int64 { max(record.minInterval, 1) }
}

extension OutputBatch {
    fileprivate mutating func append(_ news: LiveNews, _ notification: Notification) {
        append(.notification(notification)) { bytes in
            if news.isLeft {
                LiveMessage.appendLeft(news.payload, to: &bytes)
            } else {
                bytes.append(contentsOf: news.payload)
            }
        }
    }
}

/// A message about what left that may not have arrived.
private struct RecentlyLeft {
    var subscription: LiveSubscription
    var topicNumber: UInt32
    var news: LiveNews
    /// The number of the last `live/…` message then.
    var number: Int64
    var at: Int64
}
