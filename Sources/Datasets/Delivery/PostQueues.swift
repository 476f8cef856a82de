import DequeModule
import Records

/// What waits for webhooks and push services: a queue for each target of each client, served in turn by client, then by host, then by URL.
///
/// A queue that fails rests and is tried with one message at a time; a client has at most ``clientWindow`` posts under way and a
/// host ``originWindow``, so that neither a dead endpoint, nor a hundred of them on a dead host, nor a client with a hundred slow
/// hosts keep others waiting.
struct PostQueues {
    /// Posts under way in all.
    static let window = 256
    /// Posts under way of one client.
    static let clientWindow = 128
    /// Posts under way to one host.
    static let originWindow = 32
    /// Posts under way to a service that serves all phones of a kind: both together leave room for webhooks.
    static let serviceWindow = 96
    /// Posts under way for one queue while it answers.
    static let queueWindow = 8
    /// After so many failures in a row a queue rests between tries: less is a receiver that fails now and then.
    static let failuresBeforeRest = queueWindow
    /// So often a message is tried every 2 s at an endpoint that takes others: one that fails half of the time has it within seconds,
    /// and one that always refuses a certain message is not asked much more often for that.
    static let quickTries = 10

    final class Client {
        let name: String
        var inflight = 0
        var lineCount = 0
        /// Its hosts that may have something to send now, in turn.
        var turns = Deque<Line>()
        var isWaiting = false

        init(_ name: String) { self.name = name }
    }

    final class Origin {
        let name: String
        /// Posts under way at most.
        var window = PostQueues.originWindow
        var inflight = 0
        var lineCount = 0
        /// What waits for a place among the posts to this host.
        var blocked: [Line] = []

        init(_ name: String) { self.name = name }
    }

    /// What one client sends to one host.
    final class Line {
        let client: Client
        let origin: Origin
        var queueCount = 0
        /// Queues that may have something to send now, in turn.
        var turns = Deque<Queue>()
        var isWaiting = false
        var isBlocked = false

        init(_ client: Client, _ origin: Origin) {
            self.client = client
            self.origin = origin
        }

        var key: LineKey { LineKey(client: client.name, origin: origin.name) }
    }

    final class Queue {
        let key: Key
        let target: PostTarget
        let line: Line
        /// Never tried, in order.
        var fresh = Deque<DeliveryToken>()
        /// Tried before, by when they are due.
        var retries: [(dueAt: Int64, token: DeliveryToken)] = []
        var inflight = 0
        /// In a row, over all its messages.
        var failures = 0
        /// It took a message, and has not failed too often in a row since.
        var answers = false
        var restsUntil: Int64 = .min
        /// How many rests it has had in a row.
        var rests = 0
        var isWaiting = false
        /// When it is looked at again; nil: when something happens to it.
        var alarmAt: Int64?

        init(_ key: Key, _ target: PostTarget, _ line: Line) {
            self.key = key
            self.target = target
            self.line = line
        }

        var isIdle: Bool { fresh.isEmpty && retries.isEmpty && inflight == 0 }
        private var windowNow: Int { failures < PostQueues.failuresBeforeRest ? PostQueues.queueWindow : 1 }

        func isReady(at now: Int64) -> Bool {
            inflight < windowNow && restsUntil <= now && (!fresh.isEmpty || (retries.first?.dueAt ?? .max) <= now)
        }

        /// When time alone makes it ready; nil where something else is needed.
        var readyAt: Int64? {
            guard inflight < windowNow else { return nil }
            if !fresh.isEmpty { return restsUntil }
            return retries.first.map { max($0.dueAt, restsUntil) }
        }

        func popReady(at now: Int64) -> DeliveryToken? {
            if let first = retries.first, first.dueAt <= now { return retries.removeFirst().token }
            return fresh.popFirst()
        }
    }

    struct Key: Hashable {
        var client: String
        var target: String
    }

    struct LineKey: Hashable {
        var client: String
        var origin: String
    }

