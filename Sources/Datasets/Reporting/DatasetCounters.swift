import Records
import Wire

/// What became of the live updates of a dataset since the daemon started.
struct UpdateCounters: Equatable {
    private(set) var received = 0
    private(set) var accepted = 0
    private(set) var refused = 0
    private(set) var late = 0
    private(set) var skewed = 0
    private(set) var conflated = 0

    /// What became of one update.
    enum Outcome {
        case accepted, late, refused
        /// A newer one of its topic took its place before it was looked at.
        case conflated
        /// Nothing: it was known already.
        case ignored
    }

    @inline(__always)
    mutating func count(_ outcome: Outcome) {
        switch outcome {
        case .accepted: accepted += 1
        case .late: late += 1
        case .refused: refused += 1
        case .conflated: conflated += 1
        case .ignored: return
        }
        received += 1
    }

    mutating func countSkewed() { skewed += 1 }

    /// So many were left out for newer ones before they came.
    mutating func countConflated(_ count: Int) {
        conflated += count
        received += count
    }
}

/// The requests to a dataset since the daemon started.
struct RequestCounters: Equatable {
    var received = 0
    var failed = 0
}

/// One kind of request and what came of it.
struct RequestOutcome: Hashable {
    /// `resource/verb`, of the table, or ``unknown``.
    var request: String
    /// nil: a result.
    var error: ErrorCode?

    /// All that the table has not: clients choose how they are called.
    static let unknown = "unknown/unknown"
}

/// What became of the matches of a dataset since the daemon started.
struct MatchCounters: Equatable {
    var matched = 0
    var delivered = 0
    var retried = 0
    var expired = 0
    var dropped = 0
    /// Not yet with everyone they are for: a gauge.
    var pending = 0

    mutating func count(_ fate: MatchFate) {
        switch fate {
        case .delivered: delivered += 1
        case .expired: expired += 1
        case .dropped: dropped += 1
        }
    }
}

/// All that a dataset counted since the daemon started.
struct DatasetCounters: Equatable {
    var updates = UpdateCounters()
    var requests = RequestCounters()
    var matches = MatchCounters()
}

/// The status of a dataset but its time, which alone is no news.
struct StatusFigures: Equatable {
    var counters: DatasetCounters
    var devices: Int
    var publications: Int
    var subscriptions: Int
    var liveSubscriptions: Int
    var circumstances: Int
    var places: Int

    func encode(into writer: inout JSONWriter) {
        writer.key("updates")
        writer.beginObject()
        writer.member("received", counters.updates.received)
        writer.member("accepted", counters.updates.accepted)
        writer.member("refused", counters.updates.refused)
        writer.member("late", counters.updates.late)
        writer.member("skewed", counters.updates.skewed)
        writer.member("conflated", counters.updates.conflated)
        writer.endObject()
        writer.key("requests")
        writer.beginObject()
        writer.member("received", counters.requests.received)
        writer.member("failed", counters.requests.failed)
        writer.endObject()
        writer.key("matches")
        writer.beginObject()
        writer.member("matched", counters.matches.matched)
        writer.member("delivered", counters.matches.delivered)
        writer.member("retried", counters.matches.retried)
        writer.member("expired", counters.matches.expired)
        writer.member("dropped", counters.matches.dropped)
        writer.member("pending", counters.matches.pending)
        writer.endObject()
        writer.member("devices", devices)
        writer.member("publications", publications)
        writer.member("subscriptions", subscriptions)
        writer.member("liveSubscriptions", liveSubscriptions)
        writer.member("circumstances", circumstances)
        writer.member("places", places)
    }
}

/// How the daemon itself is doing, said beside the counters of each dataset; that it changed is no news.
public struct DaemonFigures: Sendable {
    /// How long something took since the start: milliseconds that so much of it stayed within, nil where there was none.
    public struct Latency: Sendable {
        public var half: Double?
        public var mostly: Double?

        public init(half: Double?, mostly: Double?) {
            self.half = half
            self.mostly = mostly
        }
    }

    /// From a request's arrival to its reply, and from a change to its being durable.
    public var requests: Latency
    public var commits: Latency
    /// What waits: requests in their clients' queues, updates of datasets that take nothing in, changes for the store, messages for
    /// the broker.
    public var requestsWaiting: Int
    public var updatesWaiting: Int
    public var changesWaiting: Int
    public var messagesWaiting: Int
    public var storeIsWritable: Bool
    /// How often the daemon was online at its broker since the start.
    public var brokerConnections: Int

