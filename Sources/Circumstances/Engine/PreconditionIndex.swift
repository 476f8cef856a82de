/// From what is true of a place to the circumstances that may be true near it.
struct PreconditionIndex {
    /// Circumstances of one owner whose places are found at one scale.
    struct Group {
        var owner: UInt32
        var scale: Int
        var actives: [UInt32]
    }

    /// By predicate, in order of their owners.
    private(set) var groups: [[Group]] = []

    /// - Parameter preconditions: But for the places it names.
    mutating func insert(_ active: UInt32, of owner: UInt32, _ preconditions: Set<PlaceQuery>) {
        for entry in preconditions {
            while groups.count <= Int(entry.predicate) { groups.append([]) }
            let position = position(of: owner, entry)
            if position.isFound {
                groups[Int(entry.predicate)][position.index].actives.append(active)
            } else {
                groups[Int(entry.predicate)].insert(
                    Group(owner: owner, scale: entry.scale, actives: [active]), at: position.index)
            }
        }
    }

    mutating func remove(_ active: UInt32, of owner: UInt32, _ preconditions: Set<PlaceQuery>) {
        for entry in preconditions {
            let position = position(of: owner, entry)
            guard position.isFound else { continue }
            groups[Int(entry.predicate)][position.index].actives.removeAll { $0 == active }
            if groups[Int(entry.predicate)][position.index].actives.isEmpty {
                groups[Int(entry.predicate)].remove(at: position.index)
            }
        }
    }

    /// Where the group is, or would be.
    private func position(of owner: UInt32, _ entry: PlaceQuery) -> (index: Int, isFound: Bool) {
        groups[Int(entry.predicate)].withUnsafeBufferPointer { groups in
            var position = Self.firstPosition(of: owner, in: groups)
            while position < groups.count, groups[position].owner == owner {
                if groups[position].scale == entry.scale { return (position, true) }
                position += 1
            }
            return (position, false)
        }
    }

    /// Where the groups of an owner begin, or would.
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
