import Datasets
import DequeModule
import Logging
import Records
import Wire

/// The one loop around the hub: hands it what comes in, and does what it wants done.
///
/// Everything here belongs to one thread, which never waits for the disk. What rests on changes that are not yet durable is held back
/// until they are.
public final class Core {
    public let hub: Hub
    public let clock: CoreClock
    public let logger: Logger
    public let health: Health
    public var log: (any DurableLog)?
    public var poster: (any Poster)?
    public var pushPoster: (any PushPoster)?
    /// When it was last logged what keeps a push service from accepting anything.
    var faultsLoggedAt: [PushKind: Int64] = [:]
    /// Each keeps the core; the core keeps none of them.
    private(set) var doors: [DoorReference] = []
    var turn: Turn
    /// Scratch: what is being done.
    var current = Effects()
    /// Handed to the log and not yet durable, in order.
    var uncommitted = Deque<(token: UInt64, what: Uncommitted, at: Double)>()
    /// How many of those a request waits for.
    var askedCount = 0
    /// Questions for the store that wait until what they must see is durable.
    var questions = Deque<(after: UInt64, query: StoreQuery)>()
    /// Questions that the store was asked.
    var asked: [UInt64: StoreQuery] = [:]
    /// What the log has done and was not looked at yet.
    var completions = Deque<LogCompletion>()
    /// What is read again after a refusal.
    var loading: Loading?
    /// What was decided meanwhile, in order: it goes to the log behind what the refusal left.
    var behindLoading: [Uncommitted] = []
    /// What waited for it was given up: memory is not all in the log.
    public internal(set) var endedWhileLoading = false
    var lastToken: UInt64 = 0
    var lastQuestion: UInt64 = 0
    /// Requests that wait, by client.
    var queues = RequestQueues()
    /// How many of the turn's held items were looked at for replies.
    var repliesNoted = 0
    /// What it measures of itself.
    public internal(set) var meters = Meters()
    private var nextAdvanceAt: Int64 = 0
    /// On the monotonic clock: when the next portion of live states is written, and when all that are due should be.
    private var portions: (next: Int64, end: Int64)?

    private static let uncommittedMaximum = 10_000
    /// Questions beyond so many are answered that the store cannot be read.
    static let questionsMaximum = 1000

    public init(
        hub: Hub, seed: (UInt64, UInt64), clock: CoreClock = .system, logger: Logger, health: Health
    ) {
        self.hub = hub
        self.clock = clock
        self.logger = logger
        self.health = health
        turn = Turn(at: clock.now(), seed: seed)
    }

    public func add(_ door: any Door) { doors.append(DoorReference(door: door)) }

    /// Has ``woken()`` called on the core's thread. From any thread.
    public func wake() { doors.first?.door.wake() }

    /// Whether a notification is not for this door, as another keeps it for itself.
    public func isKept(_ notification: Notification, from door: Int) -> Bool {
        guard doors.count > 1 else { return false }
        return doors.indices.contains { $0 != door && doors[$0].door.keepsForItself(notification) }
    }

    /// Whether nothing for an audience is for this door.
    public func isKept(_ audience: Audience, from door: Int) -> Bool {
        guard doors.count > 1 else { return false }
        return doors.indices.contains { $0 != door && doors[$0].door.keepsForItself(audience) }
    }

    /// Whose a reply is, whichever door brought the request; nil: nobody's who may hear of it.
    public func recipient(of answer: ReturnAddress) -> Recipient? {
        doors.lazy.compactMap { $0.door.recipient(of: answer) }.first
    }

    // MARK: What comes in

    /// Creates what an operator names and does not exist yet.
    public func createDatasets(_ names: [String]) {
        begin()
        for name in names { hub.ensureDataset(name, &turn) }
    }

    /// Begins a batch of what came in; ends with ``end()``.
    public func begin() {
        health.countTurn()
        turn.now = clock.now()
        // A disk that hangs is one that cannot be written, when as much waits for it as should.
        hub.storeIsWritable = log?.isWritable == true && uncommitted.count < Self.uncommittedMaximum && loading == nil
        hub.liveBacklog = doors.reduce(0) { $0 + $1.door.backlog }
    }