    public init(
        requests: Latency, commits: Latency, requestsWaiting: Int, updatesWaiting: Int, changesWaiting: Int, messagesWaiting: Int,
        storeIsWritable: Bool, brokerConnections: Int
    ) {
        self.requests = requests
        self.commits = commits
        self.requestsWaiting = requestsWaiting
        self.updatesWaiting = updatesWaiting
        self.changesWaiting = changesWaiting
        self.messagesWaiting = messagesWaiting
        self.storeIsWritable = storeIsWritable
        self.brokerConnections = brokerConnections
    }

    func encode(into writer: inout JSONWriter) {
        writer.key("daemon")
        writer.beginObject()
        writer.member("requestP50", optional: requests.half)
        writer.member("requestP99", optional: requests.mostly)
        writer.member("commitP50", optional: commits.half)
        writer.member("commitP99", optional: commits.mostly)
        writer.member("requestsWaiting", requestsWaiting)
        writer.member("updatesWaiting", updatesWaiting)
        writer.member("changesWaiting", changesWaiting)
        writer.member("messagesWaiting", messagesWaiting)
        writer.member("storeWritable", storeIsWritable)
        writer.member("brokerConnections", brokerConnections)
        writer.endObject()
    }
}

/// When each counter of losses last rose, as far as the reports say: one of long ago needs nobody's attention.
struct LatestLosses: Equatable {
    private var at: [String: Int64] = [:]

    mutating func note(_ counters: DatasetCounters, after former: DatasetCounters, at now: Int64) {
        let (updates, matches) = (counters.updates, counters.matches)
        if updates.refused > former.updates.refused { at["refused"] = now }
        if updates.skewed > former.updates.skewed { at["skewed"] = now }
        if matches.dropped > former.matches.dropped { at["dropped"] = now }
        if matches.expired > former.matches.expired { at["expired"] = now }
    }

    func encode(into writer: inout JSONWriter) {
        guard !at.isEmpty else { return }
        writer.key("last")
        writer.beginObject()
        for (name, instant) in at.sorted(by: { $0.key < $1.key }) { writer.member(name, instant) }
        writer.endObject()
    }
}

/// The status of a dataset, reported where it changed, every ten seconds at most.
struct StatusReport {
    private var last: StatusFigures?
    private var lastAt: Int64 = .min
    private var losses = LatestLosses()
    private var mustRepeat = false

    private static let intervalMilliseconds: Int64 = 10_000

    /// It is time to look at the figures again.
    func isDue(at now: Int64) -> Bool {
        lastAt == .min || mustRepeat || now - lastAt >= Self.intervalMilliseconds || now < lastAt
    }

    mutating func report(
        _ figures: StatusFigures, of dataset: String, beside daemon: DaemonFigures?, _ turn: inout Turn
    ) {
        guard figures != last || mustRepeat else { return }
        mustRepeat = false
        losses.note(figures.counters, after: last?.counters ?? DatasetCounters(), at: turn.now)
        last = figures
        lastAt = turn.now
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("dataset", dataset)
        writer.member("at", turn.now)
        figures.encode(into: &writer)
        losses.encode(into: &writer)
        daemon?.encode(into: &writer)
        writer.endObject()
        turn.effects.output.append(.status, name: dataset, payload: writer.bytes)
    }

    /// The next one is reported even if nothing changed.
    mutating func `repeat`() { mustRepeat = true }
}

extension Dataset {
    var counters: DatasetCounters {
        DatasetCounters(updates: updateCounters, requests: requestCounters, matches: matchAccount.counters)
    }

    /// Reports the counters where they changed.
    func reportStatus(beside daemon: DaemonFigures?, _ turn: inout Turn) {
        guard status.isDue(at: turn.now) else { return }
        let figures = StatusFigures(
            counters: counters, devices: devices.count, publications: geomatching.publications.count,
            subscriptions: geomatching.subscriptions.count,
            liveSubscriptions: liveSubscriptions.count, circumstances: circumstances.count, places: places.table.count)
        status.report(figures, of: id, beside: daemon, &turn)
    }
}
