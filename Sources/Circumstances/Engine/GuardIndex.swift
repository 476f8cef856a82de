/// From what is true of a place to the circumstances that may be true near it.
struct GuardIndex {
    /// Circumstances of one owner that reach equally far.
    struct Group {
        var owner: UInt32
        /// Nil for `at`.
        var radius: Double?
        var scale: Int
        var watches: [UInt32]
    }

    /// For each predicate its groups, in order of their owners.
    private(set) var groups: [[Group]] = [[]]

    mutating func insert(_ watch: UInt32, of owner: UInt32, _ guards: [Guard]) {
        for entry in guards {
            for predicate in entry.predicates {
                while groups.count <= Int(predicate) { groups.append([]) }
                if let position = position(of: owner, entry, in: predicate) {
                    groups[Int(predicate)][position].watches.append(watch)
                } else {
                    let position = groups[Int(predicate)].withUnsafeBufferPointer { Self.firstPosition(of: owner, in: $0) }
                    groups[Int(predicate)].insert(
                        Group(owner: owner, radius: entry.radius, scale: entry.scale, watches: [watch]), at: position)
                }
            }
        }
    }

    mutating func remove(_ watch: UInt32, of owner: UInt32, _ guards: [Guard]) {
        for entry in guards {
            for predicate in entry.predicates where Int(predicate) < groups.count {
                guard let position = position(of: owner, entry, in: predicate) else { continue }
                groups[Int(predicate)][position].watches.removeAll { $0 == watch }
                if groups[Int(predicate)][position].watches.isEmpty { groups[Int(predicate)].remove(at: position) }
            }
        }
    }

    private func position(of owner: UInt32, _ entry: Guard, in predicate: UInt32) -> Int? {
        let all = groups[Int(predicate)]
        var position = all.withUnsafeBufferPointer { Self.firstPosition(of: owner, in: $0) }
        while position < all.count, all[position].owner == owner {
            if all[position].radius == entry.radius, all[position].scale == entry.scale { return position }
            position += 1
        }
        return nil
    }

    /// Where the groups of an owner begin, or would.
    @inline(__always)
    static func firstPosition(of owner: UInt32, in groups: UnsafeBufferPointer<Group>) -> Int {
        var low = 0
        var high = groups.count
        while low < high {
            let middle = (low + high) / 2
            if groups[middle].owner < owner { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
