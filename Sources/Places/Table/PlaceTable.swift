import Geodesy

/// The places of one dataset: by id, by position, by category and chain.
///
/// Places are put in and taken out one at a time, at any time; ten million of them cost about a hundred bytes each beyond their
/// texts. A place is known by its handle, a small number that stays its own until it is removed and is given to another one
/// afterwards. Categories, chains, owners and schedules are numbers too, shared by all places that have the same.
///
/// Owned by one task; nothing here is safe to share.
public final class PlaceTable {
    /// A place in the table; of one that was removed it may be another's later.
    public typealias Handle = UInt32

    /// The most places of one table, unless another number is given.
    public static let placesMax = 50_000_000

    /// The categories, of which places may name some that are not declared.
    public internal(set) var categories = CategoryTree()
    /// Rises with every change of a place or a category.
    public internal(set) var generation: UInt64 = 0

    let limit: Int
    var records = Pool<PlaceRecord>()
    var freeHandles: [Handle] = []
    /// Texts.
    var arena = WordArena()
    /// Outlines, each beginning at a cache line.
    var outlines = WordArena(granuleBits: 3)
    var index = IDIndex()
    var order = IDOrder()
    var cells = PlaceCells()
    /// Outlines that are larger than any cell.
    var vast: [Handle] = []
    var rivals = RivalMemory()
    var chains = InternPool<ExactText>()
    var owners = InternPool<ExactText>()
    var schedules = InternPool<Schedule>()

    /// - Parameter limit: How many places it may hold; at most 2^27.
    public init(limit: Int = PlaceTable.placesMax) { self.limit = min(max(0, limit), 1 << PlaceCells.Entry.numberBits) }

    /// How many places there are.
    public var count: Int { index.count }

    /// One more than the largest handle there may be.
    public var handlesEnd: Handle { Handle(truncatingIfNeeded: records.count) }

    /// Bytes of memory in use: all of it, and of that the part for texts and outlines, rounded up to words.
    public var memory: (total: Int, textsAndOutlines: Int) {
        let texts = (arena.wordsInUse + outlines.wordsInUse) * 8
        let rest =
            records.bytes + freeHandles.count * 4 + index.bytes + order.bytes + cells.bytes + vast.count * 4 + rivals.bytes
            + (arena.bytes + outlines.bytes - texts)
        return (texts + rest, texts)
    }
}

/// What of a place has a fixed size.
struct PlaceRecord: BitwiseCopyable {
    /// Degrees: the point, or one inside the polygons.
    var latitude, longitude: Double
    /// Not a number: none.
    var placerank: Double
    /// In the arena. `absent`: the handle is free.
    var text: UInt32
    /// Among the outlines. `absent`: a point.
    var footprint: UInt32
    var categories: UInt32
    var chain: UInt32
    var owner: UInt32
    var schedule: UInt32

    static let absent = UInt32.max
}
