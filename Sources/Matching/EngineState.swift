import Geodesy
import HeapModule
import Selectors

/// The engine's state. It sits behind one pointer, so that no access of the hot path is checked for exclusivity or counted.
///
/// Invariant that the difference tests rest on: every pair that is in range now was evaluated when it came into range.
struct EngineState {
    let limits: EngineLimits
    var devices = Slab<Device>()
    var publications = Slab<Publication>()
    var subscriptions = Slab<Subscription>()
    /// By device number: when it was last heard of, and of when that was.
    var heard = Column<Heard>()
    /// By subscription number: pairs remembered.
    var partners = Column<UInt32>()
    /// By subscription number, where it is of mode visit.
    var visitOptions = Column<VisitOptions>()
    /// How wide the accuracies of what is placed are.
    var accuracies = AccuracyHistogram()
    /// By publication number; initialised where the publication is alive.
    var properties = PropertyTable()
    var programs = Programs()
    var topics = Topics()
    var classes = LaneClasses()
    var lanes = LanePool()
    var directory = TileDirectory()
    var index = PairIndex()
    /// By pair of a likely subscription: when the first of the last usable fixes was that are all outside.
    var leaving: [UInt32: Int64] = [:]
    /// Pairs of which that has changed, until the owner keeps it.
    var leavingChanged = ContiguousArray<LeavingChange>()
    var sightings = Sightings()
    var deadlines = Heap<Deadline>()
    /// Entries and pairs that have a deadline; the heap may hold more.
    var deadlinesWanted = 0
    /// Changes when runs of that side (0 publications, 1 subscriptions) are made, moved or emptied.
    var versions: (publications: UInt64, subscriptions: UInt64) = (0, 0)
    let columns = Grid.columns
    var tally = Tally()

    /// Scratch of one input, kept for its memory.
    var runs = Scratch<Run>()
    var cells = Scratch<UnsafeMutablePointer<Run>>()
    var hits = Scratch<UInt32>()
    var keys = Scratch<UInt64>()
    var openClasses = Scratch<UInt32>()
    var meetings = ContiguousArray<Encounter>()
    var doubts = Scratch<UInt64>()
    /// Pairs that are evaluated in a later call, see ``searchedBytesMaximum``; those before ``postponedFirst`` are done.
    var postponed: [PostponedPair] = []
    var postponedFirst = 0
    /// Bytes that selectors may still search in this call.
    var searchLeft = EngineState.searchedBytesMaximum
    /// Pairs that met for the first time: subscription in the high half, publication in the low one.
    var newcomers = Scratch<UInt64>()
    /// The instant of the input they met at.
    var newcomersAt: Int64 = 0
    /// When the movements of this input were shown before, in a life that forgot them; `Int64.max`: they are new.
    var movesKnownSince: Int64 = .max
    var ends = ContiguousArray<Parting>()
    var stays = ContiguousArray<PairStay>()
    var exceeded = ContiguousArray<CapacityExceeded>()
    var ordering = Ordering()
    /// The last two positions a distance was reckoned between: one of them mostly is the mover's.
    var cachedPositions = (publication: CachedPosition(), subscription: CachedPosition())
    var probePrefetch = ProbePrefetch()
    /// The columns of the rows of a tile that a ring touches.
    let spans = UnsafeMutablePointer<Ring.Span>.allocate(capacity: 8)

    init(limits: EngineLimits) { self.limits = limits }

    mutating func deallocate() {
        heard.deallocate()
        partners.deallocate()
        visitOptions.deallocate()
        accuracies.deallocate()
        newcomers.deallocate()
        properties.deallocate(alive: publications)
        devices.deallocate()
        publications.deallocate()
        subscriptions.deallocate()
        programs.deallocate()
        topics.deallocate()
        classes.deallocate()
        lanes.deallocate()
        directory.deallocate()
        index.deallocate()
        sightings.deallocate()
        runs.deallocate()
        cells.deallocate()
        hits.deallocate()
        keys.deallocate()
        openClasses.deallocate()
        doubts.deallocate()
        ordering.deallocate()
        probePrefetch.deallocate()
        spans.deallocate()
    }

    var bytes: Int {
        devices.bytes + heard.bytes + partners.bytes + visitOptions.bytes + publications.bytes + subscriptions.bytes
            + properties.bytes + programs.bytes + topics.bytes
            + classes.bytes + lanes.bytes
            + directory.ownBytes + index.bytes + deadlines.count * MemoryLayout<Deadline>.stride + runs.bytes + cells.bytes
            + hits.bytes + keys.bytes
            + openClasses.bytes
            + meetings.capacity * MemoryLayout<Encounter>.stride + doubts.bytes + newcomers.bytes + ordering.bytes
            + probePrefetch.bytes + sightings.bytes
    }

    /// What publications and subscriptions have in common is at the beginning of both.
    @inline(__always)
    func entry(_ side: Side, _ index: UInt32) -> UnsafeMutablePointer<Entry> {
        side == .publication
            ? UnsafeMutableRawPointer(publications.base + Int(index)).assumingMemoryBound(to: Entry.self)
            : UnsafeMutableRawPointer(subscriptions.base + Int(index)).assumingMemoryBound(to: Entry.self)
    }

    @inline(__always)
    func version(_ side: Side) -> UInt64 { side == .publication ? versions.publications : versions.subscriptions }

    mutating func bumpVersion(_ side: Side) {
        if side == .publication { versions.publications &+= 1 } else { versions.subscriptions &+= 1 }
    }
}

enum Side: UInt32 {
    case publication = 0
    case subscription = 1

    @inline(__always)
    var opposite: Side { self == .publication ? .subscription : .publication }
}

/// The end of a list, or no such thing.
let none = UInt32.max

/// A device: one cache line.
struct Device: BitwiseCopyable {
    var point: GridPoint
    var firstPublication: UInt32
    var latitude: Double
    var longitude: Double
    /// NaN: not known.
    var altitude: Double
    var horizontalAccuracy: Double
    var firstSubscription: UInt32
    /// Metres of path that surely fire no pair by its distance; infinite without pairs in range.
    var budget: Float
    var isAlive: Bool
    var isPlaced: Bool
    /// It was placed, not moved: nobody has looked at what is in its range there.
    var isUnexamined = false
    /// Meaningless while it is not placed.
    var floor: UInt32

    static let fresh = Device(
        point: GridPoint(x: 0, y: 0, z: 0), firstPublication: none, latitude: 0, longitude: 0, altitude: .nan,
        horizontalAccuracy: .nan, firstSubscription: none, budget: .infinity, isAlive: true, isPlaced: false, floor: 0)

    var position: Position {
        Position(
            latitude: latitude, longitude: longitude, altitude: altitude.isNaN ? nil : altitude,
            horizontalAccuracy: horizontalAccuracy.isNaN ? nil : horizontalAccuracy)
    }

    @inline(__always)
    func first(_ side: Side) -> UInt32 { side == .publication ? firstPublication : firstSubscription }
}
