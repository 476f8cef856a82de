internal import LiveTopics
internal import MQTTValues
internal import Wire

/// The state of one connection and of everything attached to it.
///
/// Guarded by the lock of ``Session``: every method is called while it is held, and calls nothing that waits and
/// nothing of the application. Results go out through continuations and mailboxes, which only schedule. That keeps one
/// order for everything: events are reported in the order in which they happened.
final class SessionCore {
    enum Phase: Equatable {
        case closed
        case connecting
        /// CONNACK came, the answer to our filters has not.
        case subscribing
        case connected
        case disconnecting

        var state: ConnectionState {
            switch self {
            case .closed: .closed
            case .connecting, .subscribing: .connecting
            case .connected: .connected
            case .disconnecting: .disconnecting
            }
        }
    }

    /// What the link's thread is to do.
    enum Order {
        case publish(number: UInt64, Publication, correlation: [UInt8]?)
        case subscribe([String])
        case unsubscribe([String])
    }

    struct Filter {
        var text: String
        /// Nil for the session's own.
        var component: Int?
        var isGranted = false
    }

    let configuration: GeomatchConfiguration
    let endpoint: MQTTEndpoint
    let topics: ClientTopics
    let parser = JSONParser()
    weak var session: Session?

    private(set) var phase = Phase.closed
    /// Who needs the connection. It is kept as long as somebody does.
    private var holders: Set<Int> = []
    private var loop: LinkLoop?
    private var openFailure: GeomatchError?
    private var hasConnected = false
    /// Counts connections, so that a request knows whether it was sent on this one.
    var connection = 0
    var orders: [Order] = []
    /// By bytes: Swift's strings would join ids that the broker keeps apart.
    var filters: [[UInt8]: Filter] = [:]
    var filtersAsked: [Int32: [String]] = [:]
    var components: [Int: any SessionComponent] = [:]
    private var lastNumber: UInt64 = 0

    var requests: [[UInt8]: PendingRequest] = [:]
    var nextDeadline = Int64.max
    /// The daemon that answers, as `geomatch/status` names it.
    var daemon: (instance: String, isOnline: Bool?)?
    let states = Broadcast<ConnectionState, Never>()
    private var lastHolder = 0

    static let requestsMax = 10_000

    init(_ configuration: GeomatchConfiguration) throws(GeomatchError) {
        self.configuration = configuration
        endpoint = try configuration.endpoint()
        topics = ClientTopics(configuration)
        if !configuration.isForCommand { expectReplies() }
    }

    /// Makes the session hear replies and the daemon's status.
    func expectReplies() {
        guard filters[Array(topics.reply.utf8)] == nil else { return }
        addFilter(topics.reply, component: nil)
        addFilter(topics.status, component: nil)
    }

    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// A number to hold the connection by.
    func nextHolder() -> Int {
        lastHolder += 1
        return lastHolder
    }

    /// - Returns: The number it is known, and holds the connection, by.
    func add(_ component: any SessionComponent) -> Int {
        let number = nextHolder()
        components[number] = component
        return number
    }

    // MARK: Holding the connection

    /// Connects, unless there is a connection, and keeps it until ``release(_:)``.
    func hold(_ holder: Int) {
        holders.insert(holder)
        if phase == .closed { open() }
    }

    /// Disconnects when nobody needs the connection any more.
    func release(_ holder: Int) {
        guard holders.remove(holder) != nil, holders.isEmpty, let loop else { return }
        loop.stop()
        move(to: .disconnecting)
    }

    func holds(_ holder: Int) -> Bool { holders.contains(holder) }

    /// Everything ends with `error`, now.
    func fail(_ error: GeomatchError, drainSeconds: Double = 0) {
        holders.removeAll()
        let pending = requests.values.sorted { $0.number < $1.number }
        requests.removeAll()
        loop?.stop(drainSeconds: drainSeconds)
        if loop != nil { move(to: .disconnecting) }
        pending.forEach { $0.completion(.failure(error)) }
        for component in sortedComponents { component.failed(error, self) }
    }

    /// Fails with what kept a connection from being begun: after everything that wanted it has been noted.
    func failUnopened() {
        guard let error = openFailure else { return }
        openFailure = nil
        fail(error)
    }

    private func open() {
        guard let session else { return }
        do throws(GeomatchError) {
            let loop = try LinkLoop(session, configuration, endpoint)
            self.loop = loop
            move(to: .connecting)
            loop.start()
        } catch {
            openFailure = error
        }
    }

    private func move(to phase: Phase) {
        let before = self.phase.state
        self.phase = phase
        guard phase.state != before else { return }
        states.send(phase.state)
        for component in sortedComponents { component.stateChanged(phase.state, self) }
    }

    private var sortedComponents: [any SessionComponent] { components.sorted { $0.key < $1.key }.map(\.value) }

    // MARK: What the link reports

    func connected() {
        guard phase == .connecting else { return }
        connection += 1
        move(to: .subscribing)
        guard !filters.isEmpty else { return ready() }
        orders.append(.subscribe(filters.values.map(\.text).sorted()))
    }

