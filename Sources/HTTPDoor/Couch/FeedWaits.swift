import Synchronization

/// One connection that waits for a feed to go on.
final class FeedWait: Sendable {
    /// What it is woken for, the most urgent last.
    enum Signal: Int, Sendable, Comparable {
        /// A sign of life is due.
        case heartbeat
        /// The feed may go on.
        case change
        /// It is over: its time, the daemon, or the connection.
        case end

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    let dataset: String
    let caller: Caller
    /// Milliseconds between two signs of life; nil: none.
    let heartbeat: Int64?
    /// Milliseconds that it waits at most; nil: as long as it takes.
    let timeout: Int64?
    private let pending = Mutex<Signal?>(nil)
    private let bell: AsyncStream<Void>.Continuation
    let signals: AsyncStream<Void>

    init(_ dataset: String, _ caller: Caller, heartbeat: Int64?, timeout: Int64?) {
        self.dataset = dataset
        self.caller = caller
        self.heartbeat = heartbeat
        self.timeout = timeout
        (signals, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func signal(_ signal: Signal) {
        pending.withLock { $0 = max($0 ?? signal, signal) }
        bell.yield()
    }

    /// What it was woken for; an end stays.
    func take() -> Signal? {
        pending.withLock { pending in
            defer { if pending != .end { pending = nil } }
            return pending
        }
    }
}

/// All that wait for feeds. A wait costs nothing while nothing changes.
///
/// It belongs to the core's thread.
struct FeedWaits {
    private struct Entry {
        let wait: FeedWait
        var heartbeatAt: Int64
        let endsAt: Int64
    }

    private var entries: [String: [ObjectIdentifier: Entry]] = [:]
    private var nextAt = Int64.max
    private var isOver = false

    func isEmpty(of dataset: String) -> Bool { entries[dataset] == nil }

    mutating func insert(_ wait: FeedWait, at now: Int64) {
        guard !isOver else { return wait.signal(.end) }
        let entry = Entry(
            wait: wait, heartbeatAt: wait.heartbeat.map { now + $0 } ?? .max, endsAt: wait.timeout.map { now + $0 } ?? .max)
        entries[wait.dataset, default: [:]][ObjectIdentifier(wait)] = entry
        nextAt = min(nextAt, entry.heartbeatAt, entry.endsAt)
    }

    mutating func remove(_ wait: FeedWait) {
        entries[wait.dataset]?[ObjectIdentifier(wait)] = nil
        if entries[wait.dataset]?.isEmpty == true { entries[wait.dataset] = nil }
    }

    func signal(_ signal: FeedWait.Signal, of dataset: String) {
        for entry in (entries[dataset] ?? [:]).values { entry.wait.signal(signal) }
    }

    func signalAll(_ signal: FeedWait.Signal) {
        for dataset in entries.keys { self.signal(signal, of: dataset) }
    }

    /// Ends those whose caller may have them no longer.
    func end(where isLost: (_ caller: Caller, _ dataset: String) -> Bool) {
        for entry in entries.values.joined() where isLost(entry.value.wait.caller, entry.value.wait.dataset) {
            entry.value.wait.signal(.end)
        }
    }

    /// The daemon ends.
    mutating func end() {
        isOver = true
        signalAll(.end)
    }

    mutating func advance(to now: Int64) {
        guard now >= nextAt else { return }
        nextAt = .max
        for (dataset, waits) in entries {
            for (key, entry) in waits {
                if now >= entry.endsAt {
                    entry.wait.signal(.end)
                } else if now >= entry.heartbeatAt, let heartbeat = entry.wait.heartbeat {
                    entry.wait.signal(.heartbeat)
                    entries[dataset]?[key]?.heartbeatAt = now + heartbeat
                }
                if now < entry.endsAt { nextAt = min(nextAt, entries[dataset]?[key]?.heartbeatAt ?? .max, entry.endsAt) }
            }
        }
    }
}

extension HTTPDoor {
    /// Has a connection woken whenever the feed of a dataset goes on, until it waits no longer.
    func wait(_ wait: FeedWait) {
        feedWaits.insert(wait, at: core.clock.monotonic())
        core.hub.watchFeed(of: wait.dataset)
    }

    func feedChanged(_ dataset: String) {
        guard !feedWaits.isEmpty(of: dataset) else { return }
        feedWaits.signal(.change, of: dataset)
        core.hub.watchFeed(of: dataset)
    }
}
