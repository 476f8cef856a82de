import Datasets
import DequeModule

/// Requests that wait, in a queue for each client, and whose turn is next.
///
/// A client whose requests cost little is never queued, so that messages are handled in the order they arrived. A queue forms where
/// the client has used up its share of the loop's time, where many of its requests wait for the store, or where its replies
/// accumulate at the door. What has queued stays behind a push of its client.
struct RequestQueues {
    /// What bounds one client, and all together.
    struct Bounds {
        /// Loads of the requests that were given to the hub and are not yet answered, see ``RequestRow/load``.
        var loadInHand = 8
        /// The same for all clients, of requests to the store only.
        var storeLoadInHand = 32
        /// Bytes of a client's replies that the broker has not taken.
        var replyBytes = 1 << 20
        /// Milliseconds of the loop that a client may use in one go: some thousand requests, which stay in order with everything else.
        var burstMilliseconds: Int64 = 250
        /// The share of the time that it may use for ever without being queued: one part in so many.
        var share: Int64 = 4
        /// Bytes of requests that wait, for one client and for all.
        var waitingBytes = 32 << 20
        var allWaitingBytes = 128 << 20
        /// The same for a client whose replies accumulate.
        var floodBytes = 4 << 20
        /// A request that was not answered for so long no longer keeps others waiting.
        var patienceMilliseconds: Int64 = 10_000
    }

    /// One request that waits.
    struct Waiting {
        var dataset: String
        var name: String
        var body: [UInt8]
        var answer: ReturnAddress
        var isConfined = false

        /// What it occupies, its place in the queue included.
        var bytes: Int { body.count + dataset.utf8.count + name.utf8.count + answer.bytes.count + 192 }
    }

    /// Whose queue it is: clients of one name in two datasets are two.
    private struct Owner: Hashable {
        var dataset: String
        var client: String
    }

    private final class Queue {
        let owner: Owner
        var waiting = Deque<Waiting>()
        var waitingBytes = 0
        var loadInHand = 0
        var pushesInHand = 0
        /// Of replies that have not left the core.
        var replyBytes = 0
        /// Milliseconds of the loop that are left to it, as of an instant.
        var allowance: Int64
        var allowanceAt: Int64
        var answeredAt: Int64

        init(of owner: Owner, allowance: Int64, at now: Int64) {
            self.owner = owner
            self.allowance = allowance
            allowanceAt = now
            answeredAt = now
        }

        var isIdle: Bool { waiting.isEmpty && loadInHand == 0 && replyBytes == 0 }
    }

    let bounds: Bounds
    private var queues: [UInt32: Queue] = [:]
    private var numbers: [Owner: UInt32] = [:]
    private var lastNumber: UInt32 = 0
    /// The queues in which something waits, the next first.
    private var round = Deque<UInt32>()
    private var storeLoadInHand = 0
    /// When the store last answered, or began to be asked.
    private var storeAnsweredAt: Int64 = 0
    private var allWaitingBytes = 0
    private var sweepAt = 1024

    init(_ bounds: Bounds = Bounds()) { self.bounds = bounds }

    var isEmpty: Bool { round.isEmpty }
    /// How many requests wait.
    var waitingCount: Int { round.reduce(0) { $0 + (queues[$1]?.waiting.count ?? 0) } }
    /// How many clients are known.
    var clientCount: Int { queues.count }

    /// The number of a client's queue.
    mutating func number(of client: String, in dataset: String, at now: Int64) -> UInt32 {
        let owner = Owner(dataset: dataset, client: client)
        if let number = numbers[owner] { return number }
        if queues.count >= sweepAt { sweep() }
        lastNumber &+= 1
        // Replies to requests of nobody bear 0.
        if lastNumber == 0 { lastNumber = 1 }
        numbers[owner] = lastNumber
        queues[lastNumber] = Queue(of: owner, allowance: bounds.burstMilliseconds, at: now)
        return lastNumber
    }

    func client(of number: UInt32) -> String { queues[number]?.owner.client ?? "" }

    func dataset(of number: UInt32) -> String { queues[number]?.owner.dataset ?? "" }

    private mutating func sweep() {
        for (number, queue) in queues where queue.isIdle {
            queues[number] = nil
            numbers[queue.owner] = nil
        }
        sweepAt = max(1024, queues.count * 2)
    }

    // MARK: Whose turn it is

    /// Whether a request that comes in is handled at once: nothing of its client waits, and nothing keeps it waiting.
    mutating func goesAtOnce(_ number: UInt32, load: Int, doorBytes: Int, at now: Int64) -> Bool {
        guard let queue = queues[number], queue.waiting.isEmpty else { return false }
        refill(queue, at: now)
        return queue.allowance > 0 && isFree(queue, load: load, doorBytes: doorBytes, at: now)
    }

