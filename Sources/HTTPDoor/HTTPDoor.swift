import DaemonCore
import Datasets
import DequeModule
import NIOCore
import Synchronization

/// The core over HTTP: makes requests and updates of what connections bring, and answers of what leaves.
///
/// Connections live on threads of their own and hand over closures, which run on the core's thread. What is not guarded by a lock
/// belongs to that thread.
public final class HTTPDoor: Door, @unchecked Sendable {
    typealias Work = @Sendable (HTTPDoor) -> Void

    public let core: Core
    public let configuration: HTTPDoorConfiguration
    let callers: Callers
    let connections: ConnectionCounts
    let fileKeys: FileKeys
    let page: Page
    let ownTracks = HTTPDoor.ownTracksAdapter()
    /// For the old clients, which ask for them each second.
    let matchPages = MatchPages()
    /// Of who may name which dataset; from any thread.
    let accessVersion: @Sendable () -> Int
    /// Among the core's doors.
    let number = 1
    private let wakeCore: @Sendable () -> Void
    private let inbox = Mutex(Inbox())
    /// When the core's thread was last here, on its monotonic clock.
    private let turnAt: Atomic<Int64>
    /// Files that are being imported under an `Idempotency-Key`.
    let imports = Mutex<Set<ImportKey>>([])
    /// Bytes of replies that connections have not written, by the queue of who asked.
    private let unwritten = Mutex<[UInt32: Int]>([:])
    private var waiting: [UInt64: WaitingReply] = [:]
    /// Matches and events that wait until they may leave, in order.
    private var keptBack: [(notification: Notification, payload: ArraySlice<UInt8>)] = []
    /// Nothing is given to the core any more.
    private(set) var isOver = false
    private var lastReply: UInt64 = 0
    private var expiryAt: Int64 = 0
    /// Updates whose dataset takes nothing in at present.
    private var suspended: [LiveBatch] = []
    /// What connections are answered at ``answerInput()``.
    private var answers: [@Sendable () -> Void] = []

    private struct Inbox {
        var work = Deque<Work>()
        var isClosed = false
    }

    /// Who waits for a reply.
    enum Asker {
        /// Called with nil where no reply comes in time, or the daemon ends.
        case exchange(@Sendable (Reply?) -> Void)
        /// - Parameter request: `resource/verb`.
        case socket(EventStream, request: String)
        /// A live subscription of a socket that is gone is known until it is deleted.
        case unsubscription(SocketSubscription, EventStream?)
        /// What waited for a socket of an old client, behind a match.
        case matchSocket(MatchSocket, behind: String?)
    }

    private struct WaitingReply {
        var asker: Asker
        /// Whose streams may name the reply; nil: nobody's.
        var recipient: Recipient?
        var until: Int64
    }

    var streams: [StreamKey: [EventStream]] = [:]
    var socketSubscriptions: [SocketSubscription: EventStream] = [:] {
        didSet {
            socketRoutes.removeAll(keepingCapacity: true)
            audienceRoutes.removeAll(keepingCapacity: true)
            passingRoute = nil
        }
    }
    var socketRoutes: [ObjectIdentifier: SocketRoute] = [:]
    var audienceRoutes: [ObjectIdentifier: AudienceRoute] = [:]
    /// Of the last audience that was there for one update.
    var passingRoute: AudienceRoute?
    /// Updates for audiences that have not left yet, in order.
    var openFrames: [OpenFrames] = []
    /// When they leave by themselves, at the latest.
    var framesDue: NIODeadline?
    /// The same by socket.
    var subscriptionsOfSockets: [ObjectIdentifier: Set<SocketSubscription>] = [:]
    var matchSockets: MatchSockets
    let heardFile: HeardFile?
    /// Sockets that hear of all clients of a dataset.
    var watchers: [String: [Watcher]] = [:]
    var durable: DurableMessages
    let messageFile: MessageFile?
    var eventSignOfLifeAt: Int64
    var socketSignOfLifeAt: Int64
    /// What the loops of shards counted that have ended.
    let figuresOfFormer = Mutex<MetricsFigures?>(nil)
    /// When keys of streams were last looked at, and as of how many removals.
    var keysCheckedAt: Int64 = 0
    var keyRemovalsSeen = 0
    /// As of which version of access streams are.
    var accessSeen: Int
    /// Who waits for a feed to go on, by dataset.
    var feedWaits = FeedWaits()
    /// From a match to its leaving.
    var matchDelay = Histogram()

