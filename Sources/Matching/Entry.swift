/// What publications and subscriptions have in common.
struct Entry: BitwiseCopyable {
    var device: UInt32
    /// The device's list of its side.
    var next: UInt32
    var previous: UInt32
    var topic: UInt32
    /// Grid units.
    var range: Int32
    /// Where its coordinates lie; `none`: its device has no position.
    var lane: UInt32
    /// `none`: its topic's side is small and has no grid.
    var tile: UInt32
    var cell: UInt8
    /// The level in the low half, the fineness of its cells in the high one.
    var grain: UInt8
    var flags: EntryFlags
    /// Evaluations of the selector that may still ask for hints, in the low bits; `excludeSelf` in the highest.
    var traits: UInt8
    var expiresAt: Int64
    var firstPair: UInt32
    /// Its lane's group of its topic's side; meaningless without a lane.
    var group: UInt32

    static let hints: UInt8 = 8

    @inline(__always)
    var level: Int { Int(grain & 15) }

    @inline(__always)
    var fineness: Int { Int(grain >> 4) }

    @inline(__always)
    var isAlive: Bool {
        get { flags.contains(.alive) }
        set { if newValue { flags.insert(.alive) } else { flags.remove(.alive) } }
    }

    @inline(__always)
    var isAccuracyAware: Bool { !flags.isDisjoint(with: .accuracyAware) }
}

/// A publication: one cache line.
struct Publication: EntryRecord {
    var entry: Entry
    /// A bit for each value its properties carry.
    var signature: UInt32 = 0
    /// The first of its pairs of mode once, which come after those of visits, and how many there are.
    var firstOncePair = none
    var oncePairs = 0
}

/// A subscription: one cache line.
struct Subscription: EntryRecord {
    var entry: Entry
    /// Milliseconds; `Int64.max`: never again. Of mode once.
    var matchTTL: Int64 = 0
    /// Metres. Of mode once.
    var matchDTL: Float = 0
    var program: UInt32

    @inline(__always)
    var isVisit: Bool { entry.flags.contains(.visit) }

    @inline(__always)
    var isAccuracyAware: Bool { entry.isAccuracyAware }

    @inline(__always)
    var excludesSelf: Bool { entry.traits & 0x80 != 0 }

    @inline(__always)
    var hintsLeft: UInt8 { entry.traits & 0x7F }
}

/// What a subscription of mode visit asks for.
struct VisitOptions: BitwiseCopyable {
    /// Milliseconds in range before a visit begins.
    var dwell: Int64
    /// Milliseconds after which a side that was not heard of ends it.
    var staleAfter: Int64
    /// Metres beyond reach at which a visit ends.
    var exitMargin: Double
}

/// A record that begins with an ``Entry``.
protocol EntryRecord: BitwiseCopyable {
    var entry: Entry { get set }
}

extension EntryRecord {
    @inline(__always) var device: UInt32 { entry.device }
    @inline(__always) var topic: UInt32 { entry.topic }
    @inline(__always) var range: Int32 { entry.range }
    @inline(__always) var flags: EntryFlags { entry.flags }
    @inline(__always) var expiresAt: Int64 { entry.expiresAt }
    @inline(__always) var isAlive: Bool { entry.isAlive }
    @inline(__always)
    var firstPair: UInt32 {
        get { entry.firstPair }
        set { entry.firstPair = newValue }
    }
}
