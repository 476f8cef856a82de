import DaemonCore
import Datasets
import DequeModule
import HomeAssistant
import LiveTopics
import Logging
import MQTTLink
import Synchronization
import Wire

/// The core on an MQTT broker: makes requests and updates of messages, and messages of what leaves.
///
/// Everything here belongs to the thread that runs the link, and so does the core. ``stop()`` and ``wake()`` may come from any.
public final class MQTTDoor: MQTTLinkHandler, Door, @unchecked Sendable {
    public struct Configuration {
        public var broker: String
        public var topics: Topics
        public var instance: String
        public var readsEveryDataset: Bool
        public var inputQoS: Int32
        /// Of live states: 0 or 1.
        public var liveQoS: Int32
        public var status: StatusMessage
        public var adapters: [AdapterRule]
        /// Whether it ends where another daemon was at the broker before: not on a broker of its own, where no other belongs.
        public var yields: Bool
        public var homeAssistant = HomeAssistantSettings()
        /// In a cluster; nil: everything is this door's.
        public var role: ShardRole?
        /// What the reception knows of the datasets of other shards.
        public var knownDatasets: Set<String>?
        /// How many messages the former owner of the shard passed on as it ended.
        public var passedOn = 0

        public init(
            broker: String, topics: Topics, instance: String, readsEveryDataset: Bool, inputQoS: Int32, liveQoS: Int32 = 0,
            status: StatusMessage, adapters: [AdapterRule] = [], yields: Bool = false
        ) {
            self.broker = broker
            self.topics = topics
            self.instance = instance
            self.readsEveryDataset = readsEveryDataset
            self.inputQoS = inputQoS
            self.liveQoS = liveQoS
            self.status = status
            self.adapters = adapters
            self.yields = yields
        }
    }

    var configuration: Configuration
    public let core: Core
    var topics: Topics { configuration.topics }
    var role: ShardRole? { configuration.role }
    var shardState = ShardState()
    var handover: Handover
    /// How many messages of its shard this door passed on as it ended.
    let passedOn = Atomic(0)
    /// What the reception passed on, and what it is to know.
    let routed = Mutex<[RoutedMessage]>([])
    let newKnown = Mutex<(datasets: Set<String>, askedAt: Int64)?>(nil)
    /// Among the core's doors.
    let number = 0
    let ownTree: [UInt8]
    let discoveryTree: [UInt8]
    var discovery: Discovery
    /// Whether each dataset that was seen is for Home Assistant.
    var discovered: [String: Bool] = [:]
    /// As of which version the events of a dataset are known to Home Assistant.
    var discoveredEvents: [String: Int] = [:]
    var nextDiscoveryAt: Int64 = 0
    /// Nothing is discovered, and nothing retained is left of an earlier life.
    var isDiscoveryRemoved = false
    public var link: (any BrokerLink)?
    /// What other ecosystems publish, where the configuration names any.
    private(set) var adapters: Adapters
    /// Rules that are to take the place of those in force.
    private let newAdapters = Mutex<NewAdapters?>(nil)
    private let newDiscovered = Mutex<(datasets: [String], isWhole: Bool)?>(nil)
    public internal(set) var session = Session()
    /// Scratch for one topic.
    var topic: [UInt8] = []
    /// Replies the broker was not there for.
    var unsent = Deque<UnsentMessage>()
    var unsentBytes = 0
    /// Since the broker last took all of them.
    var dropsReplies = false
    var pendingReplies = PendingReplies()
    var nextResyncAt: Int64 = 0
    var nextMarkAt: Int64 = 0
    var publishedMark: Int64 = -1
    /// Live topics whose retained input is to be cleared, and those where the clearing has not come back.
    var erasures: [String] = []
    private var erasing: Set<String> = []
    /// When it was first online in this life.
    var onlineAt: Int64?
    /// The broker had no session of ours when this life began.
    var beganSession = false
    /// What was seen of another daemon at this broker.
    var otherDaemon: String?
    /// When a copy of the data directory was last met, on the core's monotonic clock.
    var copyMetAt: Int64?
    private var nextMalformedLogAt: Int64 = 0
    /// Until when the broker need not be asked again to refuse a client's requests.
    private var floods: [String: Int64] = [:]
    private var nextFloodLogAt: Int64 = .min
    private var stopsAt: Int64?
    private let stopRequested = Atomic<Bool>(false)
    private let endsService = Atomic<Bool>(false)
    /// Another node serves the shard when this door has ended.
    private let hasSuccessor = Atomic<Bool>(false)