    /// The reply to a request.
    struct Reply: Sendable {
        var bytes: [UInt8]
        var queue: UInt32
    }

    /// - Parameters:
    ///   - front: The door of the node, whose connections bring requests for this one, too; nil: it has its own.
    ///   - wakeCore: Has the core's loop turn, from any thread.
    public init(
        _ configuration: HTTPDoorConfiguration, core: Core, behind front: HTTPDoor? = nil,
        wakeCore: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.core = core
        self.wakeCore = wakeCore
        fileKeys = front?.fileKeys ?? FileKeys(configuration.keys, origins: configuration.origins)
        callers = Callers(configuration, fileKeys, made: core.hub.accessKeys, now: core.clock.now)
        page = front?.page ?? Page(configuration.page)
        connections = front?.connections ?? ConnectionCounts(configuration.limits)
        turnAt = Atomic(core.clock.monotonic())
        accessVersion = core.hub.configuration.accessVersion
        accessSeen = accessVersion()
        eventSignOfLifeAt = core.clock.monotonic() + Self.eventSignOfLifeMilliseconds
        socketSignOfLifeAt = core.clock.monotonic() + Self.socketSignOfLifeMilliseconds
        messageFile = configuration.folder.map(MessageFile.init)
        heardFile = configuration.folder.map(HeardFile.init)
        matchSockets = MatchSockets(heardFile?.read() ?? [])
        let now = core.clock.now()
        durable = DurableMessages(
            messageFile?.read() ?? MessageFile.Contents(), startedAfter: core.hub.lastDeliveryNumber, at: now)
        core.add(self)
    }

    // MARK: From any thread

    /// Has work done on the core's thread, in order.
    ///
    /// - Returns: false where the door is closed: it is never done.
    @discardableResult
    func submit(_ work: @escaping Work) -> Bool {
        let isTaken = inbox.withLock { inbox in
            if !inbox.isClosed { inbox.work.append(work) }
            return !inbox.isClosed
        }
        if isTaken { wakeCore() }
        return isTaken
    }

    /// Hands a request over and waits for its reply; nil where none came in time, or the daemon ends.
    func ask(_ request: APIRequest) async -> Reply? {
        await withCheckedContinuation { continuation in ask(request) { continuation.resume(returning: $0) } }
    }

    /// Hands a request over, behind those before it. `answered` gets its reply, on any thread; nil where none came in time, or the
    /// daemon ends.
    func ask(_ request: APIRequest, answered: @escaping @Sendable (Reply?) -> Void) {
        let isTaken = submit { $0.send(request, for: .exchange(answered)) }
        if !isTaken { answered(nil) }
    }

