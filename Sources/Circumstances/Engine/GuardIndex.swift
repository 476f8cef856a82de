/// From what is true of a place to the circumstances that may be true near it.
struct GuardIndex {
    /// Circumstances that reach equally far.
    struct Group {
        /// Nil for `at`.
        var radius: Double?
        var watches: [UInt32]
    }

    private(set) var groups: [[Group]] = [[]]

    mutating func insert(_ watch: UInt32, _ guards: [Guard]) {
        for entry in guards {
            for predicate in entry.predicates {
                while groups.count <= Int(predicate) { groups.append([]) }
                if let index = groups[Int(predicate)].firstIndex(where: { $0.radius == entry.radius }) {
                    groups[Int(predicate)][index].watches.append(watch)
                } else {
                    groups[Int(predicate)].append(Group(radius: entry.radius, watches: [watch]))
                }
            }
        }
    }

    mutating func remove(_ watch: UInt32, _ guards: [Guard]) {
        for entry in guards {
            for predicate in entry.predicates where Int(predicate) < groups.count {
                guard let index = groups[Int(predicate)].firstIndex(where: { $0.radius == entry.radius }) else { continue }
                groups[Int(predicate)][index].watches.removeAll { $0 == watch }
                if groups[Int(predicate)][index].watches.isEmpty { groups[Int(predicate)].remove(at: index) }
            }
        }
    }
}
