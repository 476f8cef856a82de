import Cluster
import DaemonCore
import Logging
import MQTTDoor
import MQTTLink
import Synchronization

/// The node's own session at the broker: it says how the node is, takes in what the reception passes on, and sees whether the broker is
/// there.
///
/// `@unchecked Sendable`: what is not guarded by a lock belongs to the link's thread.
final class NodeDoor: MQTTLinkHandler, @unchecked Sendable {
    private let statusTopic: String
    private let inbox: @Sendable (_ node: String) -> String
    private let node: String
    private let log: Logger
    private let received: @Sendable (RoutedMessage) -> Void
    private let reachChanged: @Sendable () -> Void
    var link: MQTTLink?
    private let outgoing = Mutex<[(topic: String, payload: [UInt8])]>([])
    private let status = Mutex<[UInt8]>([])
    private let reaches = Atomic<Bool>(false)
    private var isSubscribed = false
    private var statusSent: [UInt8] = []
    private var echoAt: Int64 = 0
    private var nextPingAt: Int64 = 0
    /// Why there is no connection, for the start.
    let health: Health

    private static let outgoingMax = 10_000
    private static let pingMilliseconds: Int64 = 300
    /// A broker that sends nothing back for so long is gone.
    private static let silenceMilliseconds: Int64 = 1200

    /// - Parameter received: Called on the link's thread.
    init(
        node: String, topics: Topics, instance: String, health: Health, log: Logger,
        received: @escaping @Sendable (RoutedMessage) -> Void, reachChanged: @escaping @Sendable () -> Void
    ) {
        self.node = node
        self.health = health
        self.log = log
        self.received = received
        self.reachChanged = reachChanged
        statusTopic = topics.status(of: node)
        inbox = { topics.inbox(of: $0, in: instance) }
    }

    // MARK: From any thread

    /// Whether what is published comes back.
    var reachesBroker: Bool { reaches.load(ordering: .sequentiallyConsistent) }

    func set(status payload: [UInt8]) {
        let isNew = status.withLock { status in
            defer { status = payload }
            return status != payload
        }
        if isNew { link?.wake() }
    }

    /// Passes a message on to another node.
    func send(_ message: RoutedMessage, to node: String) {
        let isFull = outgoing.withLock { outgoing in
            guard outgoing.count < Self.outgoingMax else { return true }
            outgoing.append((inbox(node), message.encoded))
            return false
        }
        if isFull { log.error("too much waits for other nodes: a message is lost") } else { link?.wake() }
    }

    /// Says that the node is gone, and ends.
    func stop(status payload: [UInt8]) {
        set(status: payload)
        link?.stop(drainSeconds: 2)
    }

    // MARK: The link

    func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
        isSubscribed = false
        statusSent = []
        link?.subscribe([(inbox(node), 1)])
    }

    func linkSubscribed(id: Int32, granted: [UInt8]) {
        guard granted.allSatisfy({ $0 < 0x80 }) else {
            health.fail(.refused("the broker refused \(inbox(node)): its access list must let us write and read it"))
            return
        }
        isSubscribed = true
        nextPingAt = 0
        ping(at: LeaseClock.now())
    }

    private func ping(at now: Int64) {
        guard isSubscribed, now >= nextPingAt else { return }
        nextPingAt = now + Self.pingMilliseconds
        _ = link?.publish(topic: inbox(node), payload: [], qos: 0, retain: false)
    }

    func linkReceived(_ batch: InboundBatch) {
        for index in 0..<batch.count {
            let message = batch[index]
            if let routed = RoutedMessage(message.payload) {
                received(routed)
            } else {
                echoAt = LeaseClock.now()
                setReaches(true)
            }
        }
    }

    private func setReaches(_ value: Bool) {
        guard reaches.exchange(value, ordering: .sequentiallyConsistent) != value else { return }
        if !value { log.warning("the broker does not answer") }
        reachChanged()
    }

    func linkTick(now: Int64) -> Int64 {
        let instant = LeaseClock.now()
        ping(at: instant)
        if instant - echoAt >= Self.silenceMilliseconds { setReaches(false) }
        sendStatus()
        let messages = outgoing.withLock { messages in
            defer { messages = [] }
            return messages
        }
        for (index, message) in messages.enumerated() {
            switch link?.publish(topic: message.topic, payload: message.payload, qos: 1, retain: false) {
            case .accepted: continue
            case .tooLarge, .invalidTopic:
                // It would never be accepted.
                log.error(
                    "message for another node cannot be passed on", metadata: ["bytes": .stringConvertible(message.payload.count)]
                )
                continue
            default: break
            }
            // In order, at the next connection.
            outgoing.withLock { $0 = messages[index...] + $0 }
            break
        }
        return now + Self.pingMilliseconds
    }

    private func sendStatus() {
        let payload = status.withLock { $0 }
        guard isSubscribed, !payload.isEmpty, payload != statusSent else { return }
        if link?.publish(topic: statusTopic, payload: payload, qos: 1, retain: true) == .accepted { statusSent = payload }
    }

    func linkWoken() { sendStatus() }
    func linkUnsubscribed(id: Int32) {}
    func linkAcknowledged(token: UInt64, reason: UInt8) {}

    func linkDisconnected(_ reason: MQTTDisconnect) {
        isSubscribed = false
        health.note("\(reason)")
        if reason.cause != .stopped { log.warning("node session ended", metadata: ["reason": "\(reason)"]) }
    }
}
