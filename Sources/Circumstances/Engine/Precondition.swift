/// What a device must be near for a condition to be true at all.
///
/// Where every way to be true leads through some `at` or `near` of certain places, devices that are within reach of none of these
/// need not be looked at: for them the condition is false.
struct Precondition: Equatable {
    /// The radius of `near`, metres; nil for `at`. Either reaches as far as `at` does, which depends on the accuracy of a fix.
    var nearRadius: Double?
    /// At which its places are found.
    var scale: Int
    /// One of these is true of the place. ``PredicateTable/any`` means every place.
    var predicates: [UInt32]

    /// The places that are not named.
    func queries(in table: PredicateTable) -> [PlaceQuery] {
        predicates.filter { !table.isName($0) }.map { PlaceQuery(scale: scale, predicate: $0) }
    }
}

extension Program {
    /// Preconditions of which one must be met; nil where the condition can be true far from all places.
    func preconditions(nearRadius: Double, exitMargin: Double, in table: PredicateTable) -> [Precondition]? {
        preconditions(0, nearRadius, exitMargin, table)
    }

    private func preconditions(_ index: Int, _ nearRadius: Double, _ exitMargin: Double, _ table: PredicateTable)
        -> [Precondition]?
    {
        let node = nodes[index]
        switch node.operation {
        case .at, .near:
            let nearRadius = node.operation == .at ? nil : nearRadius
            let scale = Scale.of(reach: PlaceReach.reach(nearRadius: nearRadius, at: PlaceReach.atMax) + exitMargin)
            return [Precondition(nearRadius: nearRadius, scale: scale, predicates: cover(index, table))]
        case .and:
            return parts(of: index).compactMap { preconditions($0, nearRadius, exitMargin, table) }
                .min { Self.cost($0.flatMap(\.predicates), table) < Self.cost($1.flatMap(\.predicates), table) }
        case .or:
            var all: [Precondition] = []
            for part in parts(of: index) {
                guard let preconditions = preconditions(part, nearRadius, exitMargin, table) else { return nil }
                all += preconditions
            }
            return all
        default: return nil
        }
    }

    /// Predicates of which one is true of each place the rules inside of the node are true of: the rarest choice.
    func cover(_ index: Int, _ table: PredicateTable) -> [UInt32] { conjunction(parts(of: index), table) }

    private func conjunction(_ rules: [Int], _ table: PredicateTable) -> [UInt32] {
        rules.map { ruleCover($0, table) }.min { Self.cost($0, table) < Self.cost($1, table) } ?? [PredicateTable.any]
    }

    private func ruleCover(_ index: Int, _ table: PredicateTable) -> [UInt32] {
        let node = nodes[index]
        switch node.operation {
        case .and: return conjunction(parts(of: index), table)
        case .or:
            let all = parts(of: index).flatMap { ruleCover($0, table) }
            return all.contains(PredicateTable.any) ? [PredicateTable.any] : Array(Set(all)).sorted()
        case .identity: return Array(Set(predicates[Int(node.operand)..<Int(node.operand + node.count)])).sorted()
        default: return [PredicateTable.any]
        }
    }

    func parts(of index: Int) -> [Int] {
        var parts: [Int] = []
        var part = index + 1
        while part < nodes[index].end {
            parts.append(part)
            part = Int(nodes[part].end)
        }
        return parts
    }

    /// What its value rests on.
    var basis: Basis {
        guard nodes[0].operation == .at || nodes[0].operation == .near, !uses(.threshold) else { return .everything }
        let rules = parts(of: 0)
        let isPlain = rules.count == 1 && (nodes[rules[0]].operation == .identity || nodes[rules[0]].operation == .always)
        return isPlain ? .reach : .rules
    }

    /// How many places are expected, roughly: one with an id, tens of a chain, thousands of a category.
    private static func cost(_ predicates: [UInt32], _ table: PredicateTable) -> Int {
        predicates.reduce(0) { sum, number in
            switch table[number]?.key {
            case .place: sum + 1
            case .chain: sum + 1000
            case .exactCategory: sum + 50_000
            case .category: sum + 100_000
            case nil: sum + 1_000_000_000
            }
        }
    }
}