    struct UnsentMessage {
        /// With a NUL behind it.
        var topic: [UInt8]
        var payload: [UInt8]
        var qos: Int32
        var correlation: [UInt8]?
        /// Of a reply, see ``PendingReplies``.
        var token: UInt64
    }

    private struct NewAdapters {
        var rules: [AdapterRule]
        var done: @Sendable (_ isTaken: Bool) -> Void
    }

    /// - Parameter heldFilters: What the broker may hold for us from an earlier life.
    public init(_ configuration: Configuration, core: Core, heldFilters: [String]) {
        self.configuration = configuration
        self.core = core
        adapters = Adapters(configuration.adapters)
        ownTree = Array(configuration.topics.own.utf8)
        discoveryTree = Array(configuration.homeAssistant.tree.utf8)
        discovery = Discovery(
            Discovery.Naming(prefix: configuration.topics.prefix, version: configuration.status.version))
        handover = Handover(expected: configuration.passedOn)
        session.held = Set(heldFilters)
        if let datasets = configuration.knownDatasets { (shardState.known, shardState.lastView) = (datasets, datasets) }
        // What waited for the session at the broker comes before it is online.
        shardState.opened = Set(core.hub.datasetNames)
        core.add(self)
    }

    /// An earlier life did not end cleanly: what the broker retains of its last second is read first.
    public var mustAdopt: Bool {
        get { session.mustAdopt }
        set { session.mustAdopt = newValue }
    }

    /// Asks for a clean end: what waits is made durable and answered, `offline` is reported. From any thread.
    ///
    /// - Parameter endsService: In a cluster, whether nobody serves the shard from then on: the reception reports `offline`. Else what
    ///   comes meanwhile is passed on to the next owner.
    public func stop(endsService: Bool = false) {
        self.endsService.store(endsService && role?.isReception == true, ordering: .releasing)
        hasSuccessor.store(role != nil && !endsService, ordering: .releasing)
        stopRequested.store(true, ordering: .releasing)
        wake()
    }

    /// Reads other ecosystems by these rules from now on, unless a dataset has the name of their topics. From any thread.
    ///
    /// - Parameter done: Called on the link's thread; not where other rules come before it looks at these.
    public func reload(adapters: [AdapterRule], done: @escaping @Sendable (_ isTaken: Bool) -> Void) {
        newAdapters.withLock { $0 = NewAdapters(rules: adapters, done: done) }
        wake()
    }

    /// Has Home Assistant discover these datasets from now on, and no others. From any thread.
    ///
    /// - Parameter isWhole: Else it discovers no others, and those that come with them at the next call.
    public func reload(discovering datasets: [String], isWhole: Bool) {
        newDiscovered.withLock { $0 = (datasets, isWhole) }
        wake()
    }

    private func takeNewAdapters() {
        guard let new = newAdapters.withLock({ $0.take() }) else { return }
        let rules = new.rules
        if let (index, problem) = AdapterRule.overlap(in: rules, prefix: topics.prefix, datasets: core.hub.datasetNames) {
            core.logger.error("adapters stay as they were", metadata: ["adapters[\(index)].filter": "\(problem)"])
            return new.done(false)
        }
        defer { new.done(true) }
        configuration.adapters = rules
        adapters = Adapters(rules)
        core.hub.reserve(datasets: AdapterRule.reservedDatasets(of: rules, prefix: topics.prefix))
        updateFilters()
    }

    // MARK: Door

    /// What waits at the link decides whether live subscribers get every update or the newest only.
    public var backlog: Int { link.map { $0.queuedMessages + $0.unacknowledged } ?? 0 }

    public func wake() { link?.wake() }

    public func replyBytes(of queue: UInt32) -> Int { pendingReplies.bytes(of: queue) }

    /// Replies to all leave through one connection, so that those to whom takes none would keep others waiting.
    public func isFlooded(by client: String, in dataset: String) -> Bool {
        let now = core.clock.monotonic()
        guard now >= floods[dataset + "/" + client] ?? .min else { return true }
        floods = floods.filter { now < $0.value }
        floods[dataset + "/" + client] = now + Self.floodMilliseconds
        link?.refusePublications(below: topics.requests(of: client, in: dataset))
        if now >= nextFloodLogAt {
            nextFloodLogAt = now + 60_000
            core.logger.warning(
                "requests are dropped: too many of the client's wait, and it takes no replies",
                metadata: ["dataset": "\(dataset)", "client": "\(client)"])
        }
        return true
    }

