import DequeModule
import Records

/// What waits for webhooks: a queue for each URL of each client, served in turn by host and then by URL.
///
/// A queue that fails rests and is tried with one message at a time; a host has at most ``originWindow`` posts under way,
/// so that neither a dead endpoint nor a hundred of them on a dead host keep others waiting.
struct PostQueues {
    /// Posts under way in all.
    static let window = 256
    /// Posts under way to one host.
    static let originWindow = 32
    /// Posts under way for one queue while it answers.
    static let queueWindow = 8
    /// After so many failures in a row a queue rests between tries: less is a receiver that fails now and then.
    static let failuresBeforeRest = queueWindow
    /// So often a message is tried every 2 s at an endpoint that takes others: one that fails half of the time has it within seconds,
    /// and one that always refuses a certain message is not asked much more often for that.
    static let quickTries = 10

    final class Origin {
        let name: String
        var inflight = 0
        /// Queues that may have something to send now, in turn.
        var turns = Deque<Queue>()
        var isWaiting = false

        init(_ name: String) { self.name = name }
    }

    final class Queue {
        let key: Key
        let url: WebhookURL
        let origin: Origin
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

        init(_ key: Key, _ url: WebhookURL, _ origin: Origin) {
            self.key = key
            self.url = url
            self.origin = origin
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
        var url: String
    }

    private(set) var queues: [Key: Queue] = [:]
    private var origins: [String: Origin] = [:]
    /// Hosts that may have something to send now, in turn.
    private var turns = Deque<Origin>()
    /// Queues that time makes ready, by when.
    private var alarms: [(at: Int64, queue: Queue)] = []
    /// Under way.
    private var sent: [DeliveryToken: Queue] = [:]
    /// How often each was tried and failed.
    private var attempts: [DeliveryToken: Int] = [:]

    var inflight: Int { sent.count }

    mutating func append(_ token: DeliveryToken, to url: WebhookURL, of client: String) {
        let queue = queue(for: url, of: client)
        queue.fresh.append(token)
        line(up: queue)
    }

    /// The next to post, if one may be posted now; it counts as under way.
    ///
    /// - Returns: Also how often it was tried before.
    mutating func next(at now: Int64) -> (token: DeliveryToken, url: WebhookURL, attempts: Int)? {
        while sent.count < Self.window, let origin = turns.popFirst() {
            origin.isWaiting = false
            guard origin.inflight < Self.originWindow, let queue = origin.turns.popFirst() else { continue }
            queue.isWaiting = false
            guard queue.isReady(at: now), let token = queue.popReady(at: now) else {
                setAlarm(queue)
                line(up: origin)
                continue
            }
            queue.inflight += 1
            origin.inflight += 1
            sent[token] = queue
            line(up: queue)
            line(up: origin)
            return (token, queue.url, attempts[token] ?? 0)
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
        queue.origin.inflight -= 1
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
        line(up: queue.origin)
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

    /// Forgets how often it was tried: it is settled.
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

    /// 1 s, doubled with each try, 5 min at most; milliseconds.
    static func pause(after tries: Int, _ chance: Double) -> Int64 {
        let whole = min(Int64(1000) << Int64(min(max(tries, 1) - 1, 20)), 300_000)
        return whole - Int64(Double(whole / 2) * chance)
    }

    // MARK: Parts

    private mutating func queue(for url: WebhookURL, of client: String) -> Queue {
        let key = Key(client: client, url: url.normalized)
        if let queue = queues[key] { return queue }
        let origin = origins[url.origin] ?? Origin(url.origin)
        origins[url.origin] = origin
        let queue = Queue(key, url, origin)
        queues[key] = queue
        return queue
    }

    private mutating func line(up queue: Queue) {
        guard !queue.isWaiting, !queue.fresh.isEmpty || !queue.retries.isEmpty else { return }
        queue.isWaiting = true
        queue.origin.turns.append(queue)
        line(up: queue.origin)
    }

    private mutating func line(up origin: Origin) {
        guard !origin.isWaiting, !origin.turns.isEmpty, origin.inflight < Self.originWindow else { return }
        origin.isWaiting = true
        turns.append(origin)
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
        if queue.origin.inflight == 0, queue.origin.turns.allSatisfy({ $0.isIdle }) { origins[queue.origin.name] = nil }
    }
}
