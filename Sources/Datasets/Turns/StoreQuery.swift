import Records

/// A question only the store can answer.
public struct StoreQuery: Sendable {
    /// What is asked.
    public enum Kind: Sendable {
        /// The newest hundred matches of a device, or those after one of them.
        case matches(dataset: String, deviceId: String, after: String?)
        case match(dataset: String, id: String)
        /// A page of a dataset's feed.
        case feed(FeedQuery)
        /// Documents with their conflicts.
        case documents([DocumentLookup])
    }

    public var kind: Kind
    /// Whom to answer.
    var reply: ReplyContext
    var use: Use
    /// The queue of who asks.
    public var queue: UInt32 { reply.address.queue }

    /// What follows from the answer is made durable: it must see all that was decided before.
    public var isForPush: Bool { if case .push = use { true } else { false } }

    var limit: Int { if case .reply(let limit) = use { limit } else { 1 } }

    /// What is done with the answer.
    enum Use: Sendable {
        /// How many matches or conflicts one reply holds at most.
        case reply(limit: Int)
        case feed(FeedUse)
        /// A push goes on.
        case push
        /// Documents are read.
        ///
        /// - Parameter content: With what their leaves say.
        case documents(content: Bool)
    }
}

/// Something an operator should read, never with payloads or credentials.
public enum Notice: Equatable, Sendable {
    case datasetCreated(String)
    case datasetDeleted(String)
    /// Live updates with a dataset level that is malformed or reserved: reported nowhere else.
    case malformedDataset(count: Int)
    case internalFailure(id: String, request: String)
    case matchesDropped(dataset: String, count: Int)
}

/// Where the reply to a request goes, and what it repeats of it.
struct ReplyContext: Sendable {
    var address: ReturnAddress
    var requestId: String?
    /// `resource/verb` as asked.
    var request: String
    var dataset: String
    var client: String
    /// See ``Envelope/isConfined``.
    var isConfined = false
    /// The first reply to its `requestId` is given again: it asked for nothing new.
    var isRepeated = false
    /// The reply is an error: it shows nothing that may still be lost.
    var isRefusal = false
}

/// Names a request for as long as replies are remembered.
struct RequestKey: Hashable {
    var dataset: String
    var client: String
    var requestId: ByteKey
}
