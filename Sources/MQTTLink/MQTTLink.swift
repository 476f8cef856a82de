import CMosquitto
import Glibc
import Synchronization

/// A connection to a broker that is kept up for ever: libmosquitto, driven by a loop of our own on the thread that
/// calls ``run()``.
///
/// The loop reads until the socket is empty (bounded), hands over one batch, then writes what was published meanwhile: the
/// fewest system calls and hand-offs libmosquitto allows, and the best tails (measured: p99 2.7 ms against 30 ms of its own
/// thread at 10,000 messages/s).
///
/// What can block the loop: the resolver, for a host given by name; and the TCP connection where TLS is used and the name
/// has several addresses. Everything else is non-blocking with ``MQTTLinkConfiguration/connectTimeoutSeconds``.
///
/// Everything but ``wake()`` and ``stop(drainSeconds:)`` belongs to the loop's thread (before ``run()``: to the
/// thread that calls it). That is the guard behind `@unchecked Sendable`.
public final class MQTTLink: @unchecked Sendable {
    enum Phase: Equatable {
        /// No socket; the next try is at this instant (monotonic nanoseconds).
        case waiting(until: UInt64)
        /// A socket and no CONNACK yet; given up at this instant.
        case connecting(until: UInt64)
        case connected
        case finished
    }

    let configuration: MQTTLinkConfiguration
    /// Kept until ``run()`` returns, which breaks the cycle of a handler that keeps its link.
    var handler: (any MQTTLinkHandler)?
    let client: OpaquePointer
    let wakeDescriptor: Int32
    let wakePending = Atomic<Bool>(false)
    let stopRequest = Mutex<Double?>(nil)

    var phase = Phase.waiting(until: 0)
    var stopDeadline: UInt64?
    var backoff: Backoff
    var random = SystemRandomNumberGenerator()
    var lastMisc: UInt64 = 0

    // The try at hand.
    var protocolVersion: Int
    var protocolWasGuessed = false
    /// Of the host, not tried yet.
    var addresses: [String] = []
    /// The host of the broker at hand, and how many of them were tried since the last connection or pause.
    var hostIndex: Int
    var hostsTried = 0
    var connectedAt: UInt64 = 0
    /// The transport, and TLS on it, took CONNECT.
    var connectWasSent = false
    var connack: (code: UInt8, sessionPresent: Bool)?
    var brokerReason: UInt8 = 0
    var lastErrorText: String?

    // The socket.
    var isReading = false
    var moreToRead = false
    var writeBlocked = false
    var callbacks: UInt64 = 0

    /// DISCONNECT says so.
    var endsSession = false

    // What a drain collects.
    var inbound = InboundBuffer()
    var events: [(at: Int, event: LinkEvent)] = []
    var acknowledgements: [(token: UInt64, reason: UInt8)] = []

    // What is on its way out.
    var batch = OutboundBatch()
    /// Messages in the batches that libmosquitto has, by packet number.
    var batchCounts: [UInt16: Int] = [:]
    /// QoS 0 messages that libmosquitto has, those in batches too.
    var queuedPlain = 0
    var packets = PacketNumbers()
    var pendingSubscriptions: [Int32: PendingSubscription] = [:]
    var subscriptionOfPacket: [Int32: (id: Int32, places: [Int])] = [:]
    var unsubscriptionOfPacket: [Int32: Int32] = [:]
    var lastRequestID: Int32 = 0
    var maximumPacketBytes = Int.max

    /// Live updates of the embedded broker.
    let ring: LiveRing?
    /// Since when what comes next in it waits for a message of the connection.
    var ringHeldAt: UInt64?
    /// When such a message last did not come.
    var ringMissedAt: UInt64?
    /// When the broker was last notified that there is room.
    var askedForMoreAt: UInt64?
    /// Turns since the socket was last read, while much waits in the memory.
    var turnsForRing = 0

    /// QoS 0 messages that wait for the socket.
    public var queuedMessages: Int { queuedPlain + batch.count }
    /// QoS 1 messages whose PUBACK has not come.
    public var unacknowledged: Int { packets.outstanding }
    /// Between CONNACK and the end of the connection.
    public var isConnected: Bool { phase == .connected }

    /// - Parameter ring: Memory that the embedded broker shares with us, see ``openRing(kept:keepsAssured:)``.
    /// - Throws: ``MQTTEndpointError`` where a TLS file cannot be read, or the system has no room for a connection.
    public init(
        configuration: MQTTLinkConfiguration, handler: any MQTTLinkHandler, ring: LiveRing? = nil
    ) throws(MQTTEndpointError) {
        _ = MQTTLink.library
        self.ring = ring
        try configuration.endpoint.tls?.checkFiles()
        self.configuration = configuration
        self.handler = handler
        protocolVersion = configuration.protocolVersion == 4 ? 4 : 5
        // Any of them: the clients of a clustered broker spread over its hosts.
        hostIndex = configuration.endpoint.hosts.indices.randomElement() ?? 0
        backoff = Backoff(
            minimum: configuration.backoffMinimumSeconds, maximum: configuration.backoffMaximumSeconds)
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw .resources(reason: String(cString: strerror(errno))) }
        guard let client = mosquitto_new(configuration.clientID, !configuration.persistentSession, nil) else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw .resources(reason: reason)
        }
        self.client = client
        wakeDescriptor = descriptor
        configure()
    }

    deinit {
        mosquitto_destroy(client)
        close(wakeDescriptor)
    }

    /// Asks the loop for a turn and a call of ``MQTTLinkHandler/linkWoken()``. From any thread; cheap when already asked.
    public func wake() {
        guard !wakePending.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var one: UInt64 = 1
        _ = write(wakeDescriptor, &one, 8)
    }

    /// Ends ``run()``: waits up to `drainSeconds` until everything published is sent and acknowledged, says DISCONNECT
    /// (so that no will is published) and closes. From any thread.
    public func stop(drainSeconds: Double) {
        stopRequest.withLock { $0 = max(0, min(drainSeconds, 3600)) }
        wake()
    }

    /// `mosquitto_lib_init` is not thread-safe and wanted once.
    private static let library: Int32 = mosquitto_lib_init()
}

/// What a callback noted for the handler, beside messages and acknowledgements.
enum LinkEvent {
    case subscribed(id: Int32, granted: [UInt8])
    case unsubscribed(id: Int32)
    case connected(sessionPresent: Bool)
}

/// A subscription whose filters went out in one packet or several, until all have been answered.
struct PendingSubscription {
    var granted: [UInt8]
    var packetsLeft: Int
}
