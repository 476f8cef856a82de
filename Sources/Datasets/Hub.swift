import DequeModule
import OpeningHours
import Records
import Wire

/// The router of the daemon: looks up the dataset of what comes in, hands it to the components in a stated order, and gathers what is to be
/// done in the turn.
///
/// It knows no transport, no disk, no clock and no log. One thread owns it. Its inputs are requests, live updates, the time
/// (``advance(_:)``), what became of its effects, and ``restore(_:at:)`` at the start.
public final class Hub {
    let shared: Shared
    var datasets: [String: Dataset] = [:] {
        didSet { order = nil }
    }
    private var order: [Dataset]?
    /// By name, so that what time brings about comes in a stated order.
    var orderedDatasets: [Dataset] {
        if let order { return order }
        let ordered = datasets.values.sorted { $0.id < $1.id }
        order = ordered
        return ordered
    }
    /// By the encoded seven levels, over all datasets: one look-up finds what an update replaces.
    var liveStates: LiveStates { shared.liveStates }
    let live: LiveBook
    var liveSubscribers: LiveSubscribers { shared.liveSubscribers }
    var followers: Followers { shared.followers }
    var outbox: Outbox { shared.outbox }
    /// Doors look into them from any thread.
    public var accessKeys: AccessKeys { shared.accessKeys }
    var unknownDatasets = UnknownDatasets()
    var deletedDatasets: [String: Int64] {
        get { shared.deletedDatasets }
        _modify { yield &shared.deletedDatasets }
    }
    /// Replies to deletions, by the dataset that was deleted.
    var repliesOfDeleted: [String: ReplyMemory] = [:]
    /// Datasets that were restored and whose engines have not yet taken up work.
    var unresumed: Set<String> = []
    /// The clients that wait for a query of the store that was asked with the same `requestId`.
    var waitingForAnswer: [RequestKey: [ReplyContext]] = [:]
    /// A refusal whose datasets are not loaded yet.
    var pendingLoad: PendingLoad?
    /// What the store answered about datasets that are not loaded yet.
    var deferredAnswers: [(query: StoreQuery, finding: StoreAnswer)] = []
    /// What came in for suspended datasets.
    var waiting: WaitingInputs
    /// Reads that go through very many objects, the next first.
    var searches = Deque<PendingSearch>()
    /// It is rather the turn of what ``continueWork(_:)`` does than of a search.
    var isWorkNext = false
    /// How many pushes wait for what the store knows of their documents.
    var pushesWaiting = 0
    /// How many messages wait at the doors: where they are many, live subscribers get the newest only.
    public var liveBacklog: Int {
        get { liveSubscribers.backlog }
        set { liveSubscribers.backlog = newValue }
    }
    /// How the daemon around it is doing, as of the last tick.
    public var daemonFigures: DaemonFigures?
    var parser: JSONParser { shared.parser }
    /// What datasets counted that are deleted.
    public internal(set) var figuresOfDeleted = DatasetFigures.sum([])
    /// The same by name.
    var figuresOfFormer: [String: DatasetFigures] = [:]
    /// Of ``HubConfiguration/accessVersion``, as last seen.
    private var accessSeen: Int
    private var lastSecondAt: Int64 = 0
    private var writtenBehindAt: Int64 = 0
    /// False while the store refuses: requests that change something get `internal`, and what is durable waits.
    public var storeIsWritable = true {
        didSet { if storeIsWritable { outageID = nil } }
    }
    /// What the log calls the present refusal of the store.
    var outageID: String?

    public init(_ configuration: HubConfiguration) {
        shared = Shared(configuration)
        accessSeen = configuration.accessVersion()
        live = shared.live
        waiting = WaitingInputs(limits: configuration.limits)
    }

    public var configuration: HubConfiguration { shared.configuration }

    /// The last number given to a message of a live state.
    public var liveNumber: Int64 { liveStates.lastNumber }

    /// Datasets that may not come to be from now on, each with the adapter's filter that begins with its name.
    public func reserve(datasets: [String: String]) { shared.configuration.reservedDatasets = datasets }

    /// How a door calls what leaves.
    var naming: Naming { configuration.naming }

    /// The datasets that exist, in order.
    public var datasetNames: [String] { datasets.keys.sorted() }

    /// Whether the store has a dataset that is there.
    public func isDurable(_ dataset: String) -> Bool { datasets[dataset]?.isDurable == true }

    /// Datasets whose stored time zone is no name of the IANA database, which `dataset/update` took once: they count as UTC.
    public var unknownTimeZones: [(dataset: String, timeZone: String)] {
        datasetNames.compactMap { name in
            guard let zone = datasets[name]?.record.timeZone, Zone.named(zone) == nil else { return nil }
            return (name, zone)
        }
    }

    /// Handles a live update. Batches end with ``endBatch(_:)``.
    public func receive(_ update: IncomingUpdate, _ turn: inout Turn) {
        begin(&turn)
        receiveLive(update.topic, update, &turn)
    }

    func begin(_ turn: inout Turn) {
        if !unresumed.isEmpty { resume(&turn) }
    }

    /// Has the engines of restored datasets take up work, before anything else comes in.
    private func resume(_ turn: inout Turn) {
        let restored = unresumed.sorted().compactMap { datasets[$0] }
        for dataset in restored { dataset.resume(&turn) }
        unresumed.removeAll()
        for dataset in restored { dataset.geofences.resume(in: dataset, &turn) }
    }

