import Glibc
import MQTTLink

/// One connection for the life of one command: what all of them have in common.
///
/// The link's loop runs on the thread that calls ``run()``, so everything here belongs to that thread; only the signal
/// handler is elsewhere, and it does nothing but wake or stop the link, which any thread may.
class Conversation: MQTTLinkHandler {
    let destination: Destination
    private(set) var link: MQTTLink?
    private(set) var hasConnected = false
    /// When ``timedOut()`` is called, milliseconds since 1970 UTC; nil for never.
    var deadline: Int64?
    private var ending: Result<Void, CommandFailure>?
    private let interruptions = Interruptions()
    private var wasInterrupted = false

    init(_ destination: Destination) {
        self.destination = destination
    }

    /// Connects, and returns when the command has called ``end(drainSeconds:)``.
    ///
    /// - Returns: false where Ctrl-C came first.
    @discardableResult
    func run() throws(CommandFailure) -> Bool {
        let name = String(UInt64.random(in: 0 ... .max), radix: 16)
        // 23 bytes is what every broker must take (MQTT 3.1.1, section 3.1.3.1).
        var configuration = MQTTLinkConfiguration(
            endpoint: destination.endpoint, clientID: "geomatch" + name.prefix(15), persistentSession: false)
        configuration.connectTimeoutSeconds = destination.timeoutSeconds
        let link: MQTTLink
        do throws(MQTTEndpointError) {
            link = try MQTTLink(configuration: configuration, handler: self)
        } catch {
            throw .usage(error.description)
        }
        self.link = link
        deadline = Self.now() + Int64(destination.timeoutSeconds * 1000)
        let interrupt = Interrupt { [interruptions] in
            if interruptions.note() > 1 { link.stop(drainSeconds: 0) }
            link.wake()
        }
        link.run()
        withExtendedLifetime(interrupt) {}
        guard let ending else { return false }
        try ending.get()
        return true
    }

    /// Ends ``run()``, well.
    func end(drainSeconds: Double = 0) { end(.success(()), drainSeconds) }

    /// Makes ``run()`` throw. The first ending counts.
    func end(_ failure: CommandFailure) { end(.failure(failure), 0) }

    private func end(_ result: Result<Void, CommandFailure>, _ drainSeconds: Double) {
        guard ending == nil else { return }
        ending = result
        deadline = nil
        link?.stop(drainSeconds: drainSeconds)
    }

    var hasEnded: Bool { ending != nil }

    // MARK: For commands

    func connected() {}
    func received(_ message: InboundMessage) {}
    /// After the last message of what came together.
    func receivedAll() {}
    /// Every filter was granted.
    func subscribed() {}
    func acknowledged(token: UInt64, reason: UInt8) {}
    func turn(now: Int64) -> Int64 { .max }

    /// After the first connection; before it, there is no second try.
    func connectionLost(_ reason: MQTTDisconnect) {
        end(.unavailable("\(destination.endpoint.name): \(reason)"))
    }

    func timedOut() {
        end(.unavailable("\(destination.endpoint.name) does not answer within \(destination.timeoutText)"))
    }

    /// Ctrl-C came. A second one ends the command without asking.
    func interrupted() { link?.stop(drainSeconds: 0.5) }

    // MARK: MQTTLinkHandler

    final func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
        hasConnected = true
        filters.removeAll()
        if ending == nil { connected() }
    }

    /// The filters of one SUBSCRIBE, for naming the one that was refused.
    private var filters: [String] = []

    final func subscribe(_ filters: [String], qos: Int32) {
        self.filters = filters
        link?.subscribe(filters.map { ($0, qos) })
    }

    final func linkSubscribed(id: Int32, granted: [UInt8]) {
        guard ending == nil else { return }
        for (filter, code) in zip(filters, granted) where code >= 0x80 {
            return end(
                .unavailable(
                    "the broker refuses the subscription to \(filter) (reason 0x\(String(code, radix: 16, uppercase: true))): "
                        + "its access list must let \"\(destination.topics.client)\" read it"))
        }
        subscribed()
    }

    final func linkReceived(_ batch: InboundBatch) {
        for index in 0..<batch.count where ending == nil { received(batch[index]) }
        receivedAll()
    }

    final func linkUnsubscribed(id: Int32) {}

    final func linkAcknowledged(token: UInt64, reason: UInt8) {
        if ending == nil { acknowledged(token: token, reason: reason) }
    }

    final func linkDisconnected(_ reason: MQTTDisconnect) {
        guard ending == nil, reason.cause != .stopped else { return }
        if hasConnected {
            connectionLost(reason)
        } else {
            end(
                .unavailable(
                    "\(destination.endpoint.name): \(reason)\n"
                        + "Is geomatchd, or your broker, running there? --broker or GEOMATCH_BROKER names another one."))
        }
    }

    final func linkWoken() {
        guard ending == nil, interruptions.count > 0, !wasInterrupted else { return }
        wasInterrupted = true
        interrupted()
    }

    final func linkTick(now: Int64) -> Int64 {
        guard ending == nil else { return .max }
        if let deadline, now >= deadline {
            timedOut()
            return .max
        }
        return min(deadline ?? .max, turn(now: now))
    }

    /// Milliseconds since 1970 UTC.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

extension Destination {
    var timeoutText: String { "\(PlainText.decimal(timeoutSeconds, timeoutSeconds == timeoutSeconds.rounded() ? 0 : 1)) s" }
}
