/// What the circumstances of one owner are about, for passing over at a glance what is not.
struct Interest {
    private var counts: [Int] = []
    /// The scales at which its rules look, a bit for each.
    private(set) var scales: UInt8 = 0
    /// Bits of predicates it ever asked for; several share one.
    private var filter: [UInt64] = []

    private static let words = 256

    mutating func count(_ query: PlaceQuery, by step: Int) {
        if counts.isEmpty { counts = Array(repeating: 0, count: Scale.count) }
        counts[query.scale] += step
        if counts[query.scale] > 0 { scales |= 1 << query.scale } else { scales &= ~(1 << query.scale) }
        if filter.isEmpty { filter = Array(repeating: 0, count: Self.words) }
        filter[Int(query.predicate) / 64 % Self.words] |= 1 << UInt64(query.predicate % 64)
    }

    /// False where it surely does not ask for the predicate.
    @inline(__always)
    func mayAskFor(_ predicate: UInt32) -> Bool {
        filter[Int(predicate) / 64 % Self.words] & 1 << UInt64(predicate % 64) != 0
    }
}

/// Places a rule is about: those a predicate is true of, as far as a scale reaches.
struct PlaceQuery: Hashable {
    var scale: Int
    var predicate: UInt32
}

extension Program {
    /// What every `at` and `near` is about.
    func queries(nearRadius: Double, exitMargin: Double, in table: PredicateTable) -> Set<PlaceQuery> {
        var queries: Set<PlaceQuery> = []
        for (index, node) in nodes.enumerated() where node.operation == .at || node.operation == .near {
            let reach = node.operation == .at ? PlaceReach.atMax : nearRadius
            for predicate in cover(index, table) {
                queries.insert(PlaceQuery(scale: Scale.of(reach: reach + exitMargin), predicate: predicate))
            }
        }
        return queries
    }
}
