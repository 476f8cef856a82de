/// What leaves the hub, in one buffer, so that a live state costs no allocation.
public struct OutputBatch: Sendable {
    public private(set) var bytes: [UInt8] = []
    public private(set) var items: [Output] = []

    public init() {}

    public var isEmpty: Bool { items.isEmpty }

    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        items.removeAll(keepingCapacity: true)
    }

    public mutating func append(_ other: OutputBatch) {
        let start = bytes.count
        bytes += other.bytes
        for var item in other.items {
            item.name = item.name.lowerBound + start..<item.name.upperBound + start
            item.payload = item.payload.lowerBound + start..<item.payload.upperBound + start
            items.append(item)
        }
    }

    mutating func append(_ kind: Output.Kind, name: String = "", payload write: (inout [UInt8]) -> Void) {
        let nameStart = bytes.count
        bytes.append(contentsOf: name.utf8)
        let nameEnd = bytes.count
        write(&bytes)
        items.append(Output(kind: kind, name: nameStart..<nameEnd, payload: nameEnd..<bytes.count))
    }

    mutating func append(_ kind: Output.Kind, name: String = "", payload: [UInt8]) {
        append(kind, name: name) { $0.append(contentsOf: payload) }
    }
}

/// One thing that leaves the hub; a door says how.
public struct Output: Sendable {
    public enum Kind: Sendable {
        /// A live topic is known to be so, or not known any more where the payload is empty. `name` is the seven levels.
        case liveState
        /// A client is to hear of something.
        case notification(Notification)
        /// Clients are to hear of the same live update.
        ///
        /// - Parameter topicNumber: Of the live topic, in tokens.
        case audience(Audience, topicNumber: UInt32)
        /// A request is answered.
        case reply(ReturnAddress)
        /// Something was refused or lost. `name` is the dataset.
        case diagnostic(String)
        /// The counters of a dataset, or none any more where the payload is empty. `name` is the dataset.
        case status
        /// The feed of a dataset goes on, as a door wanted to know. `name` is the dataset.
        case feedChange
    }

    public var kind: Kind
    public var name: Range<Int>
    public var payload: Range<Int>
}

/// What a client hears of.
public struct Notification: Sendable {
    public var recipient: Recipient
    /// Not 0 where it matters whether it arrived: ``Hub/delivered(_:refusal:_:)`` and ``Hub/returned(_:)`` name it.
    public var token: UInt64 = 0
    /// It must arrive, be it twice; else it may be lost on the way.
    public var isAssured = true
}

extension Notification {
    /// It is of a live subscription: a newer one of its token takes its place.
    public var isLive: Bool { LiveToken(token) != nil }

    /// The number of the match or the event; it rises with each, over restarts. nil for what goes elsewhere or is neither.
    public var deliveryNumber: Int64? {
        guard token != 0, LiveToken(token) == nil, FollowerToken(token) == nil else { return nil }
        let delivery = DeliveryToken(raw: token)
        return delivery.slot == 0 ? delivery.number : nil
    }
}