    private(set) var queues: [Key: Queue] = [:]
    private var clients: [String: Client] = [:]
    private var origins: [String: Origin] = [:]
    private var lines: [LineKey: Line] = [:]
    /// Clients that may have something to send now, in turn.
    private var turns = Deque<Client>()
    /// Queues that time makes ready, by when.
    private var alarms: [(at: Int64, queue: Queue)] = []
    /// Under way.
    private var sent: [DeliveryToken: Queue] = [:]
    /// How often each was tried and failed.
    private var attempts: [DeliveryToken: Int] = [:]

    var inflight: Int { sent.count }

    mutating func append(_ token: DeliveryToken, to target: PostTarget, of client: String) {
        let queue = queue(for: target, of: client)
        queue.fresh.append(token)
        line(up: queue)
    }

    /// The next to post, if one may be posted now; it counts as under way.
    ///
    /// - Returns: Also how often it was tried before.
    mutating func next(at now: Int64) -> (token: DeliveryToken, target: PostTarget, attempts: Int)? {
        while sent.count < Self.window, let client = turns.popFirst() {
            client.isWaiting = false
            guard client.inflight < Self.clientWindow, let line = client.turns.popFirst() else { continue }
            defer { self.line(up: client) }
            line.isWaiting = false
            defer { self.line(up: line) }
            guard line.origin.inflight < line.origin.window, let queue = line.turns.popFirst() else { continue }
            queue.isWaiting = false
            guard queue.isReady(at: now), let token = queue.popReady(at: now) else {
                setAlarm(queue)
                continue
            }
            queue.inflight += 1
            client.inflight += 1
            line.origin.inflight += 1
            sent[token] = queue
            self.line(up: queue)
            return (token, queue.target, attempts[token] ?? 0)
        }
        return nil
    }

    /// What a post that is over says of its endpoint.
    enum Result {
        /// It answers.
        case success
        /// It does not; the post is not tried again.
        case failure
        /// It does not; the post is tried again, at this instant at the earliest. `chance`, 0..<1, is how much of half of the pauses
        /// is left out, so that what failed together does not come back together.
        case again(notBefore: Int64, chance: Double)
        /// Nothing.
        case silence
    }

    /// A post is over.
    ///
    /// - Returns: false where none of this name was under way.
    mutating func end(_ token: DeliveryToken, _ result: Result, at now: Int64) -> Bool {
        guard let queue = sent.removeValue(forKey: token) else { return false }
        queue.inflight -= 1
        queue.line.client.inflight -= 1
        queue.line.origin.inflight -= 1
        switch result {
        case .success:
            queue.failures = 0
            queue.rests = 0
            queue.answers = true
            queue.restsUntil = .min
        case .failure: queue.failures += 1
        case .again(let notBefore, let chance):
            queue.failures += 1
            retry(token, queue, notBefore, chance, at: now)
        case .silence: break
        }
        line(up: queue)
        unblock(queue.line.origin)
        line(up: queue.line.client)
        forgetIfIdle(queue)
        return true
    }

    private mutating func retry(_ token: DeliveryToken, _ queue: Queue, _ notBefore: Int64, _ chance: Double, at now: Int64) {
        let tries = (attempts[token] ?? 0) + 1
        attempts[token] = tries
        if queue.failures >= Self.failuresBeforeRest { queue.answers = false }
        let steps = queue.answers ? (tries <= Self.quickTries ? min(tries, 2) : tries - Self.quickTries + 2) : tries
        let dueAt = max(now + Self.pause(after: steps, chance), notBefore)
        queue.retries.insert((dueAt, token), at: queue.retries.firstIndex { $0.dueAt > dueAt } ?? queue.retries.endIndex)
        // What was under way when it began to rest says nothing new when it fails too.
        if queue.failures >= Self.failuresBeforeRest, queue.restsUntil <= now {
            queue.rests += 1
            queue.restsUntil = now + Self.pause(after: queue.rests, chance)
        }
        queue.restsUntil = max(queue.restsUntil, notBefore)
    }

    /// Takes away what waits beside one that is under way, as nothing goes there any more.
    mutating func removeAll(beside token: DeliveryToken) -> [DeliveryToken] {
        guard let queue = sent[token] else { return [] }
        defer { (queue.fresh, queue.retries) = ([], []) }
        return (queue.fresh + queue.retries.map(\.token)).sorted()
    }

