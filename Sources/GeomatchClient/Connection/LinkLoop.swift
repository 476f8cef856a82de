internal import Foundation
#if SystemLibraries
    internal import MQTTLink
#endif
internal import MQTTValues

/// One link and the thread that runs it, from the first try to the goodbye.
///
/// `link` is made before the thread starts and never changes; it is used on the thread alone, but for waking and stopping,
/// which any thread may. That is the guard behind `@unchecked Sendable`.
///
/// The thread keeps the loop, the loop its session; so an open connection keeps the session alive until somebody
/// closes it or the owning client is let go.
final class LinkLoop: SocketLinkHandler, @unchecked Sendable {
    private let session: Session
    private(set) var link: (any ClientLink)?

    init(
        _ session: Session, _ configuration: GeomatchConfiguration, _ endpoint: MQTTEndpoint
    ) throws(GeomatchError) {
        self.session = session
        if let fake = configuration.fake {
            link = FakeLink(self, fake, configuration)
            return
        }
        if configuration.isHTTP {
            link = try SocketLink(self, configuration, endpoint)
            return
        }
        #if SystemLibraries
            link = try Self.link(self, configuration, endpoint)
        #else
            throw GeomatchError(
                .unsupported,
                "this library was built without libmosquitto (the trait SystemLibraries): give the daemon's http:// address",
                field: "broker")
        #endif
    }

    #if SystemLibraries
        private static func link(
            _ handler: LinkLoop, _ configuration: GeomatchConfiguration, _ endpoint: MQTTEndpoint
        ) throws(GeomatchError) -> any ClientLink {
            // 23 bytes is what every broker must take (MQTT 3.1.1, section 3.1.3.1).
            let name = "geomatch" + String(UInt64.random(in: 0 ... .max), radix: 16).prefix(15)
            var settings = MQTTLinkConfiguration(endpoint: endpoint, clientID: name, persistentSession: false)
            settings.keepAliveSeconds = configuration.keepAliveSeconds
            settings.connectTimeoutSeconds = Double(configuration.connectTimeout.milliseconds) / 1000
            settings.backoffMinimumSeconds = configuration.backoff.minimum
            settings.backoffMaximumSeconds = configuration.backoff.maximum
            do throws(MQTTEndpointError) {
                return try MQTTLink(configuration: settings, handler: handler)
            } catch {
                if case .resources = error { throw GeomatchError(.internal, error.description) }
                throw GeomatchError(.invalid, error.description, field: "tls")
            }
        }
    #endif

    func start() {
        let thread = Thread { [self] in
            link?.run()
            session.change { $0.loopEnded() }
        }
        thread.name = "geomatch"
        thread.start()
    }

    func wake() { link?.wake() }

    /// Waits for what was published to be acknowledged, at most so long, and says goodbye.
    func stop(drainSeconds: Double = 1) { link?.stop(drainSeconds: drainSeconds) }

    // MARK: MQTTLinkHandler

    func linkConnected(sessionPresent: Bool, protocolVersion: Int) { report { $0.connected() } }
    func linkSubscribed(id: Int32, granted: [UInt8]) { report { $0.subscribed(id, granted) } }
    func linkUnsubscribed(id: Int32) {}
    func linkAcknowledged(token: UInt64, reason: UInt8) { report { $0.acknowledged(number: token, reason: reason) } }
    func linkDisconnected(_ reason: MQTTDisconnect) { report { $0.disconnected(reason) } }
    func linkWoken() { carryOut() }

    func linkReceived(_ batch: InboundBatch) {
        for index in 0..<batch.count {
            let message = batch[index]
            session.change { $0.received(message) }
        }
        session.change { $0.receivedAll() }
        carryOut()
    }

    /// Parsers read in blocks.
    private static let padding = [UInt8](repeating: 0, count: 64)

    func linkReceived(topic: [UInt8], payload: [UInt8], isKept: Bool) {
        (topic + [0]).withUnsafeBytes { topic in
            (payload + Self.padding).withUnsafeBytes { bytes in
                let message = InboundMessage(
                    topic: UnsafeRawBufferPointer(rebasing: topic.dropLast()),
                    payload: UnsafeRawBufferPointer(rebasing: bytes.prefix(payload.count)), retain: isKept, qos: 1)
                session.change { $0.received(message) }
            }
        }
    }

    func linkRefused(token: UInt64, _ error: GeomatchError) { report { $0.refused(number: token, error) } }

    func linkReceivedAll() {
        session.change { $0.receivedAll() }
        carryOut()
    }

    func linkTick(now: Int64) -> Int64 {
        // The link's loop may go by the time of day; what waits here does not.
        let next = session.change { $0.tick(SteadyClock.now()) }
        carryOut()
        return SteadyClock.translate(next, to: now)
    }

    private func report(_ body: (SessionCore) -> Void) {
        session.change { body($0) }
        carryOut()
    }

    private func carryOut() {
        guard let link else { return }
        for order in session.change({ $0.takeOrders() }) {
            switch order {
            case .publish(let number, let message, let correlation):
                let result = link.send(message, token: number, correlation: correlation)
                if result != .accepted || message.qos == 0 { session.change { $0.published(number: number, result) } }
            case .subscribe(let filters):
                let id = link.subscribe(filters.map { ($0, 1) })
                session.change { $0.filtersAsked[id] = filters }
            case .unsubscribe(let filters):
                _ = link.unsubscribe(filters)
            }
        }
    }
}
