/// What the circumstances of one owner are about, for passing over at a glance what is not.
struct Interest {
    private var counts: [Int] = []
    /// The scales at which its rules look, a bit for each.
    private(set) var scales: UInt8 = 0
    /// Bits of predicates it ever asked for; several share one.
    private var filter: [UInt64] = []

    private static let words = 256

    mutating func count(_ sight: Sight, by step: Int) {
        if counts.isEmpty { counts = Array(repeating: 0, count: Scale.count) }
        counts[sight.scale] += step
        if counts[sight.scale] > 0 { scales |= 1 << sight.scale } else { scales &= ~(1 << sight.scale) }
        if filter.isEmpty { filter = Array(repeating: 0, count: Self.words) }
        filter[Int(sight.predicate) / 64 % Self.words] |= 1 << UInt64(sight.predicate % 64)
    }

    /// False where it surely does not ask for the predicate.
    @inline(__always)
    func mayAskFor(_ predicate: UInt32) -> Bool {
        filter[Int(predicate) / 64 % Self.words] & 1 << UInt64(predicate % 64) != 0
    }
}

/// Places a rule is about: those a predicate is true of, as far as a scale reaches.
struct Sight: Hashable {
    var scale: Int
    var predicate: UInt32
}

extension Program {
    /// What every `at` and `near` is about.
    func sights(nearRadius: Double, exitMargin: Double, in table: PredicateTable) -> Set<Sight> {
        var sights: Set<Sight> = []
        for (index, node) in nodes.enumerated() where node.operation == .at || node.operation == .near {
            let reach = node.operation == .at ? PlaceReach.atMax : nearRadius
            for predicate in cover(index, table) {
                sights.insert(Sight(scale: Scale.of(reach: reach + exitMargin), predicate: predicate))
            }
        }
        return sights
    }
}