    /// Forgets how often it was tried: it is completed.
    mutating func forget(_ token: DeliveryToken) { attempts[token] = nil }

    /// Lets time pass: queues whose rest is over, or whose messages are due again.
    mutating func advance(to now: Int64) {
        while let first = alarms.first, first.at <= now {
            alarms.removeFirst()
            guard first.queue.alarmAt == first.at else { continue }
            first.queue.alarmAt = nil
            line(up: first.queue)
        }
    }

    /// What waits in the queues and is not wanted any more, in order.
    mutating func removeAll(where isOver: (DeliveryToken) -> Bool) -> [DeliveryToken] {
        var over: [DeliveryToken] = []
        for queue in Array(queues.values) {
            // Numbers rise with time, so the oldest come first.
            while let first = queue.fresh.first, isOver(first) { over.append(queue.fresh.removeFirst()) }
            over += queue.retries.map(\.token).filter(isOver)
            queue.retries.removeAll { isOver($0.token) }
            forgetIfIdle(queue)
        }
        return over.sorted()
    }

    static let pauseMaximum: Int64 = 300_000

    /// 1 s, doubled with each try, 5 min at most; milliseconds.
    static func pause(after tries: Int, _ chance: Double) -> Int64 {
        let whole = min(Int64(1000) << Int64(min(max(tries, 1) - 1, 20)), pauseMaximum)
        return whole - Int64(Double(whole / 2) * chance)
    }

    // MARK: Parts

    private mutating func queue(for target: PostTarget, of client: String) -> Queue {
        let key = Key(client: client, target: target.name)
        if let queue = queues[key] { return queue }
        let line = line(of: client, to: target.origin)
        line.origin.window = target.window
        line.queueCount += 1
        let queue = Queue(key, target, line)
        queues[key] = queue
        return queue
    }

    private mutating func line(of clientName: String, to originName: String) -> Line {
        let key = LineKey(client: clientName, origin: originName)
        if let line = lines[key] { return line }
        let client = clients[clientName] ?? Client(clientName)
        let origin = origins[originName] ?? Origin(originName)
        clients[clientName] = client
        origins[originName] = origin
        client.lineCount += 1
        origin.lineCount += 1
        let line = Line(client, origin)
        lines[key] = line
        return line
    }

    private mutating func line(up queue: Queue) {
        guard !queue.isWaiting, !queue.fresh.isEmpty || !queue.retries.isEmpty else { return }
        queue.isWaiting = true
        queue.line.turns.append(queue)
        line(up: queue.line)
    }

    private mutating func line(up line: Line) {
        guard !line.isWaiting, !line.isBlocked, !line.turns.isEmpty else { return }
        guard line.origin.inflight < line.origin.window else {
            line.isBlocked = true
            line.origin.blocked.append(line)
            return
        }
        line.isWaiting = true
        line.client.turns.append(line)
        self.line(up: line.client)
    }

    private mutating func line(up client: Client) {
        guard !client.isWaiting, !client.turns.isEmpty, client.inflight < Self.clientWindow else { return }
        client.isWaiting = true
        turns.append(client)
    }

    /// A host may have a place again.
    private mutating func unblock(_ origin: Origin) {
        let blocked = origin.blocked
        origin.blocked.removeAll()
        for line in blocked {
            line.isBlocked = false
            self.line(up: line)
        }
    }

    private mutating func setAlarm(_ queue: Queue) {
        guard let at = queue.readyAt, queue.alarmAt.map({ at < $0 }) ?? true else { return }
        queue.alarmAt = at
        alarms.insert((at, queue), at: alarms.firstIndex { $0.at > at } ?? alarms.endIndex)
    }

    private mutating func forgetIfIdle(_ queue: Queue) {
        guard queue.isIdle, queues[queue.key] === queue else { return }
        queues[queue.key] = nil
        // It leaves the turns and alarms when it is found there with nothing to send.
        let line = queue.line
        line.queueCount -= 1
        guard line.queueCount == 0 else { return }
        lines[line.key] = nil
        line.client.lineCount -= 1
        if line.client.lineCount == 0 { clients[line.client.name] = nil }
        line.origin.lineCount -= 1
        if line.origin.lineCount == 0 { origins[line.origin.name] = nil }
    }
}