    /// Shows the engines what the batch moved; afterwards every effect of the batch is in the turn.
    public func endBatch(_ turn: inout Turn) {
        live.reportMoves(&turn)
        // A commit for what was delivered alone would hold up that of the next match, and wait as long: it goes with the next, or at the
        // next tick. While a dataset is read again, what it counts is to be where that ends.
        if !turn.effects.changes.isEmpty || pendingLoad != nil { outbox.record(&turn) }
        noteOutdatedPushes(turn.effects.changes.dropFirst(turn.effects.changesSeenByFollowers))
        followers.announce(&turn)
        outbox.announce(&turn)
        turn.effects.endedSubscriptions += liveSubscribers.removeEnded()
    }

    /// Lets time pass: expiries, matches due again, diagnostics, status, what is written behind.
    ///
    /// To be called every ``tickMilliseconds``; being late changes no decision.
    public func advance(_ turn: inout Turn) {
        let now = turn.now
        let secondIsOver = now - lastSecondAt >= 1000 || now < lastSecondAt
        if !unresumed.isEmpty { resume(&turn) }
        for dataset in orderedDatasets where !dataset.isHalted {
            dataset.advancedTo = now
            dataset.geomatching.advance(&turn)
            dataset.refreshFloors(&turn)
            dataset.circumstances.advance(&turn)
            dataset.geofences.advance(&turn)
            if dataset.record.derivedOccupancy || dataset.occupancy != nil {
                dataset.advanceOccupancy(secondIsOver: secondIsOver, &turn)
            }
            live.advanceBeacons(of: dataset, &turn)
            dataset.diagnostics.advance(&turn)
            guard secondIsOver else { continue }
            dataset.reportStatus(beside: daemonFigures, &turn)
            dataset.shareContents()
        }
        outbox.advance(secondIsOver: secondIsOver, &turn)
        unknownDatasets.advance(&turn)
        reviewAccess(&turn)
        liveSubscribers.advance(&turn)
        if secondIsOver {
            lastSecondAt = now
            unknownDatasets.note(&turn)
            for dataset in orderedDatasets {
                dataset.matchAccount.note(of: dataset.id, &turn)
                dataset.matchAccount.budgetReport.advance(dataset.diagnostics, &turn)
                if dataset.liveSubscriptions.areaCount == 0 { dataset.liveTopics.forgetCompanions() }
            }
            forgetOld(&turn)
            liveSubscribers.repair(at: now)
            followers.advance(&turn)
            endOverdueTests(&turn)
            accessKeys.advance(&turn)
        }
        if now - writtenBehindAt >= Self.writeBehindMilliseconds || now < writtenBehindAt {
            writtenBehindAt = now
            liveStates.noteDue()
        }
        outbox.record(&turn)
    }

    /// What was allowed once is not for good.
    private func reviewAccess(_ turn: inout Turn) {
        let version = configuration.accessVersion()
        guard version != accessSeen else { return }
        accessSeen = version
        liveSubscribers.reviewAccess(&turn)
        followers.reviewAccess(&turn)
        for dataset in orderedDatasets { dataset.beacons.reviewAccess(&turn) }
    }

    /// With the time the writing takes, a crash costs the live state at most its last second.
    private static let writeBehindMilliseconds: Int64 = 600
    public static let tickMilliseconds: Int64 = 100

    /// Forgets replies a day old, and cleared states and deletions of datasets thirty days old.
    private func forgetOld(_ turn: inout Turn) {
        for dataset in orderedDatasets {
            dataset.replies.expire(at: turn.now)
            dataset.geomatching.forgetEnded(at: turn.now)
            live.forgetCleared(of: dataset, before: turn.now - Self.clearedMilliseconds, &turn)
        }
        guard turn.now >= nextHousekeepingAt || turn.now < nextHousekeepingAt - 2 * Self.housekeepingMilliseconds else { return }
        nextHousekeepingAt = turn.now + Self.housekeepingMilliseconds
        turn.keep(.forgetReplies(before: turn.now - ReplyMemory.lifetimeMilliseconds))
        turn.keep(.forgetTombstones(before: turn.now - Self.tombstoneMilliseconds, at: turn.now))
        for name in repliesOfDeleted.keys {
            repliesOfDeleted[name]?.expire(at: turn.now)
            if repliesOfDeleted[name]?.isEmpty == true { repliesOfDeleted[name] = nil }
        }
        let forgotten = deletedDatasets.filter { turn.now - $0.value >= Self.clearedMilliseconds }.keys.sorted()
        for name in forgotten {
            deletedDatasets[name] = nil
            turn.keep(.forgetDeletion(ofDataset: name))
        }
    }

    private static let housekeepingMilliseconds: Int64 = 3_600_000
    /// How long the reply to a `requestId` is given again.
    public static let repliesMilliseconds = ReplyMemory.lifetimeMilliseconds

    /// How long a cleared state counts as known.
    static let clearedMilliseconds: Int64 = 30 * 86_400_000
    /// How long a deletion stays in the change feed.
    static let tombstoneMilliseconds: Int64 = 30 * 86_400_000
    private var nextHousekeepingAt: Int64 = 0
}
