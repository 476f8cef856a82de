internal import MQTTValues
internal import Synchronization
internal import Wire

/// The events of one kind that come in for a client: of its circumstances, its geofences, or its beacon monitors.
///
/// ```swift
/// let monitor = client.circumstanceEvents
/// for try await event in monitor.events { print(event.circumstanceID, event.deviceID, event.isArriving) }
/// ```
///
/// It collects from the moment you have it. What the daemon could not deliver waits for you at the broker only as long as the
/// connection's session does; letting the last reference go ends it, as ``close()`` does.
public final class EventMonitor<Event: Sendable>: Sendable {
    private let session: Session
    private let client: GeomatchClient
    private let number: Int

    init(
        _ client: GeomatchClient, filter: @Sendable (ClientTopics) -> String,
        read: @escaping @Sendable ([String: PropertyValue]) throws(GeomatchError) -> Event,
        id: @escaping @Sendable (Event) -> String?
    ) {
        self.client = client
        session = client.session
        number = session.change { core in
            // A second one of the kind shares the subscription.
            let known = core.components.values.lazy.compactMap { $0 as? EventCore<Event> }.first
            let shared = known ?? EventCore(filter: filter(core.topics), read: read, id: id)
            return shared.join(core)
        }
    }

    deinit { close() }

    /// The events from now on, each once. Each call gives a consumer of its own.
    ///
    /// It throws when the connection ends for good (`refused`, `topicRefused`), and ends with ``close()``.
    public var events: BufferedSequence<Event, GeomatchError> {
        let mailbox = Mailbox<Event, GeomatchError>(capacity: session.configuration.bufferSize)
        let isOpen = session.change { core -> Bool in
            guard let shared = core.components[number] as? EventCore<Event>, !isClosed.withLock({ $0 }) else { return false }
            shared.events.add(mailbox)
            mailboxes.add(mailbox)
            return true
        }
        if !isOpen { mailbox.finish(nil) }
        return BufferedSequence(mailbox: mailbox)
    }

    /// Ends the sequences of this monitor.
    public func close() {
        let wasOpen = isClosed.withLock { closed in
            defer { closed = true }
            return !closed
        }
        guard wasOpen else { return }
        mailboxes.finish(nil)
        session.change { core in (core.components[number] as? EventCore<Event>)?.leave(core) }
    }

    private let isClosed = Mutex(false)
    /// Those of this monitor only.
    private let mailboxes = Broadcast<Event, GeomatchError>()
}

extension GeomatchClient {
    /// When circumstances of this client become true or false.
    public var circumstanceEvents: EventMonitor<CircumstanceEvent> {
        EventMonitor(self, filter: \.circumstanceEvents, read: CircumstanceEvent.init, id: \.id)
    }

    /// When devices enter, dwell in and leave geofences of this client.
    public var geofenceEvents: EventMonitor<GeofenceEvent> {
        EventMonitor(self, filter: \.geofenceEvents, read: GeofenceEvent.init, id: \.id)
    }

    /// When devices begin and cease to see beacons that this client monitors.
    public var beaconEvents: EventMonitor<BeaconEvent> {
        EventMonitor(self, filter: \.beaconEvents, read: BeaconEvent.init, id: { _ in nil })
    }
}

/// One subscription to events, shared by all listeners. Guarded by the session's lock, as everything on it.
final class EventCore<Event: Sendable>: SessionComponent {
    let events = Broadcast<Event, GeomatchError>()
    private let filter: String
    private let read: @Sendable ([String: PropertyValue]) throws(GeomatchError) -> Event
    private let id: @Sendable (Event) -> String?
    private var number = 0
    private var users = 0
    /// Ids of events that came, newest last: at least once on the way is once here.
    private var seen: [String] = []
    private static var seenMax: Int { 1000 }

    init(
        filter: String, read: @escaping @Sendable ([String: PropertyValue]) throws(GeomatchError) -> Event,
        id: @escaping @Sendable (Event) -> String?
    ) {
        self.filter = filter
        self.read = read
        self.id = id
    }

    func join(_ core: SessionCore) -> Int {
        users += 1
        if users == 1 {
            number = core.add(self)
            core.addFilter(filter, component: number)
            core.hold(number)
        }
        return number
    }

    func leave(_ core: SessionCore) {
        users -= 1
        guard users == 0 else { return }
        core.components[number] = nil
        core.removeFilter(filter)
        core.release(number)
    }

    func received(_ message: InboundMessage, _ core: SessionCore) {
        guard let object = core.parse(message.payload)?.asObject, let event = try? read(PropertyValue.members(of: object)) else {
            return
        }
        if let id = id(event) {
            guard !seen.contains(id) else { return }
            seen.append(id)
            if seen.count > Self.seenMax { seen.removeFirst() }
        }
        events.send(event)
    }

    func stateChanged(_ state: ConnectionState, _ core: SessionCore) {}
    func recover(_ core: SessionCore) {}
    func troubled(_ error: GeomatchError) {}
    func failed(_ error: GeomatchError, _ core: SessionCore) { events.finish(error.kind == .closed ? nil : error) }
    func filterRefused(_ filter: String, _ error: GeomatchError, _ core: SessionCore) { events.finish(error) }
    func tick(_ now: Int64, _ core: SessionCore) -> Int64 { .max }
}