    public func receive(_ update: IncomingUpdate) { hub.receive(update, &turn) }

    /// Updates were left out for newer ones of their topic before they came.
    public func countConflated(_ count: Int, of dataset: String) { hub.conflatedUpdates(count, of: dataset) }

    /// A live update whose sender waits to hear what became of it.
    public func receiveAnswered(_ update: IncomingUpdate, of dataset: String) -> UpdateAnswer {
        hub.receiveAnswered(update, of: dataset, &turn)
    }

    /// A live state that somebody keeps.
    ///
    /// - Parameter restores: A crash may have made us forget it; else only what deleted datasets left is cleared.
    public func adopt(_ state: IncomingUpdate, restores: Bool) { hub.adopt(state, restores: restores, &turn) }

    /// What an adapter read of another ecosystem's message.
    ///
    /// - Parameter published: The message's topic, which refusals name.
    public func receive(_ adapted: AdaptedMessage, published: UnsafeRawBufferPointer, isRepeated: Bool) {
        hub.receive(adapted, published: published, isRepeated: isRepeated, &turn)
    }

    /// Somebody published a request on a topic that is none.
    public func receiveMalformedRequest(_ topic: UnsafeRawBufferPointer, of dataset: String) {
        hub.receiveMalformedRequest(topic, of: dataset, &turn)
    }

    /// Ends a batch: does what the hub wants.
    public func end() { perform() }

    /// The broker refused filters; a new connection begins at none.
    public func noteRefusedSubscriptions(_ count: Int, isNew: Bool = false) {
        meters.refusedSubscriptions = (isNew ? 0 : meters.refusedSubscriptions) + count
    }

    // MARK: What becomes of notifications

    /// - Parameter refusal: Why it was refused for good; nil: it arrived.
    public func delivered(_ token: UInt64, refusal: String?) { hub.delivered(token, refusal: refusal, &turn) }

    public func returned(_ token: UInt64) { hub.returned(token) }

    /// Notifications can leave.
    ///
    /// - Parameter number: The broker that keeps live states has them up to here; nil: all of them.
    public func doorOpened(holding number: Int64?) {
        health.setOnline(true)
        meters.openings += 1
        if let number {
            hub.doorHolds(through: number)
            hub.repeatStatus()
        }
        hub.doorOpened(&turn)
    }

    public func doorClosed() {
        health.setOnline(false)
        hub.doorClosed()
    }

    /// Reports again what the broker that keeps live states may have lost, up to so many.
    public func continueResync(count: Int) {
        _ = hub.continueResync(count: count, &turn)
        perform()
    }

    // MARK: Time

    /// Lets time pass.
    ///
    /// - Returns: When to call again at the latest; milliseconds since 1970 UTC.
    public func tick() -> Int64 {
        begin()
        let now = turn.now
        if now >= nextAdvanceAt || now < nextAdvanceAt - 10 * Hub.tickMilliseconds {
            nextAdvanceAt = now + Hub.tickMilliseconds
            hub.daemonFigures = figures
            hub.advance(&turn)
        }
        loadIfDue()
        hub.continueWaiting(&turn)
        var isMore = false
        for reference in doors where reference.door.bring() { isMore = true }
        let end = clock.monotonic() + Self.sliceMilliseconds
        if serveWaiting(until: end) { isMore = true }
        if search(until: end) { isMore = true }
        perform()
        writeBehind()
        return isMore ? now : min(nextAdvanceAt, now + untilNextPortion)
    }

    private var figures: DaemonFigures {
        DaemonFigures(
            requests: meters.requests.latency, commits: meters.commits.latency, requestsWaiting: queues.waitingCount,
            updatesWaiting: hub.waitingInputCount, changesWaiting: uncommitted.count, messagesWaiting: hub.liveBacklog,
            storeIsWritable: log?.isWritable ?? false, brokerConnections: meters.openings)
    }

