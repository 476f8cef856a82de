// Texts are read by a target of their own, which keeps every check; the engine's users use both.
@_exported import CircumstanceLanguage
import HeapModule

/// Evaluates circumstances: reports when they become true or false of devices.
///
/// Each input takes the instant (milliseconds since 1970 UTC, never earlier than one before) and the world as it is then, changes
/// the engine and appends what follows to `effects`. Nothing is drawn from a clock: ``nextDue`` says when
/// ``advance(to:atMost:in:into:)`` is wanted next.
///
/// ## How it stays cheap
///
/// Comparisons of ids, categories and chains are interned, and each place's true ones remembered. A condition that can only be true
/// near certain places is found through these (``Precondition``), so that circumstances cost nothing for devices they do not concern:
/// through a grid of its owner where it names them (``NamedPlaces``), else through what is true of the places around (``PlaceTiles``).
/// Every look at a device also says how far it may move, which circles it may not cross, and how long it may take, before anything can
/// differ (``SafeRegion``): until then a fix costs a comparison.
///
/// ## Meaning
///
/// - State is one bit for each circumstance and device: whether the last definite value was true. Arriving fires when it is set,
///   departing when it is taken back; unknown leaves it.
/// - While a circumstance holds, its ranges are wider by its exit margin (those under a `not` while it does not hold), except at
///   its first evaluation for a device, and the first after that had no position.
/// - What nothing that exists can match is unknown: an id that no place, category or chain has says nothing. What is held when the last
///   such place goes stays held, and is evaluated again when there is one.
/// - A device within 50 m of the first fix of its stay is dwelling; a fix farther away begins the next stay. A stay lasts from its first
///   fix to its last one by their own times, and as long as time has passed since that was heard. Of its fixes the one counts that was
///   heard with the least delay, so that a late one makes no stay shorter.
/// - A visit is the time between the first and the last fix `at` a place (10 m more to leave it). Visits are kept where a
///   registered circumstance asks for visits to such places; else those to the 4 nearest places once a stay has lasted 3 minutes.
public final class CircumstanceEngine {
    let memory = PlaceMemory()
    var entries: [CircumstanceEntry?] = []
    var freeEntries: [UInt32] = []
    var actives: [ActiveCircumstance?] = []
    /// Numbers of active circumstances that ended and may still be in tracks.
    var retired: [UInt32] = []
    var freeActives: [UInt32] = []
    /// By active circumstance what a look needs of it.
    var summaries: [ActiveSummary] = []
    var index = PreconditionIndex()
    /// Active circumstances without preconditions, by owner.
    var unconditional: [UInt32: [UInt32]] = [:]
    var uses = RuleUses()

    /// By owner; 0 is for devices that nobody owns, which all circumstances see.
    var interests = [Interest()]
    var tiles = PlaceTiles()
    var named = NamedPlaces()
    /// So many circumstances find a changed place at once that they name; where there are more, all do so later.
    var namersAtOnce = 16
    /// The places that are named are to be found anew.
    var areNamedPlacesStale = false

    var tracks = TrackTable()
    var identities: [DeviceIdentity] = []
    var owners: [IdentityText: UInt32] = [:]
    var histories: [UInt32: VisitHistory] = [:]
    var cells = DeviceCells()
    var due = Heap<DueDevice>()
    /// Devices near a place that is being changed.
    var disturbed: Set<UInt32> = []
    /// Devices whose circumstances asked for live data.
    var liveDevices: Set<UInt32> = []

    /// Counts the changes of places.
    var placeEpoch: UInt32 = 0
    /// Counts the registrations that every device must see.
    var epoch: UInt32 = 0
    /// The next device of the sweep that shows them, and how many there are still.
    var sweepNext = 0
    var sweepRemaining = 0
    var sweeping: [UInt32] = []
    /// The owner is still making devices known that were there before: circumstances that come meanwhile are shown to all behind that.
    public var isLearning = false {
        didSet { if oldValue, !isLearning, sweepRemaining > 0 { sweepAll() } }
    }
    var latest = Int64.min

    // Kept between evaluations, so that nothing is allocated.
    var scratch: [NearbyPlace] = []
    var candidates: [UInt32] = []
    var found: [FoundPlace] = []
    /// Of active circumstances that may begin the places they are true of.
    var arrivals: [(active: UInt32, place: NearbyPlace)] = []
    /// Of what the device holds, what is seen to be true still.
    var confirmed: [Bool] = []

    /// Evaluations of one circumstance for one device so far.
    public internal(set) var evaluations = 0
    /// Looks at all that concerns one device so far.
    public internal(set) var reviews = 0

    public init() {}

    /// Farther than this no device goes unseen, metres.
    static let safeMax = 500.0
    /// How much farther than needed places are looked for where visits are asked for, metres, so that a step does not ask again.
    static let visitForesight = 100.0
    /// Devices evaluated at once; more are taken in turns by ``advance(to:atMost:in:into:)``.
    public static let turnMax = 512
    static let stayMilliseconds: Int64 = 180_000
    static let stayRadius = 50.0
    /// Places to which a stay is remembered where nobody asks.
    static let stayPlacesMax = 4

    public var count: Int { entries.count - freeEntries.count }
}

/// What the circumstances ask for, so that nothing else is done.
struct RuleUses {
    /// Reach plus margin of each `near`, and the margins of `at`: how many circumstances have each.
    private var nears: [Double: Int] = [:]
    private var ats: [Double: Int] = [:]
    private(set) var nearMax = 0.0
    /// Nil while nothing is about `at`.
    private(set) var atMarginMax: Double?
    var moving = 0
    var dwelling = 0
    /// Circumstances about how sure a visit was.
    var visitLevels = 0
    /// How often each predicate covers a `visited` or `frequents`.
    var visits: [UInt32: Int] = [:]

    mutating func count(_ active: ActiveCircumstance, by step: Int) {
        let program = active.program
        if program.uses(.near) {
            let reach = PlaceReach.reach(nearRadius: active.nearRadius, at: PlaceReach.atMax)
            change(&nears, reach + active.exitMargin, by: step)
        }
        if program.uses(.at) { change(&ats, active.exitMargin, by: step) }
        nearMax = nears.keys.max() ?? 0
        atMarginMax = ats.keys.max()
        if program.uses(.moving) { moving += step }
        if program.uses(.dwelling) { dwelling += step }
    }

    /// Visits are kept for what is only asked for, too.
    mutating func countVisits(_ program: Program, covering table: PredicateTable, by step: Int) {
        if program.uses(.threshold), program.usesVisits { visitLevels += step }
        for (node, entry) in program.nodes.enumerated() where entry.operation == .visited || entry.operation == .frequents {
            for predicate in program.cover(node, table) {
                visits[predicate, default: 0] += step
                if visits[predicate] == 0 { visits[predicate] = nil }
            }
        }
    }

    private func change(_ counts: inout [Double: Int], _ key: Double, by step: Int) {
        counts[key, default: 0] += step
        if counts[key] == 0 { counts[key] = nil }
    }
}
