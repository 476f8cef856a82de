import Datasets
import DequeModule
import Logging
import MQTTLink
import Store
import Synchronization
import Wire

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
    private var current = HubEffects()
    /// Changes on their way to the disk: in order, with the number of the last match before the next.
    private var unconfirmed = Deque<(token: UInt64, changes: [DurableChange], matchNumber: Int64)>()
    private var queries: [UInt64: StoreQuery] = [:]
    private var lastToken: UInt64 = 0
    /// Replies the broker was not there for.
    private var unsent = Deque<UnsentMessage>()
    private var nextAdvanceAt: Int64 = 0
    private var nextResyncAt: Int64 = 0
    private var nextMarkAt: Int64 = 0
    private var markTold: Int64 = -1
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

    private static let unsentMaximum = 10_000
    private static let statesPerPortion = 200
    private static let backlogMaximum = 400

    // MARK: Effects

    func finishBatch(at now: Int64) {
        hub.endBatch(at: now, into: &effects)
        perform(at: now)
    }

    /// Does what the hub wants, and what it wants then.
    func perform(at now: Int64) {
        while !effects.isEmpty {
            // What changed a counter is durable together with it, whichever way it came.
            hub.endBatch(at: now, into: &effects)
            swap(&effects, &current)
            publish(current.messages)
            webhooks?.post(current.posts)
            keep(&current, at: now)
            for query in current.queries { ask(query) }
            for notice in current.notices { log.notice(notice) }
            let filtersChanged = current.filtersChanged
            current.removeAll()
            if filtersChanged { updateFilters() }
        }
    }

    /// Makes changes durable. Requests wait for it, with everything behind them; what nobody asked for does not.
    private func keep(_ current: inout HubEffects, at now: Int64) {
        guard !current.changes.isEmpty else {
            publish(current.gated)
            return
        }
        guard current.hasRequests else {
            append(current.changes)
            return
        }
        do throws(StoreError) {
            guard let journal else { throw .other("the journal is closed") }
            try journal.commitNow(current.changes)
            while let first = unconfirmed.first { confirm(first.token) }
            publish(current.gated)
            hub.committed(current.deletions, at: now, into: &effects)
            hub.durable(matchesThrough: hub.matchNumber, into: &effects)
        } catch {
            refuse(current, error, at: now)
        }
    }

    private func append(_ changes: [DurableChange]) {
        lastToken += 1
        unconfirmed.append((lastToken, changes, hub.matchNumber))
        journal?.append(changes, token: lastToken)
    }

    private func confirm(_ token: UInt64) {
        guard let first = unconfirmed.first, first.token <= token else { return }
        while let first = unconfirmed.first, first.token <= token {
            unconfirmed.removeFirst()
            hub.durable(matchesThrough: first.matchNumber, into: &effects)
        }
    }

    /// The store took nothing of what was asked: memory goes back to what is durable, and to what waits to be.
    private func refuse(_ refused: HubEffects, _ error: StoreError, at now: Int64) {
        let (waiting, datasets) = hub.refused(refused, reason: error.description, at: now, into: &effects)
        if !waiting.isEmpty { append(waiting) }
        var known = Set<String>()
        hub.beginRebuilding(datasets)
        let restore = { [hub] (change: DurableChange) throws(WireError) in
            switch change {
            // Memory knows these better: it was never changed by what was refused.
            case .putReply, .putLiveState: return
            case .putDataset(let record): known.insert(record.id)
            default: break
            }
            try hub.restore(change, at: now)
        }
        do {
            for name in datasets {
                try store.restore(dataset: name) { try restore($0) }
                for (_, changes, _) in unconfirmed {
                    for change in changes where change.dataset == name { try restore(change) }
                }
            }
        } catch {
            log.critical("store cannot be read", metadata: ["error": "\(error)"])
            health.fail(.storeUnreadable("\(error)"))
        }
        hub.endRebuilding(datasets, known: known, at: now, into: &effects)
    }

    private func ask(_ query: StoreQuery) {
        lastToken += 1
        queries[lastToken] = query
        journal?.ask(query.kind, token: lastToken)
    }

    // MARK: Publishing

    private func publish(_ batch: OutboundBatch) {
        guard !batch.isEmpty else { return }
        batch.bytes.withUnsafeBytes { bytes in
            for message in batch.messages { publish(message, bytes) }
        }
    }

    private func publish(_ message: OutboundMessage, _ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, let link else { return }
        let result = link.publish(
            OutgoingMessage(
                topic: (base + message.topic.lowerBound).assumingMemoryBound(to: CChar.self),
                payload: UnsafeRawBufferPointer(rebasing: bytes[message.payload]), qos: Int32(message.qos),
                retain: message.retain, token: message.token,
                correlation: message.correlation.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }))
        if result != .accepted { handle(result, message, bytes) }
    }

    private func handle(_ result: MQTTPublishResult, _ message: OutboundMessage, _ bytes: UnsafeRawBufferPointer) {
        switch result {
        case .notConnected, .windowFull, .failed:
            if message.token != 0 {
                hub.returned(message.token)
            } else if message.qos > 0, !message.retain {
                // What is retained is told anew at the next connection; a reply is told once.
                unsent.append(
                    UnsentMessage(
                        topic: String(decoding: bytes[message.topic], as: UTF8.self), payload: Array(bytes[message.payload]),
                        qos: Int32(message.qos), retain: message.retain, correlation: message.correlation.map { Array(bytes[$0]) }
                    ))
                if unsent.count > Self.unsentMaximum {
                    unsent.removeFirst()
                    log.warning("a reply was dropped: too many wait for the broker", metadata: ["count": "\(Self.unsentMaximum)"])
                }
            }
        case .tooLarge, .invalidTopic:
            // MQTT 5 reasons: packet too large, topic name invalid.
            if message.token != 0 {
                hub.acknowledged(message.token, reason: result == .tooLarge ? 0x95 : 0x90, into: &effects)
            }
            log.error("message cannot be published", metadata: ["reason": "\(result)"])
        case .accepted: break
        }
    }

    /// Sends what the broker was not there for; what it refuses again waits on.
    func publishUnsent() {
        for _ in 0..<unsent.count {
            guard let message = unsent.popFirst() else { return }
            let result = message.topic.withCString { topic in
                message.payload.withUnsafeBytes { payload in
                    (message.correlation ?? []).withUnsafeBytes { correlation in
                        link?.publish(
                            OutgoingMessage(
                                topic: topic, payload: payload, qos: message.qos, retain: message.retain,
                                correlation: message.correlation == nil ? nil : correlation))
                    }
                }
            }
            switch result {
            case .accepted, .tooLarge, .invalidTopic: continue
            case .notConnected, .windowFull, .failed, nil:
                unsent.prepend(message)
                return
            }
        }
    }

    func publish(_ payload: [UInt8], on topic: String, qos: Int32, retain: Bool) {
        let topic = configuration.prefix + topic
        _ = topic.withCString { name in
            payload.withUnsafeBytes {
                link?.publish(OutgoingMessage(topic: name, payload: $0, qos: qos, retain: retain))
            }
        }
    }

    // MARK: What the broker retains

    /// Makes the retained messages right again, paced, and then marks how far they are.
    ///
    /// - Returns: When to go on.
    private func settleBroker(at now: Int64) -> Int64 {
        guard session.phase == .online, let link else { return .max }
        // A clock that was set back must not stop it.
        nextResyncAt = min(nextResyncAt, now + 10)
        nextMarkAt = min(nextMarkAt, now + 1000)
        if !hub.isSettled {
            guard now >= nextResyncAt else { return nextResyncAt }
            nextResyncAt = now + 10
            if link.queuedMessages < 500 {
                _ = hub.continueResync(count: 100, at: now, into: &effects)
                perform(at: now)
            }
            return nextResyncAt
        }
        // With `live.qos: 1` what waits for an acknowledgement may not have come.
        guard hub.liveNumber != markTold, link.unacknowledged == 0 else { return .max }
        guard now >= nextMarkAt else { return nextMarkAt }
        nextMarkAt = now + 1000
        markTold = hub.liveNumber
        // Never repeated by the library after a lost connection, as QoS 1 would be: the messages it covers are not either.
        publish(Array(String(markTold).utf8), on: markTopic, qos: 0, retain: true)
        return .max
    }

    func forgetMark() { markTold = -1 }

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

extension Logger {
    fileprivate func notice(_ notice: Notice) {
        switch notice {
        case .datasetCreated(let name): info("dataset created", metadata: ["dataset": "\(name)"])
        case .datasetDeleted(let name): info("dataset deleted", metadata: ["dataset": "\(name)"])
        case .malformedDataset(let count):
            warning("live updates refused: malformed dataset level", metadata: ["count": "\(count)"])
        case .internalFailure(let id, let request):
            error("request failed", metadata: ["id": "\(id)", "request": "\(request)"])
        case .matchesDropped(let dataset, let count):
            error("matches dropped", metadata: ["dataset": "\(dataset)", "count": "\(count)"])
        }
    }
}

extension DaemonLoop {
    /// Creates what the configuration names and does not exist yet.
    func createDatasets(_ names: [String]) {
        for name in names { hub.ensureDataset(name, at: clock.now(), into: &effects) }
    }
}