    /// The log or the poster has something to say.
    public func woken() {
        begin()
        let end = clock.monotonic() + Self.sliceMilliseconds
        let wereLeft = !completions.isEmpty
        takeCompletions(until: end)
        for (token, outcome) in poster?.collect() ?? [] {
            meters.count(outcome, of: "webhook")
            hub.posted(token, outcome, &turn)
        }
        for result in pushPoster?.collect() ?? [] {
            meters.count(result.outcome, of: result.kind.rawValue)
            if case .misconfigured(let reason) = result.outcome { logFault(reason, of: result.kind) }
            hub.posted(result.token, result.outcome, &turn)
        }
        hub.continueWaiting(&turn)
        _ = serveWaiting(until: end)
        perform()
        // This may have been called for what is behind those that were left.
        if wereLeft || !completions.isEmpty { wake() }
    }

    /// In the order in which the log did it. What is left comes with the next turn: live updates do not wait for many long answers.
    private func takeCompletions(until end: Int64) {
        if completions.isEmpty { completions.append(contentsOf: log?.collect() ?? []) }
        while let completion = completions.popFirst() {
            switch completion {
            case .durable(let token): commit(through: token)
            case .refused(let token, let reason):
                // What was decided since is refused with it.
                recordDeliveries()
                refuse(from: token, reason)
            case .answer(let token, let finding):
                if let query = asked.removeValue(forKey: token) { answer(query, with: finding) }
            case .loaded(let token, let state): loaded(token, state)
            }
            if clock.monotonic() >= end { return }
        }
    }

    /// What only the operator can mend is logged once a minute.
    private func logFault(_ reason: String, of kind: PushKind) {
        let now = clock.monotonic()
        if let last = faultsLoggedAt[kind], now - last < Self.faultPause { return }
        faultsLoggedAt[kind] = now
        meters.pushFaults[kind, default: 0] += 1
        logger.error("push service refuses", metadata: ["service": "\(kind.rawValue)", "reason": "\(reason)"])
    }

    private static let faultPause: Int64 = 60_000

    /// Live states go to the disk while it has little else to do, in portions with time between them: one behind the other they have a core
    /// for themselves until all are written, and who wants it waits for milliseconds.
    private func writeBehind() {
        guard hub.hasStatesToWrite else {
            portions = nil
            return
        }
        let now = clock.monotonic()
        let portions = portions ?? (next: now, end: now + Self.writingMilliseconds)
        self.portions = portions
        guard now >= portions.next, let log, log.backlog < Self.backlogMaximum else { return }
        let left = (hub.statesToWriteCount - 1) / Self.statesPerPortion
        self.portions = left > 0 ? (now + max(0, portions.end - now) / Int64(left + 1), portions.end) : nil
        hub.writeBehind(count: Self.statesPerPortion, &turn)
        perform()
    }

    /// Milliseconds. One that waits for the disk comes when the log has something to say.
    private var untilNextPortion: Int64 {
        guard let portions, let log, log.backlog < Self.backlogMaximum else { return Hub.tickMilliseconds }
        return max(1, portions.next - clock.monotonic())
    }

    private static let statesPerPortion = 100
    /// What all portions of what is due take, beside waiting for the disk: with the time until it is due, less than a second.
    private static let writingMilliseconds: Int64 = 200
    static let backlogMaximum = 400

    /// Makes durable at once what became of deliveries.
    public func recordDeliveries() {
        hub.recordDeliveries(&turn)
        perform()
    }

    // MARK: The end

    /// No request waits, and no reply for the disk.
    public var isSettled: Bool {
        askedCount == 0 && questions.isEmpty && asked.isEmpty && completions.isEmpty && queues.isEmpty && loading == nil
            && !hub.isResuming && !hub.isSearching
    }

    /// Everything that is only in memory goes to the log, for a clean stop.
    public func finish() {
        begin()
        takeCompletions(until: .max)
        hub.finish(&turn)
        perform()
        abandonLoading()
    }
}

struct DoorReference {
    unowned let door: any Door
}
