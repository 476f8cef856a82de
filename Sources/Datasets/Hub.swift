import Circumstances
import DequeModule
import Geodesy
import LiveTopics
import Matching
import Places
import Selectors
import Wire
import Records

/// The daemon's whole logic: takes messages and the time, changes its own state, and says what is to be done.
///
/// It knows no socket, no disk, no clock and no log. One thread owns it. Its inputs are ``receive(_:at:into:)``,
/// ``advance(to:into:)``, what became of its effects, and ``restore(_:)`` at the start.
public final class Hub {
    public internal(set) var configuration: HubConfiguration
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
    var liveStates = LiveStates()
    /// The last number given to a `live/…` message.
    public internal(set) var liveNumber: Int64 = 0
    /// The last number given to a match.
    public internal(set) var matchNumber: Int64 = 0
    var outbox = Outbox()
    /// The latest instant the hub was told of.
    var latestAt: Int64 = 0
    /// Live states changed since they were last made durable, in the order they first changed.
    var dirty = Deque<LiveState>()
    /// How many of them, from the first on, are to be made durable now.
    var dueToWrite = 0
    /// Refusals of updates for datasets that do not exist.
    var strangers: [String: DiagnosticsWindow] = [:]
    /// When a dataset was deleted: a message replayed by the broker never creates it again.
    var deletedDatasets: [String: Int64] = [:]
    /// Replies that tell of a deletion, by the dataset that was deleted.
    var repliesOfDeleted: [String: ReplyMemory] = [:]
    var malformedDatasets = 0
    /// Where the retained `live/…` messages are being made right again; nil when they are.
    var resync: Resync?
    /// What a broker may still retain of deleted datasets.
    var clearances = Deque<Clearance>()
    /// Datasets whose engines have not yet seen every position of this batch.
    var moved: [Dataset] = []
    /// Datasets with subscriptions whose delivery counters are to be made durable.
    var datasetsWithDeliveries: [Dataset] = []
    /// Matches that left the newest hundred of their device before the broker had them.
    var outdated: Set<Int64> = []
    /// Matches whose targets are all settled, not yet made durable: told together with the counters they change.
    var settledMatches: [Int64] = []
    /// Matches some of whose targets are settled, since that was last made durable.
    var progressedMatches: Set<Int64> = []
    /// Incidents the broker has, not yet made durable.
    var settledIncidents: [Int64] = []
    /// Datasets that were restored and whose engines have not yet taken up work.
    var unresumed: Set<String> = []
    /// Who waits for a question to the store that was asked with the same `requestId`.
    var waitingForAnswer: [RequestKey: [ReplyContext]] = [:]
    /// Datasets are loaded again after a refusal; what only memory knows stays.
    var isReloading = false
    /// Datasets that were to be loaded again and are not in the store.
    var vanished: Set<String> = []
    /// Categories that the store gave back, by dataset, until all are there.
    var restoredCategories: [String: [Category]] = [:]
    /// Live subscriptions of all datasets.
    var liveHandles = LiveSubscriptionHandles()
    /// Those whose snapshot is being sent or waits its turn, the first being sent.
    var snapshotting = Deque<LiveSubscription>()
    /// Those with topics that are held.
    var holders: [LiveSubscription] = []
    /// How many topics are held for all of them.
    var heldTopicCount = 0
    /// What left of late, and what of it is to be told again.
    var recentlyLeft = Deque<RecentlyLeft>()
    var leftAgain: [RecentlyLeft] = []
    /// When the first lease may be over.
    var nextLeaseEnd: Int64 = .max
    /// Who follows the feed of its dataset, over all datasets, by number.
    var followers: [UInt32: (Follower, Dataset)] = [:]
    var lastFollower: UInt32 = 0
    var recentMoves = RecentMoves()
    /// How many pushes wait for what the store knows of their documents.
    var pushesWaiting = 0
    /// Matches up to here wait for a commit, or are past it.
    private var matchesAnnounced: Int64 = 0
    /// How many messages wait at the link: where they are many, live subscribers get the newest only.
    public var liveBacklog = 0
    let decoder = LiveUpdateDecoder()
    let parser = JSONParser()
    /// Scratch for one update's properties.
    var properties: [UInt8] = []
    var engineEffects: [Effect] = []
    var circumstanceEffects: [CircumstanceEffect] = []
    var lastTickAt: Int64 = 0
    private var writtenBehindAt: Int64 = 0
    /// False while the store refuses: requests that change something get `internal`, and what is durable waits.
    public var storeIsWritable = true {
        didSet { if storeIsWritable { outageID = nil } }
    }
    /// What the log calls the present refusal of the store.
    var outageID: String?

    public init(_ configuration: HubConfiguration) {
        self.configuration = configuration
    }