    /// The broker keeps requests away for a second.
    private static let floodMilliseconds: Int64 = 500

    public func datasetsChanged() {
        noteDatasets()
        updateFilters()
        announceOpened()
    }

    public func eraseInput(_ topic: String) {
        if erasures.count < Self.erasuresMaximum { erasures.append(topic) }
        if session.phase == .online { eraseInputs() }
    }

    private static let erasuresMaximum = 10_000

    /// Clears what the broker retains of input; what that sends to us is no update.
    func eraseInputs() {
        for topic in erasures {
            if erasing.count < Self.erasuresMaximum { erasing.insert(topic) }
            publish([], on: topics.prefix + topic, qos: 1, retain: true)
        }
        erasures.removeAll()
    }

    // MARK: The link

    public func linkReceived(_ batch: InboundBatch) {
        core.begin()
        for index in 0..<batch.count {
            let message = batch[index]
            if !isOwn(message) && !isDiscovery(message) && !waits(message) && !adapt(message) { receive(message) }
        }
        core.end()
        if case .probing = session.phase { awaitProbe() }
    }

    /// Whether what comes now is for the next owner: what is taken in while this one ends would be carried out and never answered.
    private func passesOn(_ reading: Reading) -> Bool { isHandingOver && reading != .elsewhere }

    var isEnding: Bool { stopsAt != nil }

    var isHandingOver: Bool { stopsAt != nil && hasSuccessor.load(ordering: .acquiring) }

    private func receive(_ message: InboundMessage) {
        if role != nil, !isForHere(message) { return }
        receiveHere(message)
    }

    /// Whether a message is not another session's of the cluster; what may create a dataset of another shard is passed on.
    func isForHere(_ message: InboundMessage) -> Bool {
        switch topics.read(message.topic) {
        case .request(let dataset, _, let name):
            let reading = reading(of: dataset)
            if keepsBack(message, of: dataset) { return false }
            if reading == .unknown, !message.retain, session.phase == .online || stopsAt != nil,
                passesOn(unknown: dataset, creating: creates(dataset, name))
            {
                route(message, of: dataset)
                return false
            }
            if reading == .unknown, stopsAt == nil, !message.retain, postpones(message, of: dataset) { return false }
            guard passesOn(reading) else { return reading != .elsewhere }
            route(message, of: dataset)
            return false
        case .malformedRequest(let dataset): return reading(of: dataset) != .elsewhere
        case .update(let topic): return isForHere(update: message, of: Self.dataset(of: topic))
        case .other: return true
        }
    }

    /// The same of an update.
    private func isForHere(update message: InboundMessage, of dataset: String) -> Bool {
        let reading = reading(of: dataset)
        if keepsBack(message, of: dataset) { return false }
        guard passesOn(reading) || reading == .unknown && passesOn(unknown: dataset, creating: role?.createsDatasets == true)
        else { return reading != .elsewhere }
        route(message, of: dataset)
        return false
    }

