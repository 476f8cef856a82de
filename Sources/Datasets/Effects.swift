import Records

/// A message to publish; topic and payload lie in the buffer of the effects that hold it.
public struct OutboundMessage: Sendable {
    /// Without the NUL that follows it in the buffer.
    public var topic: Range<Int>
    public var payload: Range<Int>
    public var qos: UInt8
    public var retain: Bool
    /// Not 0 where the broker's acknowledgement matters.
    public var token: UInt64 = 0
    /// The correlation data of the request it answers.
    public var correlation: Range<Int>?
}

/// Messages in one buffer, so that a published message costs no allocation.
public struct OutboundBatch: Sendable {
    public private(set) var bytes: [UInt8] = []
    public private(set) var messages: [OutboundMessage] = []

    public init() {}

    public var isEmpty: Bool { messages.isEmpty }

    public mutating func removeAll(keepingCapacity: Bool = true) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
        messages.removeAll(keepingCapacity: keepingCapacity)
    }

    /// Appends a message whose payload the body writes at the end of the buffer.
    mutating func append(
        topic: String, prefix: String = "", qos: UInt8, retain: Bool, token: UInt64 = 0, correlation: [UInt8]? = nil,
        payload write: (inout [UInt8]) -> Void
    ) {
        let topicStart = bytes.count
        bytes.append(contentsOf: prefix.utf8)
        bytes.append(contentsOf: topic.utf8)
        let topicEnd = bytes.count
        bytes.append(0)
        write(&bytes)
        let payloadEnd = bytes.count
        var correlationRange: Range<Int>?
        if let correlation {
            bytes.append(contentsOf: correlation)
            correlationRange = payloadEnd..<bytes.count
        }
        messages.append(
            OutboundMessage(
                topic: topicStart..<topicEnd, payload: (topicEnd + 1)..<payloadEnd, qos: qos, retain: retain, token: token,
                correlation: correlationRange))
    }

    /// Appends a message that nobody retains, on a topic that is bytes already.
    mutating func append(topic: [UInt8], qos: UInt8, token: UInt64, payload write: (inout [UInt8]) -> Void) {
        let topicStart = bytes.count
        bytes.append(contentsOf: topic)
        let topicEnd = bytes.count
        bytes.append(0)
        write(&bytes)
        messages.append(
            OutboundMessage(
                topic: topicStart..<topicEnd, payload: (topicEnd + 1)..<bytes.count, qos: qos, retain: false, token: token))
    }

    mutating func append(
        topic: String, prefix: String = "", qos: UInt8, retain: Bool, token: UInt64 = 0, correlation: [UInt8]? = nil,
        payload: [UInt8]
    ) {
        append(topic: topic, prefix: prefix, qos: qos, retain: retain, token: token, correlation: correlation) {
            $0.append(contentsOf: payload)
        }
    }
}

/// What the hub wants done after some input, in this order.
public struct HubEffects: Sendable {
    /// To publish at once: nothing durable stands behind it.
    public var messages = OutboundBatch()
    /// To make durable, in one transaction.
    public var changes: [DurableChange] = []
    /// To publish once the changes are durable.
    public var gated = OutboundBatch()
    /// To post to webhooks at once: what they tell is durable. The outcome of each goes to ``Hub/posted(_:_:at:into:)``.
    public var posts: [WebhookPost] = []
    /// Where in `changes` stand those a request asked for: they are dropped when the store refuses them.
    public var requested: [Range<Int>] = []
    /// Whose replies stand in `gated`; they are told `internal` when the store refuses the changes.
    var replies: [ReplyContext] = []
    /// What requests changed of live states, in order: put back when the store refuses.
    var formerStates: [FormerLiveState] = []
    /// Live subscriptions before requests changed them, in order: put back when the store refuses.
    var formerLiveSubscriptions: [FormerLiveSubscription] = []
    /// Places and categories before requests changed them, in order: put back when the store refuses.
    var formerPlaces: [FormerPlace] = []
    /// By the place of delivery counters in `changes`: when the subscription's last match before them was.
    var formerMatchInstants: [Int: Int64?] = [:]
    /// What to let go of in memory once the changes are durable; commit before anything else is handled.
    public var deletions: [Deletion] = []
    /// Questions to the store, answered through ``Hub/answer(_:with:effects:)``.
    public var queries: [StoreQuery] = []
    /// The set of datasets has changed, and with it the filters to hold at the broker.
    public var filtersChanged = false
    /// For the log.
    public var notices: [Notice] = []
    /// How many of the changes followers of the feed were already told to expect.
    var changesSeenByFollowers = 0

    public init() {}

    public var isEmpty: Bool {
        messages.isEmpty && changes.isEmpty && gated.isEmpty && posts.isEmpty && replies.isEmpty && queries.isEmpty
            && !filtersChanged && notices.isEmpty
    }

    /// A request waits for its changes: commit before anything else is handled.
    public var hasRequests: Bool { !requested.isEmpty }

    public mutating func removeAll() {
        messages.removeAll()
        changes.removeAll(keepingCapacity: true)
        gated.removeAll()
        posts.removeAll(keepingCapacity: true)
        requested.removeAll(keepingCapacity: true)
        replies.removeAll(keepingCapacity: true)
        formerStates.removeAll(keepingCapacity: true)
        formerLiveSubscriptions.removeAll(keepingCapacity: true)
        formerMatchInstants.removeAll(keepingCapacity: true)
        formerPlaces.removeAll(keepingCapacity: true)
        deletions.removeAll(keepingCapacity: true)
        queries.removeAll(keepingCapacity: true)
        filtersChanged = false
        notices.removeAll(keepingCapacity: true)
        changesSeenByFollowers = 0
    }
}

/// A question only the store can answer.
public struct StoreQuery: Sendable {
    /// What is asked.
    public enum Kind: Sendable {
        /// The newest hundred matches of a device, or those after one of them.
        case matches(dataset: String, deviceId: String, after: String?)
        case match(dataset: String, id: String)
        /// A page of a dataset's feed.
        case feed(FeedQuery)
        /// A document with its conflicts.
        case document(DocumentLookup)
    }

    public var kind: Kind
    /// Whom to answer.
    public var reply: ReplyContext
    /// How many matches one reply holds at most.
    var limit = Page.maximum
    /// What is done with a page of a feed.
    var feedUse = FeedUse.get
}

/// What the store found.
public enum StoreFinding: Sendable {
    case matches([MatchRecord])
    /// `after` names no match that is kept.
    case noSuchMatch
    case match(MatchRecord?)
    case feed(FeedPage)
    case document(KnownDocument?)
    case failed
}

/// Something an operator should read, never with payloads or credentials.
public enum Notice: Equatable, Sendable {
    case datasetCreated(String)
    case datasetDeleted(String)
    /// Live updates with a dataset level that is malformed or reserved: told nowhere else.
    case malformedDataset(count: Int)
    case internalFailure(id: String, request: String)
    case matchesDropped(dataset: String, count: Int)
}

/// Where the reply to a request goes.
public struct ReplyContext: Sendable {
    public var topic: String
    public var correlation: [UInt8]?
    public var requestId: String?
    /// `resource/verb` as asked.
    public var request: String
    public var dataset: String
    public var client: String
    /// The first reply to its `requestId` is given again: it asked for nothing new.
    var isRepeated = false
}

/// Names a request for as long as replies are remembered.
struct RequestKey: Hashable {
    var dataset: String
    var client: String
    var requestId: ByteKey
}
