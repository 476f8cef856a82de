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
    /// The instant of the timer; `Int64.max`: none.
    var armed: Int64
}

/// Pairs, found by their two sides.
struct PairIndex {
    private(set) var pairs = Slab<Pair>()
    /// By pair number, where the subscription is of mode visit.
    private(set) var phases = Column<Phase>()
    private var numbers = OpenTable<NumberSlot>()

    func deallocate() {
        pairs.deallocate()
        phases.deallocate()
        numbers.deallocate()
    }

    var bytes: Int { pairs.bytes + phases.bytes + numbers.bytes }

    @inline(__always)
    func find(_ subscription: UInt32, _ publication: UInt32) -> UInt32? {
        guard pairs.count > 0 else { return nil }
        return numbers.find(PairHash.of(subscription, publication)) {
            pairs[$0].subscription == subscription && pairs[$0].publication == publication
        }?.pointee.number
    }

    /// Asks for the memory that a search for a pair looks at first.
    @inline(__always)
    func prefetch(_ subscription: UInt32, _ publication: UInt32) { numbers.prefetch(PairHash.of(subscription, publication)) }

    /// A number for a pair that is not there yet; the caller writes its record.
    mutating func add(_ subscription: UInt32, _ publication: UInt32) -> UInt32 {
        let pair = pairs.take()
        phases.reach(pair)
        phases[pair] = .silent
        numbers.insert(NumberSlot(pair, hash: PairHash.of(subscription, publication)))
        return pair
    }

    func enter(_ phase: Phase, _ pair: UInt32, at now: Int64) {
        phases[pair] = phase
        pairs[pair].changedAt = now
    }

    mutating func remove(_ pair: UInt32) {
        let hash = PairHash.of(pairs[pair].subscription, pairs[pair].publication)
        if let slot = numbers.find(hash, where: { $0 == pair }) { numbers.remove(slot) }
        pairs.release(pair)
        if pairs.count == 0 { phases.reset() }
    }
}
