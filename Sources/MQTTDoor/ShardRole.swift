import Cluster
import Glibc
import MQTTLink

/// What a door is in a cluster: the session of one shard.
///
/// The session of shard 0 is also the reception: it reads every request, and sees to those in datasets that nobody has.
public struct ShardRole: Sendable {
    public var shard: Int
    /// First use creates a dataset.
    public var createsDatasets: Bool
    /// Whether the lease was renewed in time: else nothing leaves that only an owner may send, and no connection is made.
    public var isFresh: @Sendable () -> Bool
    /// The reception passes on what may create a dataset of another shard.
    public var route: @Sendable (RoutedMessage) -> Void
    /// Has the store asked which datasets there are, for ``MQTTDoor/note(datasets:askedAt:)``; the instant by the clock of the leases.
    public var askStore: @Sendable () -> Int64
    /// Whether every dataset has an owner, for `geomatch/status`.
    public var isComplete: @Sendable () -> Bool

    public init(
        shard: Int, createsDatasets: Bool, isFresh: @escaping @Sendable () -> Bool,
        route: @escaping @Sendable (RoutedMessage) -> Void, askStore: @escaping @Sendable () -> Int64,
        isComplete: @escaping @Sendable () -> Bool
    ) {
        self.shard = shard
        self.createsDatasets = createsDatasets
        self.isFresh = isFresh
        self.route = route
        self.askStore = askStore
        self.isComplete = isComplete
    }

    public var isReception: Bool { shard == 0 }

    func serves(_ dataset: String) -> Bool { Sharding.shard(of: dataset) == shard }
}

/// A message on its way to the owner of a shard: from the reception, or from the former owner.
public struct RoutedMessage: Sendable, Equatable {
    /// As it was published, with the prefix.
    public var topic: [UInt8]
    public var payload: [UInt8]
    public var responseTopic: [UInt8]?
    public var correlation: [UInt8]?
    public var isRetained: Bool
    public var shard: Int
    /// It came to the owner of the shard as that ended, before all that comes to the next one over its session. Not for what is retained.
    public var isOfFormerOwner: Bool

    public init(
        topic: [UInt8], payload: [UInt8], responseTopic: [UInt8]?, correlation: [UInt8]?, isRetained: Bool, shard: Int,
        isOfFormerOwner: Bool = false
    ) {
        self.topic = topic
        self.payload = payload
        self.responseTopic = responseTopic
        self.correlation = correlation
        self.isRetained = isRetained
        self.shard = shard
        self.isOfFormerOwner = isOfFormerOwner
    }

    init(_ message: InboundMessage, of dataset: String) {
        self.init(
            topic: Array(message.topic), payload: Array(message.payload), responseTopic: message.responseTopic.map { Array($0) },
            correlation: message.correlation.map { Array($0) }, isRetained: message.retain, shard: Sharding.shard(of: dataset))
    }

    /// Says, behind all that was passed on in a new dataset, that no more will be. A node that does not know it takes it for nothing.
    static func endOfPassedOn(_ dataset: String) -> RoutedMessage {
        RoutedMessage(
            topic: [], payload: Array(dataset.utf8), responseTopic: nil, correlation: nil, isRetained: false,
            shard: Sharding.shard(of: dataset))
    }

    /// The dataset that it says this of.
    var endedDataset: String? { topic.isEmpty ? String(decoding: payload, as: UTF8.self) : nil }

    /// Shard, whether it is retained (1) or of the former owner (2), then each part behind its length; the length of a part that is
    /// missing is -1.
    public var encoded: [UInt8] {
        var bytes: [UInt8] = [UInt8(shard), isRetained ? 1 : isOfFormerOwner ? 2 : 0]
        for part in [topic, payload, responseTopic, correlation] {
            withUnsafeBytes(of: Int32(part?.count ?? -1).bigEndian) { bytes += $0 }
            bytes += part ?? []
        }
        return bytes
    }

    /// - Returns: nil where it is none.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 2, Int(bytes[0]) < Sharding.count else { return nil }
        var rest = bytes[2...]
        var parts: [[UInt8]?] = []
        while parts.count < 4 {
            guard rest.count >= 4 else { return nil }
            let count = rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(4)
            if Int32(bitPattern: count) == -1 {
                parts.append(nil)
            } else {
                guard Int(count) <= rest.count else { return nil }
                parts.append(Array(rest.prefix(Int(count))))
                rest = rest.dropFirst(Int(count))
            }
        }
        guard let topic = parts[0], let payload = parts[1], rest.isEmpty else { return nil }
        self.init(
            topic: topic, payload: payload, responseTopic: parts[2], correlation: parts[3], isRetained: bytes[1] == 1,
            shard: Int(bytes[0]), isOfFormerOwner: bytes[1] == 2)
    }
}