    private func refill(_ queue: Queue, at now: Int64) {
        let refill = (now - queue.allowanceAt) / bounds.share
        guard refill != 0 else { return }
        queue.allowance = min(bounds.burstMilliseconds, queue.allowance + max(0, refill))
        queue.allowanceAt = now
    }

    private func isFree(_ queue: Queue, load: Int, doorBytes: Int, at now: Int64) -> Bool {
        if hasManyReplies(queue, doorBytes) { return false }
        if load > 1, storeLoadInHand + load > bounds.storeLoadInHand, now - storeAnsweredAt < bounds.patienceMilliseconds {
            return false
        }
        if queue.loadInHand > 0, queue.loadInHand + load > bounds.loadInHand {
            return now - queue.answeredAt >= bounds.patienceMilliseconds
        }
        return true
    }

    /// Whether the replies of a client accumulate, and it goes on asking.
    func isFlood(_ request: Waiting, of number: UInt32, doorBytes: Int) -> Bool {
        guard let queue = queues[number], hasManyReplies(queue, doorBytes) else { return false }
        return queue.waitingBytes + request.bytes > min(bounds.floodBytes, bounds.waitingBytes)
            || allWaitingBytes + request.bytes > bounds.allWaitingBytes
    }

    private func hasManyReplies(_ queue: Queue, _ doorBytes: Int) -> Bool { queue.replyBytes + doorBytes >= bounds.replyBytes }

    /// Adds a request to its client's queue.
    ///
    /// - Returns: false where too much waits already.
    mutating func append(_ request: Waiting, to number: UInt32) -> Bool {
        let bytes = request.bytes
        guard let queue = queues[number], queue.waitingBytes + bytes <= bounds.waitingBytes,
            allWaitingBytes + bytes <= bounds.allWaitingBytes
        else { return false }
        if queue.waiting.isEmpty { round.append(number) }
        queue.waiting.append(request)
        queue.waitingBytes += bytes
        allWaitingBytes += bytes
        return true
    }

    /// The request whose turn it is, of the next client that nothing keeps waiting.
    mutating func next(at now: Int64, doorBytes: (UInt32) -> Int) -> (number: UInt32, request: Waiting)? {
        for _ in 0..<round.count {
            let number = round.removeFirst()
            guard let queue = queues[number], let first = queue.waiting.first else { continue }
            // Behind its push, what a client has waiting would keep the whole dataset in order with it.
            let isBehindPush = queue.pushesInHand > 0 && now - queue.answeredAt < bounds.patienceMilliseconds
            guard !isBehindPush, isFree(queue, load: Int(first.answer.load), doorBytes: doorBytes(number), at: now) else {
                round.append(number)
                continue
            }
            queue.waiting.removeFirst()
            queue.waitingBytes -= first.bytes
            allWaitingBytes -= first.bytes
            if !queue.waiting.isEmpty { round.append(number) }
            return (number, first)
        }
        return nil
    }

    // MARK: What becomes of requests

    mutating func wasGiven(_ answer: ReturnAddress, at now: Int64) {
        let load = Int(answer.load)
        if let queue = queues[answer.queue] {
            // Where patience let one more go, the next waits as long again.
            if queue.loadInHand == 0 || queue.loadInHand + load > bounds.loadInHand { queue.answeredAt = now }
            queue.loadInHand += load
            if answer.load == RequestRow.pushLoad { queue.pushesInHand += 1 }
        }
        guard load > 1 else { return }
        if storeLoadInHand == 0 || storeLoadInHand + load > bounds.storeLoadInHand { storeAnsweredAt = now }
        storeLoadInHand += load
    }

    func used(_ milliseconds: Int64, by number: UInt32) {
        guard milliseconds > 0, let queue = queues[number] else { return }
        queue.allowance = max(-bounds.burstMilliseconds, queue.allowance - milliseconds)
    }

    mutating func wasAnswered(_ answer: ReturnAddress, bytes: Int, at now: Int64) {
        guard let queue = queues[answer.queue] else { return }
        let load = Int(answer.load)
        queue.loadInHand = max(0, queue.loadInHand - load)
        if answer.load == RequestRow.pushLoad { queue.pushesInHand = max(0, queue.pushesInHand - 1) }
        queue.answeredAt = now
        queue.replyBytes += bytes
        guard load > 1 else { return }
        storeLoadInHand = max(0, storeLoadInHand - load)
        storeAnsweredAt = now
    }

    /// A reply left the core, or was taken back.
    func replyLeft(_ answer: ReturnAddress, bytes: Int) {
        guard let queue = queues[answer.queue] else { return }
        queue.replyBytes = max(0, queue.replyBytes - bytes)
    }
}
