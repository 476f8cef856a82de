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
    /// What every `at` and `near` is about, but for places that it names.
    func queries(nearRadius: Double, exitMargin: Double, in table: PredicateTable) -> Set<PlaceQuery> {
        var queries: Set<PlaceQuery> = []
        forEachPlaceQuery(nearRadius, exitMargin, table) { predicate, reach in
            if !table.isName(predicate) { queries.insert(PlaceQuery(scale: Scale.of(reach: reach), predicate: predicate)) }
        }
        return queries
    }

    /// The places that an `at` or `near` names.
    func namings(nearRadius: Double, exitMargin: Double, _ preconditions: Set<UInt32>, in table: PredicateTable) -> [Naming] {
        var reaches: [UInt32: Double] = [:]
        forEachPlaceQuery(nearRadius, exitMargin, table) { predicate, reach in
            if table.isName(predicate) { reaches[predicate] = max(reach, reaches[predicate] ?? 0) }
        }
        return reaches.sorted { $0.key < $1.key }.map {
            Naming(predicate: $0.key, reach: $0.value, isPrecondition: preconditions.contains($0.key))
        }
    }

    /// Calls `body` with a predicate of each place that an `at` or `near` can be true of, and its reach in metres.
    private func forEachPlaceQuery(
        _ nearRadius: Double, _ exitMargin: Double, _ table: PredicateTable, _ body: (UInt32, Double) -> Void
    ) {
        for (index, node) in nodes.enumerated() where node.operation == .at || node.operation == .near {
            let reach = PlaceReach.reach(nearRadius: node.operation == .at ? nil : nearRadius, at: PlaceReach.atMax)
            for predicate in cover(index, table) { body(predicate, reach + exitMargin) }
        }
    }
}