    /// The first level of a live topic.
    static func dataset(of topic: UnsafeRawBufferPointer) -> String {
        String(decoding: topic.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
    }

    func receiveHere(_ message: InboundMessage) {
        switch topics.read(message.topic) {
        case .request(let dataset, let client, let name):
            // A request that the broker replays is an old one.
            guard !message.retain else { return }
            // It is answered nevertheless, where somebody may read the reply.
            if !Topics.isRequestName(name) { reportMalformedRequest(message.topic, of: dataset) }
            let topic = topics.reply(dataset: dataset, client: client, responseTopic: message.responseTopic)
            core.receive(
                Envelope(
                    dataset: dataset, client: client, name: name, body: message.payload, isPadded: true,
                    answer: MQTTReturnAddress.make(door: number, topic: topic, correlation: message.correlation)))
        case .malformedRequest(let dataset):
            if !message.retain { reportMalformedRequest(message.topic, of: dataset) }
        case .update(let topic):
            if message.payload.isEmpty, !erasing.isEmpty, !message.retain,
                erasing.remove(String(decoding: topic, as: UTF8.self)) != nil
            {
                return
            }
            if message.leftOut > 0 { core.countConflated(Int(message.leftOut), of: Self.dataset(of: topic)) }
            core.receive(
                IncomingUpdate(topic: topic, payload: message.payload, isPadded: true, isRepeated: message.retain))
        case .other:
            if message.topic.elementsEqual(topics.status.utf8) { return noteStatus(message) }
            guard message.retain, session.isAdopting, let topic = topics.liveState(message.topic) else { return }
            core.adopt(
                IncomingUpdate(topic: topic, payload: message.payload, isPadded: true, isRepeated: true), restores: mustAdopt)
        }
    }

    public func recipient(of answer: ReturnAddress) -> Recipient? {
        answer.door == number ? topics.recipient(of: answer) : nil
    }

    /// On the dataset's diagnostics, and once a second in the log.
    private func reportMalformedRequest(_ topic: UnsafeRawBufferPointer, of dataset: String) {
        let topic = topic.dropping(prefix: topics.prefix) ?? topic
        core.receiveMalformedRequest(topic, of: dataset)
        let now = core.clock.monotonic()
        guard now >= nextMalformedLogAt else { return }
        nextMalformedLogAt = now + 1000
        core.logger.notice(
            "request topic is malformed", metadata: ["topic": "\(String(decoding: topic.prefix(256), as: UTF8.self))"])
    }

    /// Whether the message was of another ecosystem; an adapter's topics are no live topics of ours.
    ///
    /// - Parameter isPassedOn: It is for this session.
    func adapt(_ message: InboundMessage, isPassedOn: Bool = false) -> Bool {
        guard !adapters.isEmpty,
            let adapted = adapters.read(topic: message.topic, payload: message.payload, padded: true, retained: message.retain)
        else { return false }
        if role != nil, !isPassedOn, !isForHere(update: message, of: adapted.dataset) { return true }
        if message.leftOut > 0 { core.countConflated(Int(message.leftOut), of: adapted.dataset) }
        core.receive(adapted, published: message.topic, isRepeated: message.retain)
        return true
    }

    public func linkAcknowledged(token: UInt64, reason: UInt8) {
        if reason >= 0x80 {
            var metadata: Logger.Metadata = ["reason": .stringConvertible(reason)]
            if reason == Self.notAuthorised {
                metadata["why"] =
                    "the broker's access list keeps the daemon's login from writing: geomatchd --print-acl prints one that works"
            }
            core.logger.error("broker refused a message", metadata: metadata)
        }
        if PendingReplies.isToken(token) { return pendingReplies.remove(token) }
        core.delivered(token, refusal: reason < 0x80 ? nil : Self.refusal(reason))
    }

    /// Of MQTT 5.
    private static let notAuthorised: UInt8 = 0x87

    static func refusal(_ reason: UInt8) -> String { "the broker refused it with reason \(reason)" }

    public func linkWoken() {
        core.woken()
        takeNewAdapters()
        if let new = newDiscovered.withLock({ $0.take() }) { rediscover(new.datasets, isWhole: new.isWhole) }
        takeRouted()
        settleLease()
        if stopRequested.load(ordering: .acquiring) { end() }
    }

    public func linkTick(now: Int64) -> Int64 {
        // The core's clock may be corrected, the link's is not.
        let ahead = core.clock.now() - now
        var next = core.tick()
        checkProbe(at: core.clock.monotonic())
        forgetCopy()
        if session.phase == .online, !unsent.isEmpty { publishUnsent() }
        if role != nil {
            settleLease()
            settleStatus()
            settleHandover()
        }
        next = min(next, settleBroker(at: core.clock.now()), settleDiscovery(at: core.clock.now()))
        if stopsAt != nil { end() }
        return next == .max ? next : next - ahead
    }

    // MARK: The end

    /// So long replies wait for the disk at the end, in milliseconds.
    private static let endMilliseconds: Int64 = 2000

    private func end() {
        let now = core.clock.monotonic()
        if stopsAt == nil {
            stopsAt = now + Self.endMilliseconds
            // Who comes next has neither.
            endHandover()
            endKeeping { _ in true }
            passOnUndecided()
            core.finish()
        }
        guard let at = stopsAt, at != .max, core.isSettled || now >= at else { return }
        stopsAt = .max
        // Where a subscription was refused, the status already says so, and why.
        if session.phase != .away, session.phase != .refused, role == nil || endsService.load(ordering: .acquiring) {
            publish(configuration.status.encode(isOnline: false), on: topics.status, qos: 1, retain: true)
        }
        link?.stop(drainSeconds: role == nil ? 3 : 1)
    }

    /// Ends at once: what waits is neither sent nor written by this door. From any thread.
    public func abandon() { link?.stop(drainSeconds: 0) }

    /// What came in while the last messages went out.
    func keepRest() { core.finish() }
}