    /// Does something on the core's thread and waits for what comes of it; nil where the daemon ends.
    func onCore<Result: Sendable>(_ body: @escaping @Sendable (HTTPDoor) -> Result) async -> Result? {
        await withCheckedContinuation { continuation in
            let isTaken = submit { door in
                let result = body(door)
                door.answer { continuation.resume(returning: result) }
            }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    /// A list of matches that this client was answered and would be again.
    func knownMatches(_ key: MatchPages.Key) -> [UInt8]? {
        // What would not be asked any more, or may be another node's by now, is not answered from memory either.
        guard configuration.mayNotify(), !inbox.withLock({ $0.isClosed }) else { return nil }
        return matchPages.page(key, accessVersion: accessVersion())
    }

    /// A reply has left, or its connection is gone.
    func written(_ reply: Reply) {
        unwritten.withLock { unwritten in
            guard let bytes = unwritten[reply.queue] else { return }
            unwritten[reply.queue] = bytes > reply.bytes.count ? bytes - reply.bytes.count : nil
        }
    }

    /// Milliseconds since the core's loop last turned.
    var standstill: Int64 { core.clock.monotonic() - turnAt.load(ordering: .relaxed) }

    /// Takes other keys of the configuration file and other origins; what is connected with a key that is gone is cut off.
    public func reload(keys: [FileKey], origins: OriginPatterns) {
        fileKeys.reload(keys: keys, origins: origins)
        wakeCore()
    }

    /// Has new connections get the certificate that is in its files by now; where that cannot be used they get the former one.
    ///
    /// - Returns: Whether there is one at all.
    public func reloadCertificate() throws(HTTPCertificate.Failure) -> Bool {
        guard let certificate = configuration.tls else { return false }
        try certificate.reload()
        return true
    }

    /// No connection is left, or none is waited for any longer: what comes now is not taken in.
    public func close() {
        inbox.withLock { inbox in
            if !inbox.isClosed { inbox.work.append { $0.keepHeard(isLast: true) } }
            inbox.isClosed = true
        }
        wakeCore()
    }

    /// Called instead of the core's loop when that has ended: waiting callers are answered, and nothing more is received.
    public func end() {
        isOver = true
        answerInput()
        close()
        while let work = inbox.withLock({ $0.work.popFirst() }) { work(self) }
        expire(at: core.clock.monotonic())
        resumeSuspended(at: core.clock.monotonic())
        endStreams()
    }

    /// The dataset goes to another node: its streams are ended, and resume there.
    public func handOver() { submit { $0.endStreams() } }

    // MARK: Door

    /// What waits here is bounded for each reader, and holds nobody up.
    public var backlog: Int { 0 }
    public func wake() { wakeCore() }
    public func datasetsChanged() { feedWaits.signalAll(.change) }
    public func replyBytes(of queue: UInt32) -> Int { unwritten.withLock { $0[queue] ?? 0 } }

    /// So long what came in is handled before others have their turn, in milliseconds.
    private static let sliceMilliseconds: Int64 = 5

    public func bring() -> Bool {
        let now = core.clock.monotonic()
        turnAt.store(now, ordering: .relaxed)
        sendKeptBack()
        expire(at: now)
        resumeSuspended(at: now)
        advanceStreams(at: now)
        feedWaits.advance(to: now)
        for count in 0... {
            guard let work = inbox.withLock({ $0.work.popFirst() }) else { return false }
            work(self)
            if count & 31 == 31, core.clock.monotonic() - now >= Self.sliceMilliseconds { break }
        }
        return true
    }

    public func send(_ batch: OutputBatch) {
        for item in batch.items {
            switch item.kind {
            case .reply(let address):
                sendOpenFrames()
                tell(batch.bytes[item.payload], to: address)
                if address.door == number { reply(batch.bytes[item.payload], to: address) }
            case .notification(let notification) where notification.isAssured && !configuration.mayNotify():
                keepBack(notification, batch.bytes[item.payload])
            case .audience(let audience, _) where audience.isAssured && !configuration.mayNotify():
                item.forEachReceiver {
                    if case .notification(let notification) = $0.kind { keepBack(notification, batch.bytes[item.payload]) }
                }
            case .audience(let audience, let topicNumber):
                notify(audience, of: topicNumber, batch.bytes[item.payload])
            case .notification(let notification): notify(notification, batch.bytes[item.payload])
            case .diagnostic(let kind):
                tell(batch.text(item.name), "diagnostics/\(kind)", batch.bytes[item.payload])
            case .status: tell(batch.text(item.name), "status", batch.bytes[item.payload])
            case .feedChange: feedChanged(String(decoding: batch.bytes[item.name], as: UTF8.self))
            case .liveState: break
            }
        }
        endFrames()
    }

    /// What waits while another node may have the datasets; beyond these, the core sends again what no door has sent.
    private static let keptBackMax = 10_000

    /// Reports the outcome of what a connection brought, once it has been carried out with all that follows from it: a client that
    /// has the report finds it done, whatever it asks next.
    func answer(_ report: @escaping @Sendable () -> Void) {
        if isOver { report() } else { answers.append(report) }
    }

    public func answerInput() {
        guard !answers.isEmpty else { return }
        let answers = answers
        self.answers = []
        for report in answers { report() }
    }

    private func keepBack(_ notification: Notification, _ payload: ArraySlice<UInt8>) {
        if keptBack.count < Self.keptBackMax { keptBack.append((notification, payload)) }
    }

    private func sendKeptBack() {
        guard !keptBack.isEmpty, configuration.mayNotify() else { return }
        // What came twice meanwhile goes out once.
        for (notification, payload) in keptBack { notify(notification, payload) }
        keptBack = []
    }

    // MARK: Requests

    /// Gives a request to the core.
    func send(_ request: APIRequest, for asker: Asker) {
        if isOver {
            if case .exchange(let answered) = asker { answered(nil) }
            return
        }
        lastReply += 1
        let until = core.clock.monotonic() + configuration.limits.replySeconds * 1000
        let recipient = request.isOfClient ? Recipient(request.dataset, request.client, path: "reply") : nil
        waiting[lastReply] = WaitingReply(asker: asker, recipient: recipient, until: until)
        var address = ReturnAddress(door: number, bytes: withUnsafeBytes(of: lastReply) { Array($0) })
        switch asker {
        case .socket: address.isOpen = true
        case .matchSocket: address.isForDevice = true
        case .exchange, .unsubscription: break
        }
        address.parted = request.parted
        request.body.withUnsafeBytes { body in
            core.receive(
                Envelope(
                    dataset: request.dataset, client: request.client, name: request.name, body: body, answer: address,
                    isConfined: request.isConfined))
        }
    }

    public func recipient(of answer: ReturnAddress) -> Recipient? {
        replyNumber(of: answer).flatMap { waiting[$0]?.recipient }
    }

    private func replyNumber(of address: ReturnAddress) -> UInt64? {
        guard address.door == number, address.bytes.count == MemoryLayout<UInt64>.size else { return nil }
        return address.bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }

    private func reply(_ bytes: ArraySlice<UInt8>, to address: ReturnAddress) {
        // The caller may have given up.
        guard let waiting = replyNumber(of: address).flatMap({ waiting.removeValue(forKey: $0) }) else { return }
        let reply = Reply(bytes: Array(bytes), queue: address.queue)
        switch waiting.asker {
        case .exchange(let answered):
            hold(reply)
            answered(reply)
        case .socket(let stream, let request):
            answered(request, reply.bytes, on: stream)
            hold(reply)
            if stream.append(.reply(reply)) == .ended { written(reply) }
        case .unsubscription(let subscription, let stream):
            if socketSubscriptions[subscription] === stream { socketSubscriptions[subscription] = nil }
        case .matchSocket(let socket, let id): received(reply.bytes, for: socket, behind: id)
        }
    }

    private func hold(_ reply: Reply) { unwritten.withLock { $0[reply.queue, default: 0] += reply.bytes.count } }

    func suspend(_ batch: LiveBatch) { suspended.append(batch) }

    private func resumeSuspended(at now: Int64) {
        guard !suspended.isEmpty else { return }
        let batches = suspended
        suspended = []
        let isClosed = inbox.withLock { $0.isClosed }
        for batch in batches {
            if isClosed || now >= batch.until { batch.done(nil) } else { proceed(batch) }
        }
    }

    /// Ends the waiting for replies that are overdue, or will not come.
    private func expire(at now: Int64) {
        let isClosed = inbox.withLock { $0.isClosed }
        guard isClosed || now >= expiryAt else { return }
        expiryAt = now + 1000
        for (number, reply) in waiting where isClosed || now >= reply.until {
            // What a socket asked is answered late rather than never.
            guard case .exchange(let answered) = reply.asker else { continue }
            waiting[number] = nil
            answered(nil)
        }
    }
}

/// A request on its way to the core.
struct APIRequest: Sendable {
    var dataset: String
    var client: String
    /// `resource/verb`.
    var name: String
    var body: [UInt8]
    /// The caller may name this dataset only.
    var isConfined = false
    /// The client made it as it is, and its streams may name the reply.
    var isOfClient = false
    /// It is a request that is carried out in parts, which are requests of their own.
    var parted: PartedRequest?
}

extension APIRequest {
    init(dataset: String, caller: Caller, name: String, body: [UInt8], isOfClient: Bool = false) {
        self.init(
            dataset: dataset, client: caller.client, name: name, body: body, isConfined: caller.dataset != nil,
            isOfClient: isOfClient)
    }
}
