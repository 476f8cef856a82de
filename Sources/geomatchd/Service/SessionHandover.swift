import DaemonCore
import Logging
import MQTTLink
import Synchronization

/// Moves what a broker holds for the daemon from the session of its former client id to that of its present one, once.
///
/// The former id could be derived from `geomatch/status`. Its session would collect messages for ever, and what it holds was
/// acknowledged to its senders. So: subscribe under the present id and publish a mark; read the former session up to the
/// mark, and publish what was in it again, for the present session to hold; end the former session. What is published
/// between the subscription and the mark comes by the former session, what is published later by the present one.
///
/// Belongs to the thread that calls ``run()``, but for ``stop()``.
final class SessionHandover: MQTTLinkHandler, @unchecked Sendable {
    struct Configuration {
        var endpoint: MQTTEndpoint
        var formerID: String
        var presentID: String
        /// Those with QoS 1, of which a session holds messages.
        var filters: [String]
        /// Where the mark is published: the daemon's own tree, where it is ignored afterwards.
        var markTopic: String
    }

    private enum Step: CaseIterable { case subscribing, moving, ending }

    private struct Message {
        var topic: String
        var payload: [UInt8]
        var responseTopic: String?
        var correlation: [UInt8]?
    }

    private let configuration: Configuration
    private let log: Logger
    private let note: (String) -> Void
    private let isStopped = Atomic<Bool>(false)
    private let running = Mutex<MQTTLink?>(nil)
    private var link: MQTTLink? { running.withLock { $0 } }

    private var step = Step.subscribing
    private var isStepDone = false
    private var cameBeforeMark: [Message] = []
    private var cameAfterMark: [Message] = []
    private var hasMark = false
    private var held: [Message] = []
    private var sent = 0
    private var acknowledged = 0
    private var isSending = false
    private var idleSince: Int64 = .max

    private static let outstandingMaximum = 500
    private static let idleMilliseconds: Int64 = 10_000

    init(_ configuration: Configuration, log: Logger, note: @escaping (String) -> Void) {
        self.configuration = configuration
        self.log = log
        self.note = note
    }

    /// Blocks until everything is moved.
    ///
    /// - Returns: false where it was stopped before; then all begins anew the next time.
    func run() throws(MQTTEndpointError) -> Bool {
        for step in Step.allCases {
            self.step = step
            isStepDone = false
            let id = step == .subscribing ? configuration.presentID : configuration.formerID
            let link = try MQTTLink(
                configuration: MQTTLinkConfiguration(
                    endpoint: configuration.endpoint, clientID: id, persistentSession: step != .ending),
                handler: self)
            running.withLock { $0 = link }
            if !isStopped.load(ordering: .sequentiallyConsistent) { link.run() }
            running.withLock { $0 = nil }
            guard isStepDone else { return false }
        }
        log.info("the session of the former client id has ended", metadata: ["moved": .stringConvertible(held.count)])
        return true
    }

    /// From any thread.
    func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        link?.stop(drainSeconds: 0)
    }

    private func finishStep() {
        isStepDone = true
        link?.stop(drainSeconds: 5)
    }

    // MARK: The steps

    func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
        switch step {
        case .subscribing:
            (cameBeforeMark, cameAfterMark, hasMark) = ([], [], false)
            link?.subscribe(configuration.filters.map { ($0, 1) })
        case .moving:
            // A lost connection: what was read is published again, all of it; twice is better than never.
            (sent, acknowledged, isSending) = (0, 0, false)
            if held.isEmpty, !sessionPresent { held = cameBeforeMark }
            if sessionPresent { idleSince = CoreClock.system.monotonic() } else { beginSending() }
        case .ending: finishStep()
        }
    }

    func linkSubscribed(id: Int32, granted: [UInt8]) {
        // A refusal is reported by the daemon's own try, which follows.
        guard step == .subscribing else { return }
        _ = link?.publish(topic: configuration.markTopic, payload: "{}".utf8, qos: 1, token: 1)
    }

    func linkReceived(_ batch: InboundBatch) {
        for index in 0..<batch.count {
            let message = batch[index]
            if message.retain { continue }
            let topic = String(decoding: message.topic, as: UTF8.self)
            let isMark = topic == configuration.markTopic
            let copy = Message(
                topic: topic, payload: Array(message.payload),
                responseTopic: message.responseTopic.map { String(decoding: $0, as: UTF8.self) },
                correlation: message.correlation.map { Array($0) })
            switch step {
            case .subscribing where isMark: hasMark = true
            case .subscribing where hasMark: cameAfterMark.append(copy)
            case .subscribing: cameBeforeMark.append(copy)
            case .moving where isMark: beginSending()
            case .moving where !isSending:
                held.append(copy)
                idleSince = CoreClock.system.monotonic()
            case .moving, .ending: break
            }
        }
    }

    func linkAcknowledged(token: UInt64, reason: UInt8) {
        switch step {
        case .subscribing: finishStep()
        case .moving:
            if reason >= 0x80 {
                log.warning("a held request was refused by the broker", metadata: ["reason": .stringConvertible(reason)])
            }
            acknowledged += 1
            sendMore()
        case .ending: break
        }
    }

    private func beginSending() {
        guard !isSending else { return }
        isSending = true
        held += cameAfterMark
        cameAfterMark = []
        sendMore()
    }

    private func sendMore() {
        while sent < held.count, sent - acknowledged < Self.outstandingMaximum {
            publish(held[sent])
            sent += 1
        }
        if isSending, acknowledged == held.count { finishStep() }
    }

    private func publish(_ message: Message) {
        let result = message.topic.withCString { topic in
            message.payload.withUnsafeBytes { payload in
                (message.correlation ?? []).withUnsafeBytes { correlation in
                    withOptionalCString(message.responseTopic) { responseTopic in
                        link?.publish(
                            topic: topic, payload: payload, qos: 1, retain: false, token: 1,
                            correlation: message.correlation == nil ? nil : correlation, responseTopic: responseTopic)
                    }
                }
            }
        }
        // A connection that is gone comes again, and then all of it does.
        if result != .accepted { acknowledged += 1 }
    }

    private func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        guard let text else { return body(nil) }
        return text.withCString { body($0) }
    }

    func linkTick(now: Int64) -> Int64 {
        guard step == .moving, !isSending, idleSince != .max, link?.isConnected == true else { return .max }
        let left = idleSince + Self.idleMilliseconds - CoreClock.system.monotonic()
        if left > 0 { return now + left }
        // Its subscriptions have another form than those of any release: there is nothing more to wait for.
        log.warning("the session of the former client id did not show the mark")
        beginSending()
        return .max
    }

    func linkDisconnected(_ reason: MQTTDisconnect) {
        idleSince = .max
        if reason.cause != .stopped { note("\(reason)") }
    }

    func linkUnsubscribed(id: Int32) {}
    func linkWoken() {}
}