    func subscribed(_ id: Int32, _ granted: [UInt8]) {
        guard let asked = filtersAsked.removeValue(forKey: id) else { return }
        for (text, code) in zip(asked, granted) {
            guard let filter = filters[Array(text.utf8)] else { continue }
            if code < 0x80 {
                filters[Array(text.utf8)]?.isGranted = true
                continue
            }
            let error = GeomatchError(
                .topicRefused,
                "the broker refuses the subscription to \(text) (reason 0x\(String(code, radix: 16, uppercase: true))): "
                    + "its access list must let \"\(configuration.client)\" read it")
            if let component = filter.component {
                filters[Array(text.utf8)] = nil
                components[component]?.filterRefused(text, error, self)
            } else if text == topics.reply {
                // Without replies nothing can work, and nothing but the access list can help.
                return fail(error)
            }
        }
        if phase == .subscribing, filters[Array(topics.reply.utf8)]?.isGranted != false {
            ready()
        } else if phase == .connected {
            sendRequests()
        }
    }

    /// Everything may go out: what comes of it will be heard.
    private func ready() {
        move(to: .connected)
        sendRequests()
        // Only what had been there before needs recovering.
        if hasConnected { for component in sortedComponents { component.recover(self) } }
        hasConnected = true
    }

    func disconnected(_ reason: MQTTDisconnect) {
        orders.removeAll()
        filtersAsked.removeAll()
        daemon?.isOnline = nil
        for key in filters.keys { filters[key]?.isGranted = false }
        // The end of a loop is reported by `loopEnded`.
        guard reason.cause != .stopped, phase != .disconnecting, phase != .closed else { return }
        let error = GeomatchError(reason, broker: configuration.brokerName)
        if reason.needsAction || configuration.isForCommand && connection == 0 { return fail(error) }
        if phase != .connecting {
            move(to: .closed)
            move(to: .connecting)
        }
        configuration.connectionLost?(error)
        for component in sortedComponents { component.troubled(error) }
    }

    /// The link's thread is done; somebody may want a connection again meanwhile.
    func loopEnded() {
        loop = nil
        hasConnected = false
        move(to: .closed)
        guard holders.isEmpty else { return open() }
        // What nobody waits for any more, such as a goodbye to the daemon.
        let left = requests.values
        requests.removeAll()
        left.forEach { $0.completion(.failure(.closed)) }
    }

    func tick(_ now: Int64) -> Int64 {
        expireRequests(now)
        var next = nextDeadline
        for component in sortedComponents { next = min(next, component.tick(now, self)) }
        return next
    }

    // MARK: What comes in

    func received(_ message: InboundMessage) {
        guard let filter = filter(of: message.topic) else { return worker?.received(message, self) ?? () }
        if let component = filter.component.flatMap({ components[$0] }) {
            if component === worker || !message.retain { component.received(message, self) }
        } else if filter.text == topics.reply {
            if !message.retain { replied(parse(message.payload), correlation: message.correlation.map { Array($0) }) }
        } else {
            daemonSaid(parse(message.payload), isReplayed: message.retain)
        }
    }

    func receivedAll() { for component in sortedComponents { component.receivedAll() } }

    /// Nil for what is not JSON.
    func parse(_ payload: UnsafeRawBufferPointer) -> JSONValue? { try? JSONValue.parse(payload, using: parser) }

    /// Our filters are topics, or topics whose last level is open; but for those of a worker, which has what is left.
    private func filter(of topic: UnsafeRawBufferPointer) -> Filter? {
        if let exact = filters[Array(topic)] { return exact }
        guard let slash = topic.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return filters[Array(topic[...slash]) + [UInt8(ascii: "+")]]
    }

    private func daemonSaid(_ status: JSONValue?, isReplayed: Bool) {
        guard let status = status?.asObject, let instance = status["instance"]?.asString else { return }
        let isOnline = status["state"]?.asString == "online"
        let before = daemon
        // An offline message is the will of the instance that was; who comes next says so itself.
        daemon = (isOnline ? instance : before?.instance ?? instance, isOnline)
        // What the broker replays on a subscription was there before anything was sent on this connection.
        if !isOnline, !isReplayed, before?.isOnline != false {
            for component in sortedComponents { component.daemonLeft() }
        }
        guard isOnline, !isReplayed, phase == .connected else { return }
        let isAnother = before.map { $0.instance != instance } ?? false
        // A request that went out while no daemon was there may have been kept by nobody; one that was kept is carried out
        // once all the same.
        for (key, request) in requests where request.wantsReply { requests[key]?.sentOn = 0 }
        sendRequests()
        if isAnother { for component in sortedComponents { component.recover(self) } }
    }

    // MARK: Filters

    func addFilter(_ text: String, component: Int?) {
        filters[Array(text.utf8)] = Filter(text: text, component: component)
        if phase == .connected || phase == .subscribing { order(.subscribe([text])) }
    }

    func removeFilter(_ text: String) {
        guard filters.removeValue(forKey: Array(text.utf8)) != nil else { return }
        if phase == .connected || phase == .subscribing { order(.unsubscribe([text])) }
    }

    func order(_ order: Order) {
        orders.append(order)
        wake()
    }

    /// The link itself, for what belongs to its thread.
    var link: (any ClientLink)? { loop?.link }
    /// What publishes and reads much, where there is one.
    var worker: WorkerCore? { components.values.lazy.compactMap { $0 as? WorkerCore }.first }

    /// Asks the loop for a turn.
    func wake() { loop?.wake() }

    func takeOrders() -> [Order] {
        defer { orders.removeAll(keepingCapacity: true) }
        return orders
    }
}
