import CPrefetch
import EngineMemory
import Geodesy

/// What is remembered of a publication and a subscription that met: one cache line.
struct Pair: BitwiseCopyable {
    var subscription: UInt32
    var publication: UInt32
    /// When it matched last; of mode visit, when it entered its phase. Milliseconds since 1970 UTC.
    var changedAt: Int64
    /// Where the sides were at the last match. Of mode once.
    var publicationPoint: GridPoint
    var subscriptionPoint: GridPoint
    var nextOfPublication: UInt32
    var previousOfPublication: UInt32
    var nextOfSubscription: UInt32
    var previousOfSubscription: UInt32
    /// The instant a timer stands for; `Int64.max`: none.
    var armed: Int64
}

/// Pairs, found by their two sides. Open addressing; a slot holds 32 bits of the hash and the pair's number.
struct PairIndex {
    private(set) var pairs = Slab<Pair>()
    /// By pair number, where the subscription is of mode visit.
    private(set) var phases = Column<Phase>()
    private var slots: UnsafeMutablePointer<UInt64>
    private var bits = 4

    private static let empty = UInt64.max

    init() { slots = PairIndex.emptySlots(16) }

    func deallocate() {
        pairs.deallocate()
        phases.deallocate()
        BigMemory.release(slots)
    }

    var bytes: Int { pairs.bytes + phases.bytes + (8 << bits) }

    @inline(__always)
    func find(_ subscription: UInt32, _ publication: UInt32) -> UInt32? {
        guard pairs.count > 0 else { return nil }
        let tag = tag(subscription, publication)
        var index = home(tag)
        while true {
            let slot = slots[index]
            if slot == PairIndex.empty { return nil }
            if UInt32(truncatingIfNeeded: slot >> 32) == tag {
                let pair = UInt32(truncatingIfNeeded: slot)
                let record = pairs[pair]
                if record.subscription == subscription && record.publication == publication { return pair }
            }
            index = (index + 1) & (1 << bits - 1)
        }
    }

    /// Asks for where a pair is looked for first.
    @inline(__always)
    func prefetch(_ subscription: UInt32, _ publication: UInt32) {
        geomatch_prefetch(slots + home(tag(subscription, publication)))
    }

    /// A number for a pair that is not there yet; the caller writes its record.
    mutating func add(_ subscription: UInt32, _ publication: UInt32) -> UInt32 {
        if (pairs.count + 1) * 4 > 3 << bits { rehash(bits + 1) }
        let pair = pairs.take()
        phases.reach(pair)
        phases[pair] = .silent
        insert(UInt64(tag(subscription, publication)) << 32 | UInt64(pair))
        return pair
    }

    func enter(_ phase: Phase, _ pair: UInt32, at now: Int64) {
        phases[pair] = phase
        pairs[pair].changedAt = now
    }

    mutating func remove(_ pair: UInt32) {
        let record = pairs[pair]
        let mask = 1 << bits - 1
        let wanted = UInt64(tag(record.subscription, record.publication)) << 32 | UInt64(pair)
        var hole = home(UInt32(truncatingIfNeeded: wanted >> 32))
        while slots[hole] != wanted { hole = (hole + 1) & mask }
        var next = (hole + 1) & mask
        while slots[next] != PairIndex.empty {
            let home = home(UInt32(truncatingIfNeeded: slots[next] >> 32))
            if (next &- home) & mask >= (next &- hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole] = PairIndex.empty
        pairs.release(pair)
        if pairs.count == 0 { phases.reset() }
        if bits > 6 && pairs.count * 8 < 1 << bits { rehash(bits - 1) }
    }

    private mutating func rehash(_ next: Int) {
        let old = slots
        let count = 1 << bits
        slots = PairIndex.emptySlots(1 << next)
        bits = next
        for index in 0..<count where old[index] != PairIndex.empty { insert(old[index]) }
        BigMemory.release(old)
    }

    private func insert(_ slot: UInt64) {
        var index = home(UInt32(truncatingIfNeeded: slot >> 32))
        while slots[index] != PairIndex.empty { index = (index + 1) & (1 << bits - 1) }
        slots[index] = slot
    }

    @inline(__always)
    private func home(_ tag: UInt32) -> Int { Int(tag >> UInt32(truncatingIfNeeded: 32 - bits)) }

    @inline(__always)
    private func tag(_ subscription: UInt32, _ publication: UInt32) -> UInt32 {
        var mixed = (UInt64(subscription) << 32 | UInt64(publication)) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 29)) &* 0xBF58_476D_1CE4_E5B9
        return UInt32(truncatingIfNeeded: mixed >> 32)
    }

    private static func emptySlots(_ capacity: Int) -> UnsafeMutablePointer<UInt64> {
        let slots = BigMemory.allocate(bytes: capacity * 8).bindMemory(to: UInt64.self, capacity: capacity)
        slots.initialize(repeating: empty, count: capacity)
        return slots
    }
}
