import Datasets
import DequeModule
import Logging
import MQTTLink
import Store
import Synchronization
import Wire
import Records

/// The shell around the hub: hands it what comes in, and does what it says.
///
/// Everything here belongs to the thread that runs the link. ``stop()``, the journal and the webhooks reach it through
/// ``MQTTLink/wake()``.
final class DaemonLoop: MQTTLinkHandler, @unchecked Sendable {
    struct Configuration {
        var broker: String
        var prefix: String
        var instance: String
        var readsEveryDataset: Bool
        var inputQoS: Int32
        var status: StatusMessage
        var adapters: [AdapterRule] = []
    }

    let configuration: Configuration
    /// Where the daemon's own mark and probe are: no other dataset can have this name.
    let ownTree: [UInt8]
    let hub: Hub
    let store: any DurableState
    let clock: LoopClock
    let log: Logger
    let health: Health
    var journal: (any DurableLog)?
    var webhooks: (any WebhookPosting)?
    var link: (any BrokerLink)?
    /// What other ecosystems publish, where the configuration names any.
    private let adapters: Adapters
    var session = Session()
    var effects = HubEffects()
    var current = HubEffects()
    /// Changes on their way to the disk: in order, with the number of the last match before the next.
    var unconfirmed = Deque<(token: UInt64, changes: [DurableChange], matchNumber: Int64)>()
    var queries: [UInt64: StoreQuery] = [:]
    var lastToken: UInt64 = 0
    /// Replies the broker was not there for.
    var unsent = Deque<UnsentMessage>()
    private var nextAdvanceAt: Int64 = 0
    var nextResyncAt: Int64 = 0
    var nextMarkAt: Int64 = 0
    var markTold: Int64 = -1
    /// The journal ended with nothing left; set when the loop has ended.
    var wroteEverything = false
    private var isStopping = false
    private let stopRequested = Atomic<Bool>(false)

    struct UnsentMessage {
        var topic: String
        var payload: [UInt8]
        var qos: Int32
        var retain: Bool
        var correlation: [UInt8]?
    }

    init(
        configuration: Configuration, hub: Hub, store: any DurableState, heldFilters: [String], clock: LoopClock = .system,
        log: Logger, health: Health
    ) {
        self.configuration = configuration
        adapters = Adapters(configuration.adapters)
        ownTree = Array((configuration.prefix + "geomatch/geomatch/").utf8)
        self.hub = hub
        self.store = store
        self.clock = clock
        self.log = log
        self.health = health
        session.held = Set(heldFilters)
    }

    /// Asks for a clean end: `offline` is told, what is only in memory is made durable. From any thread.
    func stop() {
        stopRequested.store(true, ordering: .releasing)
        link?.wake()
    }

    /// Creates what the configuration names and does not exist yet.
    func createDatasets(_ names: [String]) {
        for name in names { hub.ensureDataset(name, at: clock.now(), into: &effects) }
    }

    // MARK: The link

    func linkReceived(_ batch: InboundBatch) {
        let now = clock.now()
        hub.storeIsWritable = journal?.isWritable ?? false
        tellBacklog()
        for index in 0..<batch.count {
            let message = batch[index]
            if isOwn(message) || adapt(message, at: now) { continue }
            let inbound = Inbound(
                topic: message.topic, payload: message.payload, padded: true, retained: message.retain,
                responseTopic: message.responseTopic, correlation: message.correlation)
            if message.retain, session.isAdopting { hub.adopt(inbound, at: now, into: &effects) }
            hub.receive(inbound, at: now, into: &effects)
            if let lookups = hub.documentLookups { lookUp(lookups, at: now) }
            // What is let go of needs the disk's word first; nothing may be decided in between.
            if !effects.deletions.isEmpty { finishBatch(at: now) }
        }
        finishBatch(at: now)
        if case .probing = session.phase { awaitProbe() }
    }

    /// A push is judged by what is durable before it: nothing else is handled meanwhile.
    private func lookUp(_ lookups: [DocumentLookup], at now: Int64) {
        finishBatch(at: now)
        let documents = try? journal?.lookUp(lookups)
        hub.resume(with: documents, at: now, into: &effects)
    }

    /// Whether the message was of another ecosystem; an adapter's topics are no live topics of ours.
    private func adapt(_ message: InboundMessage, at now: Int64) -> Bool {
        guard !adapters.isEmpty,
            let adapted = adapters.read(topic: message.topic, payload: message.payload, padded: true, retained: message.retain)
        else { return false }
        hub.receive(adapted, published: message.topic, retained: message.retain, at: now, into: &effects)
        return true
    }

    func linkAcknowledged(token: UInt64, reason: UInt8) {
        if reason >= 0x80 { log.error("broker refused a message", metadata: ["reason": "\(reason)"]) }
        hub.acknowledged(token, reason: reason, into: &effects)
    }

    func linkWoken() {
        let now = clock.now()
        for completion in journal?.collect() ?? [] {
            switch completion {
            case .durable(let token): confirm(token)
            case .answer(let token, let answer):
                guard let query = queries.removeValue(forKey: token) else { continue }
                hub.answer(query, with: StoreFinding(answer), at: now, into: &effects)
            }
        }
        for (token, outcome) in webhooks?.collect() ?? [] { hub.posted(token, outcome, at: now, into: &effects) }
        perform(at: now)
        if stopRequested.load(ordering: .acquiring), !isStopping { finish(at: now) }
    }

    func linkTick(now: Int64) -> Int64 {
        if now >= nextAdvanceAt || now < nextAdvanceAt - 10 * Hub.tickMilliseconds {
            nextAdvanceAt = now + Hub.tickMilliseconds
            hub.storeIsWritable = journal?.isWritable ?? false
            tellBacklog()
            hub.advance(to: now, into: &effects)
        }
        perform(at: now)
        writeBehind(at: now)
        checkProbe(at: clock.monotonic())
        if session.phase == .online, !unsent.isEmpty { publishUnsent() }
        return min(nextAdvanceAt, settleBroker(at: now))
    }

    /// Live states go to the disk while it has little else to do; each portion that is done wakes the loop for the next.
    private func writeBehind(at now: Int64) {
        guard hub.hasStatesToWrite, let journal, journal.backlog < Self.backlogMaximum else { return }
        hub.writeBehind(count: Self.statesPerPortion, into: &effects)
        perform(at: now)
    }

    /// What waits at the link decides whether live subscribers get every update or the newest only.
    private func tellBacklog() {
        guard let link else { return }
        hub.liveBacklog = link.queuedMessages + link.unacknowledged
    }

    private static let statesPerPortion = 200
    private static let backlogMaximum = 400

    // MARK: The end

    private func finish(at now: Int64) {
        isStopping = true
        hub.finish(into: &effects)
        perform(at: now)
        // Where a subscription was refused, the status already says so, and why.
        if session.phase != .away, session.phase != .refused {
            publish(configuration.status.encode(isOnline: false), on: "geomatch/status", qos: 1, retain: true)
        }
        link?.stop(drainSeconds: 3)
    }

    /// What came in while the last messages went out.
    func keepRest() {
        hub.finish(into: &effects)
        perform(at: clock.now())
    }
}

extension StoreFinding {
    fileprivate init(_ answer: StoreAnswer) {
        switch answer {
        case .matches(let matches): self = .matches(matches)
        case .noSuchMatch: self = .noSuchMatch
        case .match(let match): self = .match(match)
        case .feed(let page): self = .feed(page)
        case .document(let document): self = .document(document)
        case .failed: self = .failed
        }
    }
}
