/// From what is true of a place to the circumstances that may be true near it.
struct PreconditionIndex {
    /// Circumstances of one owner that reach equally far.
    struct Group {
        var owner: UInt32
        /// Nil for `at`.
        var radius: Double?
        var scale: Int
        var actives: [UInt32]
    }

    /// Most predicates are those of a single circumstance, which so is found at once.
    struct Entry {
        /// ``none``; ``several``: they are among the groups.
        fileprivate(set) var active = PreconditionIndex.none
        fileprivate(set) var owner: UInt32 = 0
        fileprivate(set) var radius: Double?
        fileprivate(set) var scale = 0
    }

    /// By predicate.
    private(set) var entries: [Entry] = []
    /// For predicates of several circumstances their groups, in order of their owners.
    private(set) var groups: [UInt32: [Group]] = [:]

    static let none = UInt32.max
    static let several = UInt32.max - 1

    mutating func insert(_ active: UInt32, of owner: UInt32, _ preconditions: [Precondition]) {
        for entry in preconditions { for predicate in entry.predicates { insert(active, of: owner, entry, predicate) } }
    }

    private mutating func insert(_ active: UInt32, of owner: UInt32, _ entry: Precondition, _ predicate: UInt32) {
        let index = Int(predicate)
        while entries.count <= index { entries.append(Entry()) }
        switch entries[index].active {
        case Self.none: entries[index] = Entry(active: active, owner: owner, radius: entry.radius, scale: entry.scale)
        case Self.several: insert(active, of: owner, entry.radius, entry.scale, into: &groups[predicate, default: []])
        default:
            let single = entries[index]
            entries[index].active = Self.several
            groups[predicate] = [Group(owner: single.owner, radius: single.radius, scale: single.scale, actives: [single.active])]
            insert(active, of: owner, entry.radius, entry.scale, into: &groups[predicate, default: []])
        }
    }

    private func insert(_ active: UInt32, of owner: UInt32, _ radius: Double?, _ scale: Int, into groups: inout [Group]) {
        if let position = Self.position(of: owner, radius, scale, in: groups) {
            groups[position].actives.append(active)
        } else {
            let position = groups.withUnsafeBufferPointer { Self.firstPosition(of: owner, in: $0) }
            groups.insert(Group(owner: owner, radius: radius, scale: scale, actives: [active]), at: position)
        }
    }

    mutating func remove(_ active: UInt32, of owner: UInt32, _ preconditions: [Precondition]) {
        for entry in preconditions { for predicate in entry.predicates { remove(active, of: owner, entry, predicate) } }
    }

    private mutating func remove(_ active: UInt32, of owner: UInt32, _ entry: Precondition, _ predicate: UInt32) {
        guard Int(predicate) < entries.count else { return }
        guard entries[Int(predicate)].active == Self.several else {
            if entries[Int(predicate)].active == active { entries[Int(predicate)].active = Self.none }
            return
        }
        var all = groups.removeValue(forKey: predicate) ?? []
        if let position = Self.position(of: owner, entry.radius, entry.scale, in: all) {
            all[position].actives.removeAll { $0 == active }
            if all[position].actives.isEmpty { all.remove(at: position) }
        }
        if all.isEmpty { entries[Int(predicate)].active = Self.none } else { groups[predicate] = all }
    }

    private static func position(of owner: UInt32, _ radius: Double?, _ scale: Int, in groups: [Group]) -> Int? {
        var position = groups.withUnsafeBufferPointer { firstPosition(of: owner, in: $0) }
        while position < groups.count, groups[position].owner == owner {
            if groups[position].radius == radius, groups[position].scale == scale { return position }
            position += 1
        }
        return nil
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
