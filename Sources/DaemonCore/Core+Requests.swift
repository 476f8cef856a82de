import Datasets
import Records
import Wire

// Requests of clients, served in turn.

extension Core {
    /// So long what waits is served before the doors are read again, in milliseconds.
    static let sliceMilliseconds: Int64 = 2

    /// Takes a request in: it is handled at once, or waits in its client's queue.
    public func receive(_ envelope: Envelope) {
        let now = clock.monotonic()
        var envelope = envelope
        let number = queues.number(of: envelope.client, in: envelope.dataset, at: now)
        envelope.answer.queue = number
        envelope.answer.receivedAt = Meters.seconds
        let load = RequestTable.load(of: envelope.name)
        // Plain requests wait with their dataset, in order with the updates; a push or a question keeps others waiting there, too.
        let waits = load > 1 ? hub.isLoading(envelope.dataset) : hub.isSuspended(envelope.dataset)
        envelope.answer.load = waits ? 0 : load
        if queues.goesAtOnce(number, load: Int(envelope.answer.load), doorBytes: bytesAtDoors(of: number), at: now) {
            return handle(envelope, at: now)
        }
        let request = RequestQueues.Waiting(
            dataset: envelope.dataset, name: envelope.name, body: Array(envelope.body), answer: envelope.answer,
            isConfined: envelope.isConfined)
        // Others' requests and updates come behind all that it sends, and its refusals would be before the replies to them.
        if queues.isFlood(request, of: number, doorBytes: bytesAtDoors(of: number)), doors.indices.contains(envelope.answer.door),
            doors[envelope.answer.door].door.isFlooded(by: envelope.client, in: envelope.dataset)
        {
            envelope.answer.load = 0
            return hub.leaveUnanswered(envelope, &turn)
        }
        guard !queues.append(request, to: number) else { return }
        envelope.answer.load = 0
        hub.refuse(
            envelope, WireError(.limit, "too many requests of `\(envelope.client.prefix(64))` wait; ask again later"), &turn)
        noteReplies(at: now)
    }

    /// Serves what waits, one request of each client in turn, until an instant of the monotonic clock.
    ///
    /// - Returns: Whether more can be served at once.
    func serveWaiting(until end: Int64) -> Bool {
        guard !queues.isEmpty else { return false }
        // A clock that stands still, as in a test, does not serve for ever in one slice.
        for _ in 0..<Self.sliceMaximum {
            let now = clock.monotonic()
            guard now < end else { return true }
            guard let (number, request) = queues.next(at: now, doorBytes: bytesAtDoors) else { return false }
            let client = queues.client(of: number)
            var answer = request.answer
            if hub.isLoading(request.dataset) { answer.load = 0 }
            request.body.withUnsafeBytes {
                handle(
                    Envelope(
                        dataset: request.dataset, client: client, name: request.name, body: $0, answer: answer,
                        isConfined: request.isConfined), at: now)
            }
        }
        return true
    }

    private static let sliceMaximum = 1000

    /// Goes on with reads of very many objects, and with what requests about them bring about, at least one portion, until an instant of
    /// the monotonic clock.
    ///
    /// - Returns: Whether some can go on at once.
    func search(until end: Int64) -> Bool {
        let mayChange = (log?.backlog ?? 0) < Self.backlogMaximum
        for _ in 0..<Self.sliceMaximum {
            let start = clock.monotonic()
            guard let queue = hub.continueSearching(&turn, mayChange: mayChange) else { return false }
            let now = clock.monotonic()
            noteReplies(at: now)
            queues.used(now - start, by: queue)
            if now >= end { break }
        }
        return hub.isSearching || mayChange && hub.isUnfinished
    }

    private func handle(_ envelope: Envelope, at start: Int64) {
        queues.wasGiven(envelope.answer, at: start)
        hub.receive(envelope, &turn)
        let end = clock.monotonic()
        noteReplies(at: end)
        queues.used(end - start, by: envelope.answer.queue)
    }

    func answer(_ query: StoreQuery, with finding: StoreAnswer) {
        let start = clock.monotonic()
        hub.answer(query, with: finding, &turn)
        let end = clock.monotonic()
        noteReplies(at: end)
        queues.used(end - start, by: query.queue)
    }

    /// How many requests wait in their clients' queues.
    public var waitingRequests: Int { queues.waitingCount }

    private func bytesAtDoors(of number: UInt32) -> Int { doors.reduce(0) { $0 + $1.door.replyBytes(of: number) } }

    /// Counts the replies that came since the last call.
    func noteReplies(at instant: @autoclosure () -> Int64) {
        let items = turn.effects.held.items
        guard repliesNoted < items.count else { return }
        let now = instant()
        let seconds = Meters.seconds
        for item in items[repliesNoted...] {
            guard case .reply(let answer) = item.kind, answer.queue != 0 else { continue }
            meters.requests.note(seconds - answer.receivedAt)
            queues.wasAnswered(answer, bytes: item.payload.count, at: now)
        }
        repliesNoted = items.count
    }

    /// Replies left, or were taken back.
    func noteRepliesGone(_ batch: OutputBatch) {
        for item in batch.items {
            guard case .reply(let answer) = item.kind, answer.queue != 0 else { continue }
            queues.replyLeft(answer, bytes: item.payload.count)
        }
    }
}
