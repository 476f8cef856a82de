import DequeModule
import Geodesy
import LiveTopics
import Selectors
import Wire
import Records

/// A live subscription as the hub holds it.
final class LiveSubscription {
    var record: LiveSubscriptionRecord
    let dataset: Dataset
    let pattern: CriteriaPattern
    let selector: Selector?
    let area: Area?
    let recipient: Recipient
    /// A reload of the configuration may change it.
    var view: LiveView
    /// It is durable: before, what it hears of waits behind the reply to who asked for it.
    var isDurable = false
    /// What its snapshot will show is counted: it hears of nothing until then.
    var isBeingCounted = false
    /// What waits so, in order.
    var early: [(LiveNews, Notification)] = []
    /// Its dense number among all of the hub.
    fileprivate(set) var handle: UInt32 = 0
    /// Its number among all there have been.
    fileprivate(set) var serial: UInt64 = 0
    /// Replaced, ended or deleted.
    var isGone = false
    var delivered: Int64 = 0
    /// Left out for a newer one of the same topic.
    var conflated: Int64 = 0
    var dropped: Int64 = 0
    /// Numbers of the topics that were let through and have not left; kept only where there is an area.
    var inside = TopicNumbers()
    /// The snapshot that is being sent, or waits its turn.
    var snapshot: Snapshot?
    /// The number of the last `live/…` message when the last snapshot was complete.
    var snapshotDoneAt: Int64 = .min
    /// Something was dropped: a new snapshot makes it good when there is room.
    var needsSnapshot = false
    /// Topics that may not be reported before an instant, with what is to be reported then.
    var held: [UInt32: HeldUpdate] = [:]
    /// The same topics, soonest first: the interval is the same for all.
    var heldOrder = Deque<HeldTopic>()
    /// It is among those with held topics.
    var isHolding = false
    /// The subscription it is evaluated with, which has what is inside and what is held for both; what it holds itself comes first.
    unowned var leader: LiveSubscription?
    /// Those that are evaluated with it.
    var followers: [LiveSubscription] = []
    /// With those that follow it, as doors know them; nil: since they changed, nothing was sent.
    var audience: Audience?

    /// How far a snapshot has come: what changed since it began is reported by the change.
    struct Snapshot {
        /// The number of the last `live/…` message when it began.
        var number: Int64
        /// The number of the topic it goes on with.
        var cursor: UInt32 = 0
    }

    struct HeldUpdate {
        var message: LiveNews?
        /// The last that was sent said that it left, or nothing was sent of it.
        var hasLeft = false
        /// Its own interval is over, and it waits for the leader's.
        var isReady = false
        /// What the leader holds was sent to it already, or was never there for it.
        var isSeen = false
    }

    struct HeldTopic {
        var at: Int64
        var topicNumber: UInt32
    }

    /// - Throws: Where the record is not what this program wrote.
    init(_ record: LiveSubscriptionRecord, in dataset: Dataset, _ view: LiveView) throws(WireError) {
        self.record = record
        self.dataset = dataset
        pattern = CriteriaPattern(try CriteriaCoding.decode(.string(record.criteria), dataset: dataset.id))
        selector = try record.condition.map { text throws(WireError) in try Selector(checking: text, field: "where") }
        area = try record.within.map { text throws(WireError) in try AreaCoding.decode(text: text) }
        recipient = record.recipient
        self.view = view
    }

    /// Whether a condition must be looked at before a topic that the criteria want is reported.
    var isConditional: Bool { selector != nil || area != nil || view.showsOwnOnly }
}

/// What a client may see of live data, whatever it asks for.
struct LiveView: Equatable {
    /// The topics of its name and of its devices only.
    var showsOwnOnly: Bool
    /// Also where others' devices are, where a dataset keeps that private.
    var showsPrivate: Bool
}

/// One message for a subscriber.
struct LiveNews {
    /// The `live/…` message.
    var payload: [UInt8]
    /// It is the last one about what left.
    var isLeft: Bool
}

extension LiveSubscriptionRecord {
    /// Of its messages.
    var recipient: Recipient { Recipient(dataset, client, .live, id) }
}

/// The live subscriptions of one dataset.
struct LiveSubscriptions {
    private struct Key: Hashable {
        var client: String
        var id: ByteKey
    }

    private var all: [Key: LiveSubscription] = [:]
    private var counts: [String: Int] = [:]
    /// Of those that are evaluated by themselves or lead others.
    var index = CriteriaIndex()
    /// Those that others with the same conditions may follow.
    var leaders: [AudienceKey: LiveSubscription] = [:]
    /// How many have a snapshot on its way.
    var snapshotCount = 0
    /// How many follow items in and out of an area.
    private(set) var areaCount = 0

    var count: Int { all.count }
    var isEmpty: Bool { all.isEmpty }
    /// In no order.
    var values: some Collection<LiveSubscription> { all.values }

    subscript(client: String, id: String) -> LiveSubscription? { all[Key(client: client, id: ByteKey(id))] }

    func count(of client: String) -> Int { counts[client] ?? 0 }

    func all(of client: String) -> [LiveSubscription] { all.values.filter { $0.record.client == client } }

    mutating func insert(_ subscription: LiveSubscription) {
        let record = subscription.record
        all[Key(client: record.client, id: ByteKey(record.id))] = subscription
        counts[record.client, default: 0] += 1
        if subscription.area != nil { areaCount += 1 }
        index.insert(subscription.pattern, subscription.handle)
    }

    mutating func remove(_ subscription: LiveSubscription) {
        let record = subscription.record
        guard all.removeValue(forKey: Key(client: record.client, id: ByteKey(record.id))) != nil else { return }
        counts[record.client, default: 0] -= 1
        if counts[record.client] == 0 { counts[record.client] = nil }
        if subscription.area != nil { areaCount -= 1 }
        index.remove(subscription.pattern, subscription.handle)
    }
}

/// The live subscriptions of all datasets by their dense numbers.
struct LiveSubscriptionHandles {
    private var subscriptions: [LiveSubscription?] = []
    /// Freed longest ago first: a late word of a message rarely finds another one.
    private var free = Deque<UInt32>()
    private var lastSerial: UInt64 = 0

    subscript(handle: UInt32) -> LiveSubscription? {
        Int(handle) < subscriptions.count ? subscriptions[Int(handle)] : nil
    }

    /// In the order of their numbers.
    var all: some Sequence<LiveSubscription> { subscriptions.lazy.compactMap(\.self) }

    mutating func insert(_ subscription: LiveSubscription) {
        lastSerial += 1
        subscription.serial = lastSerial
        if free.count > 64, let handle = free.popFirst() {
            subscription.handle = handle
            subscriptions[Int(handle)] = subscription
        } else {
            subscription.handle = UInt32(subscriptions.count)
            subscriptions.append(subscription)
        }
    }

    mutating func remove(_ subscription: LiveSubscription) {
        guard self[subscription.handle] === subscription else { return }
        subscriptions[Int(subscription.handle)] = nil
        free.append(subscription.handle)
    }
}
