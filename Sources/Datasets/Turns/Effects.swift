import Records

/// What the hub wants done after a turn.
public struct Effects: Sendable {
    /// Leaves at once: live state, diagnostics, and what is durable already.
    public var output = OutputBatch()
    /// Leaves behind the commit of what requests asked for up to here, in order.
    public var held = OutputBatch()
    /// To make durable, in order, in one transaction.
    public private(set) var changes: [DurableChange] = []
    /// For each change, whether a request asked for it.
    private(set) var asked: [Bool] = []
    /// Whose replies are in `held`.
    var replies: [ReplyContext] = []
    /// What the hub does once the changes are durable.
    var sequels: [Sequel] = []
    /// To post to webhooks at once. What became of each goes to ``Hub/posted(_:_:_:)``.
    public var posts: [WebhookPost] = []
    /// To hand to push services at once. What became of each goes to ``Hub/posted(_:_:_:)``.
    public var pushes: [PushPost] = []
    /// Questions to the store, answered through ``Hub/answer(_:with:_:)``. They see the changes up to here, unless the store cannot be written.
    public var queries: [StoreQuery] = []
    /// The set of datasets has changed.
    public var datasetsChanged = false
    /// Live topics on which somebody may still keep what was sent, for good: it is to be erased.
    public var erasedInputs: [String] = []
    /// Live subscriptions that ended, or began anew under the same id.
    public var endedSubscriptions: [Recipient] = []
    /// What doors keep to send again, and is to be kept no longer.
    public var forgotten: [Forgotten] = []
    /// For the log.
    public var notices: [Notice] = []
    /// How many of the changes followers of the feed know of already.
    var changesSeenByFollowers = 0

    public init() {}

    public var isEmpty: Bool {
        output.isEmpty && held.isEmpty && changes.isEmpty && sequels.isEmpty && posts.isEmpty && pushes.isEmpty && queries.isEmpty
            && !datasetsChanged && erasedInputs.isEmpty && endedSubscriptions.isEmpty && forgotten.isEmpty
            && notices.isEmpty
    }

    /// A request waits for some of the changes.
    public var isAskedFor: Bool { asked.contains(true) }

    public mutating func removeAll() {
        output.removeAll()
        held.removeAll()
        changes.removeAll(keepingCapacity: true)
        asked.removeAll(keepingCapacity: true)
        replies.removeAll(keepingCapacity: true)
        sequels.removeAll(keepingCapacity: true)
        posts.removeAll(keepingCapacity: true)
        pushes.removeAll(keepingCapacity: true)
        queries.removeAll(keepingCapacity: true)
        datasetsChanged = false
        erasedInputs.removeAll()
        endedSubscriptions.removeAll()
        forgotten.removeAll()
        notices.removeAll(keepingCapacity: true)
        changesSeenByFollowers = 0
    }

    /// A change that no request asked for.
    public mutating func append(_ change: DurableChange) { append(change, isAsked: false) }

    mutating func append(_ change: DurableChange, isAsked: Bool) {
        changes.append(change)
        asked.append(isAsked)
    }

    /// Makes a change durable that a request asked for, before what it kept since a point: the first that fits, else all of it.
    mutating func insert(_ change: DurableChange, before fits: (DurableChange) -> Bool, since point: Point) {
        let index = changes[point.changes...].firstIndex(where: fits) ?? point.changes
        changes.insert(change, at: index)
        asked.insert(true, at: index)
    }

    /// What has been kept and noted so far, to go back to.
    struct Point {
        fileprivate var changes: Int
        fileprivate var sequels: Int
        fileprivate var notices: Int
        fileprivate var datasetsChanged: Bool
    }

    var point: Point {
        Point(changes: changes.count, sequels: sequels.count, notices: notices.count, datasetsChanged: datasetsChanged)
    }

    mutating func goBack(to point: Point) {
        changes.removeSubrange(point.changes...)
        asked.removeSubrange(point.changes...)
        sequels.removeSubrange(point.sequels...)
        notices.removeSubrange(point.notices...)
        datasetsChanged = point.datasetsChanged
    }

    func count(since point: Point) -> Int { changes.count - point.changes }

    /// Takes out what waits for the changes, which the caller makes durable.
    public mutating func takeUncommitted() -> Uncommitted {
        let taken = Uncommitted(changes: changes, asked: asked, held: held, replies: replies, sequels: sequels)
        held = OutputBatch()
        changes = []
        asked = []
        replies = []
        sequels = []
        changesSeenByFollowers = 0
        return taken
    }
}

/// Changes on their way to the disk, and what waits for them.
public struct Uncommitted: Sendable {
    public private(set) var changes: [DurableChange] = []
    private(set) var asked: [Bool] = []
    public private(set) var held = OutputBatch()
    private(set) var replies: [ReplyContext] = []
    var sequels: [Sequel] = []

    public init() {}

    /// All that leaves are refusals.
    public var onlyRefuses: Bool { !replies.isEmpty && replies.allSatisfy(\.isRefusal) }

    /// What nobody asked for.
    init(unasked changes: [DurableChange]) {
        self.changes = changes
        asked = changes.map { _ in false }
    }

    init(
        changes: [DurableChange], asked: [Bool], held: OutputBatch, replies: [ReplyContext], sequels: [Sequel]
    ) {
        self.changes = changes
        self.asked = asked
        self.held = held
        self.replies = replies
        self.sequels = sequels
    }

    /// Where no request asked for anything: the changes with what waits for them alone, and what leaves.
    public func split() -> (changes: Uncommitted, rest: Uncommitted) {
        var rest = Uncommitted()
        rest.held = held
        rest.replies = replies
        var kept = self
        kept.held = OutputBatch()
        kept.replies = []
        return (kept, rest)
    }

    /// A request waits for some of the changes: they are refused rather than kept waiting.
    public var isAskedFor: Bool { asked.contains(true) }

    /// Datasets begin with it.
    public var createsDatasets: Bool { sequels.contains { if case .creation = $0 { true } else { false } } }

    public var isEmpty: Bool { changes.isEmpty && held.isEmpty && sequels.isEmpty }

    /// Adds what came later and waits for the same changes.
    public mutating func append(_ later: Uncommitted) {
        changes += later.changes
        asked += later.asked
        held.append(later.held)
        replies += later.replies
        sequels += later.sequels
    }
}

/// What the hub does once changes are durable, see ``Hub/committed(_:token:_:)``.
enum Sequel: Sendable {
    /// Matches and events up to this number may go out.
    case matches(through: Int64)
    /// A live subscription begins to be sent to.
    ///
    /// - Parameter serial: Its own, as handles are given again.
    case liveSubscription(UInt32, serial: UInt64)
    /// A dataset is there.
    case creation(dataset: String)
    /// A dataset is gone.
    case deletion(dataset: String)
    /// A device was forgotten: what was sent on these live topics is to be erased wherever it is kept, and messages about it.
    case erasure([String], Forgotten)
    /// Who may know where the devices of a dataset are has changed.
    case livePositions(LivePositions, dataset: String)
}
