import DequeModule
import LiveTopics
import Records
import Wire

/// The live subscriptions of all datasets, and what is on its way to them.
///
/// For each subscription there is one stream of news about a topic: updates that its criteria and conditions let through, and the
/// last one about what left. What cannot go out at once (an interval is not over, the door cannot keep up) is held, the
/// newest only for each topic. While the door is closed nothing is made at all: afterwards every topic that changed is looked at.
final class LiveSubscribers {
    let limits: HubLimits
    let naming: Naming
    private let reads: @Sendable (_ dataset: String, _ client: String) -> LiveReach
    let administrators: AccessPatterns
    let states: LiveStates
    let parser: JSONParser
    var handles = LiveSubscriptionHandles()
    /// Those whose snapshot is being sent or waits its turn, the first being sent.
    var snapshotting = Deque<LiveSubscription>()
    /// Those with topics that are held.
    var holders: [LiveSubscription] = []
    /// How many topics are held for all of them.
    var heldTopicCount = 0
    /// What left of late, and what of it is to be reported again.
    var recentlyLeft = Deque<RecentlyLeft>()
    var leftAgain: [RecentlyLeft] = []
    /// Those that ended since that was last asked.
    private var ended: [Recipient] = []
    /// When the first lease may be over.
    private var nextLeaseEnd: Int64 = .max
    /// When the last second began.
    var secondAt: Int64 = 0
    /// How much waits at the doors: where it is much, subscribers get the newest only.
    var backlog = 0
    /// Notifications can leave.
    var isOpen = false
    /// After a restart, before a door that keeps live states opened.
    var isResuming = false

    init(_ configuration: HubConfiguration, states: LiveStates, parser: JSONParser) {
        limits = configuration.limits
        naming = configuration.naming
        reads = configuration.reads
        administrators = configuration.administrators
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
        let subscription = try LiveSubscription(record, in: dataset, view(of: record.client, in: dataset))
        handles.insert(subscription)
        dataset.liveSubscriptions.insert(subscription)
        nextLeaseEnd = min(nextLeaseEnd, record.leaseUntil)
        return subscription
    }

    /// What a client may see at all.
    func view(of client: String, in dataset: Dataset) -> LiveView {
        LiveView(
            showsOwnOnly: reads(dataset.id, client) == .own,
            showsPrivate: administrators.allow(client: client, in: dataset.id))
    }

    /// Whether the client of a subscription may read anything of its dataset.
    func mayRead(_ record: LiveSubscriptionRecord) -> Bool { reads(record.dataset, record.client) != .none }

    /// A lease was renewed.
    func renewed(_ subscription: LiveSubscription) { nextLeaseEnd = min(nextLeaseEnd, subscription.record.leaseUntil) }

    func remove(_ subscription: LiveSubscription) {
        subscription.isGone = true
        ended.append(subscription.recipient)
        part(subscription)
        forgetHeld(of: subscription)
        if subscription.snapshot != nil {
            subscription.snapshot = nil
            subscription.dataset.liveSubscriptions.snapshotCount -= 1
            snapshotting.removeAll { $0 === subscription }
        }
        subscription.dataset.liveSubscriptions.remove(subscription)
        handles.remove(subscription)
    }

    /// A subscription is over, and nobody asked for that.
    func end(_ subscription: LiveSubscription, _ turn: inout Turn) {
        remove(subscription)
        let record = subscription.record
        turn.keep(.deleteLiveSubscription(dataset: record.dataset, client: record.client, id: record.id))
    }

    /// Those that ended since the last call, or began anew under the same id.
    func removeEnded() -> [Recipient] {
        defer { ended.removeAll(keepingCapacity: true) }
        return ended
    }

    /// Lets go of all of a dataset; what they saw inside their areas has left.
    func removeAll(of dataset: Dataset, _ turn: inout Turn) {
        let all = dataset.liveSubscriptions.values.sorted { $0.handle < $1.handle }
        var farewells = Self.farewellsMaximum
        for subscription in all {
            for number in isOpen ? (subscription.leader ?? subscription).inside.sorted.prefix(farewells) : [] {
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
        if !mayRead(record) { record.leaseUntil = .min }
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
                guard subscription.record.leaseUntil <= now else {
                    nextLeaseEnd = min(nextLeaseEnd, subscription.record.leaseUntil)
                    continue
                }
                end(subscription, &turn)
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
}

extension LiveSubscriptionRecord {
    fileprivate func differsOnlyInLease(from other: LiveSubscriptionRecord) -> Bool {
        var renewed = self
        renewed.lease = other.lease
        renewed.leaseUntil = other.leaseUntil
        return renewed == other
    }
}
