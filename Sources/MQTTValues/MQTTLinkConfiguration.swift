/// What the broker says in our name when we are gone without a goodbye: at QoS 1, retained.
public struct MQTTWill: Sendable, Equatable {
    public var topic: String
    public var payload: [UInt8]

    public init(topic: String, payload: [UInt8]) {
        self.topic = topic
        self.payload = payload
    }
}

/// How a link connects, and its bounds.
public struct MQTTLinkConfiguration: Sendable {
    public var endpoint: MQTTEndpoint
    /// Known to the broker by this name; a second client of the same name puts the first one out.
    public var clientID: String
    /// The broker keeps subscriptions and QoS 1 messages while we are away.
    public var persistentSession: Bool
    /// How long it keeps them, in seconds, with MQTT 5; `UInt32.max` (default) never ends, as always with 3.1.1.
    public var sessionExpirySeconds: UInt32 = .max
    /// 5…65535 s between signs of life.
    public var keepAliveSeconds: Int = 30
    public var will: MQTTWill?
    /// Full jitter: the n-th try waits between 0 and min(maximum, minimum · 2ⁿ) seconds.
    public var backoffMinimumSeconds: Double = 0.5
    public var backoffMaximumSeconds: Double = 30
    /// An address that has not answered CONNECT after so many seconds counts as unreachable.
    public var connectTimeoutSeconds: Double = 10
    /// QoS 1 messages sent and not yet acknowledged, 1…65535. libmosquitto walks them for each publish: keep it small.
    public var inflightMaximum: Int = 100
    /// While the socket takes nothing and more messages than this wait for it, nothing is read (back-pressure).
    public var outgoingHighWater: Int = 10_000
    /// Packets in one batch, and the bytes after which a batch ends early.
    public var batchMaximum: Int = 256
    public var batchBytesMaximum: Int = 4 << 20
    /// The broker has geomatch's plugin on this listener: QoS 0 messages of one turn go out as one packet.
    public var brokerTakesBatches = false
    /// Asked before each connection: while it says no, none is made.
    public var mayConnect: (@Sendable () -> Bool)?
    /// Where to begin; 5 falls back to 4 (3.1.1) for a broker that does not know it. 4 begins and stays there.
    public var protocolVersion: Int = 5

    public init(
        endpoint: MQTTEndpoint, clientID: String, persistentSession: Bool = false, will: MQTTWill? = nil
    ) {
        self.endpoint = endpoint
        self.clientID = clientID
        self.persistentSession = persistentSession
        self.will = will
    }
}
