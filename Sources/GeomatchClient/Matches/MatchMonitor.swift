internal import Wire

/// Reports the matches of devices as they happen, each once, also across lost connections.
///
/// ```swift
/// let monitor = MatchMonitor(client)
/// let matches = monitor.matches
/// try await monitor.start(phone.id)
/// for try await match in matches { print(match.publication.properties) }
/// ```
///
/// Starting reports the newest hundred matches the daemon has of the device, oldest first, then each new one. After a lost
/// connection, what happened meanwhile is fetched. Letting the last reference go stops it, as ``close()`` does.
public final class MatchMonitor: Sendable {
    private let session: Session
    private let client: GeomatchClient
    private let number: Int
    private let delegation = Delegation<MatchEvent>()

    /// On the connection of a client; both keep it as long as they need it.
    public init(_ client: GeomatchClient) {
        self.client = client
        session = client.session
        number = session.change { core in
            let monitor = MatchCore()
            monitor.number = core.add(monitor)
            return monitor.number
        }
    }

    deinit { close() }

    /// The devices that are monitored.
    public var devices: [String] { withMonitor { monitor, _ in monitor.devices } ?? [] }

    /// The newest hundred matches, oldest first.
    public var recent: [GeoMatch] { withMonitor { monitor, _ in monitor.recent } ?? [] }

    /// Begins with a device, and returns when what the daemon has of it was reported. Without effect for one that is monitored.
    ///
    /// - Throws: `notFound` or `forbidden` for a device that is not there or another's, or `timeout`, `refused`, `topicRefused`.
    public func start(_ deviceID: String) async throws(GeomatchError) {
        let number = number
        let _: Void = try await session.wait { core, done in
            guard let monitor = core.components[number] as? MatchCore else {
                done(.failure(.closed))
                return { _ in }
            }
            monitor.start(deviceID, core, done)
            return { ($0.components[number] as? MatchCore)?.giveUp(deviceID, $0) }
        }
    }

    /// Ends with a device. After the last one the connection is given back.
    public func stop(_ deviceID: String) { withMonitor { monitor, core in monitor.stop(deviceID, core) } }

    /// Ends with all devices, and this monitor for good.
    public func close() { withMonitor { monitor, core in monitor.close(core) } }

    /// The matches from now on. Each call gives a consumer of its own.
    ///
    /// It throws when the connection ends for good (`refused`, `topicRefused`), and ends with ``close()``.
    public var matches: BufferedSequence<GeoMatch, GeomatchError> {
        let mailbox = Mailbox<GeoMatch, GeomatchError>(capacity: session.configuration.bufferSize)
        if withMonitor({ monitor, _ in monitor.matches.add(mailbox) }) == nil { mailbox.finish(nil) }
        return BufferedSequence(mailbox: mailbox)
    }

    /// Everything from now on, in order. Each call gives a consumer of its own.
    public var events: BufferedSequence<MatchEvent, Never> { BufferedSequence(mailbox: eventMailbox()) }

    private func eventMailbox() -> Mailbox<MatchEvent, Never> {
        let mailbox = Mailbox<MatchEvent, Never>(capacity: session.configuration.bufferSize) { $0.isMatch }
        if withMonitor({ monitor, _ in monitor.events.add(mailbox) }) == nil { mailbox.finish(nil) }
        return mailbox
    }

    /// Is notified of everything from now on. Held weakly; the one before hears nothing more.
    public var delegate: (any MatchMonitorDelegate)? {
        get { delegation.delegate as? any MatchMonitorDelegate }
        set {
            delegation.replace(by: newValue, reading: eventMailbox) { [weak self, weak newValue] event in
                guard let self, let newValue else { return false }
                if case .matched(let match) = event {
                    await newValue.matchMonitor(self, didFind: match)
                } else {
                    await newValue.matchMonitor(self, didNotice: event)
                }
                return true
            }
        }
    }

    @discardableResult
    private func withMonitor<Result>(_ body: (MatchCore, SessionCore) -> Result) -> Result? {
        session.change { core in (core.components[number] as? MatchCore).map { body($0, core) } }
    }
}