    /// Datasets that may not come to be from now on, each with the adapter's filter that begins with its name.
    public func reserve(datasets: [String: String]) { configuration.reservedDatasets = datasets }

    /// How a door calls what leaves.
    var naming: Naming { configuration.naming }

    /// The datasets that exist, in order.
    public var datasetNames: [String] { datasets.keys.sorted() }

    /// Handles a live update. Batches end with ``endBatch(_:)``.
    public func receive(_ update: IncomingUpdate, _ turn: inout Turn) {
        begin(&turn)
        receiveLive(update.topic, update, &turn)
    }

    func begin(_ turn: inout Turn) {
        latestAt = max(latestAt, turn.now)
        if !unresumed.isEmpty { resume(&turn) }
    }

    /// Shows the engines what the batch moved; afterwards every effect of the batch is in the turn.
    public func endBatch(_ turn: inout Turn) {
        showMoves(&turn)
        recordDeliveries(&turn)
        noteOutdatedPushes(turn.effects.changes.dropFirst(turn.effects.changesSeenByFollowers))
        announceToFollowers(&turn)
        guard matchNumber > matchesAnnounced else { return }
        matchesAnnounced = matchNumber
        turn.effects.sequels.append(.matches(through: matchNumber))
    }

    /// Lets time pass: expiries, matches due again, diagnostics, status, what is written behind.
    ///
    /// To be called every ``tickMilliseconds``; being late changes no decision.
    public func advance(_ turn: inout Turn) {
        let now = turn.now
        let secondIsOver = now - lastTickAt >= 1000 || now < lastTickAt
        latestAt = now
        if !unresumed.isEmpty { resume(&turn) }
        for dataset in orderedDatasets where !dataset.isBeingDeleted {
            if let deadline = dataset.engine.nextDeadline, deadline <= now {
                advanceEngine(of: dataset, to: now, &turn)
            }
            if dataset.floorsOutdatedAt != nil { refreshFloors(of: dataset, &turn) }
            advanceCircumstances(of: dataset, to: now, &turn)
            if dataset.record.derivedOccupancy || dataset.occupancy != nil {
                advanceOccupancy(of: dataset, to: now, secondIsOver: secondIsOver, &turn)
            }
            advanceBeacons(of: dataset, to: now, &turn)
            for diagnostic in dataset.diagnostics.end(at: now) { tell(diagnostic, of: dataset.id, &turn) }
            if secondIsOver { tellStatus(of: dataset, &turn) }
        }
        advanceDelivery(to: now, secondIsOver: secondIsOver, &turn)
        advanceStrangers(to: now, &turn)
        advanceLiveSubscriptions(to: now, &turn)
        if secondIsOver {
            lastTickAt = now
            noteForLog(&turn)
            forgetOld(&turn)
            repairLiveSubscriptions(at: now)
            advanceFollowers(to: now, &turn)
        }
        if now - writtenBehindAt >= Self.writeBehindMilliseconds || now < writtenBehindAt {
            writtenBehindAt = now
            dueToWrite = dirty.count
        }
        recordDeliveries(&turn)
    }

    /// With the time the writing takes, a crash costs the live state at most its last second.
    private static let writeBehindMilliseconds: Int64 = 700
    public static let tickMilliseconds: Int64 = 100

    /// Forgets replies a day old and cleared states thirty days old.
    private func forgetOld(_ turn: inout Turn) {
        for dataset in orderedDatasets {
            dataset.replies.expire(at: turn.now)
            dataset.ended.expire(at: turn.now)
            forgetCleared(of: dataset, before: turn.now - Self.clearedMilliseconds, &turn)
        }
        guard turn.now >= nextHousekeepingAt || turn.now < nextHousekeepingAt - 2 * Self.housekeepingMilliseconds else { return }
        nextHousekeepingAt = turn.now + Self.housekeepingMilliseconds
        turn.keep(.forgetReplies(before: turn.now - ReplyMemory.lifetimeMilliseconds))
        turn.keep(.forgetTombstones(before: turn.now - Self.tombstoneMilliseconds, at: turn.now))
        for name in repliesOfDeleted.keys {
            repliesOfDeleted[name]?.expire(at: turn.now)
            if repliesOfDeleted[name]?.isEmpty == true { repliesOfDeleted[name] = nil }
        }
        for (name, at) in deletedDatasets where turn.now - at >= Self.clearedMilliseconds { deletedDatasets[name] = nil }
    }

    private static let housekeepingMilliseconds: Int64 = 3_600_000

    /// How long a cleared state counts as known.
    static let clearedMilliseconds: Int64 = 30 * 86_400_000
    /// How long a deletion stays in the change feed.
    static let tombstoneMilliseconds: Int64 = 30 * 86_400_000
    private var nextHousekeepingAt: Int64 = 0
}
