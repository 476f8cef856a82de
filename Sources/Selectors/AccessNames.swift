/// The names that access paths in use ask about, with the levels of their ranges: what a publication looks up of its own.
///
/// An open-addressing table, small and read far more often than written. It holds a hash for each name, not the name.
public struct AccessNames {
    struct Entry: BitwiseCopyable {
        /// 0: empty.
        var name: UInt64
        /// A bit for each level in use.
        var levels: UInt64
        /// Paths that ask about it; one without is dropped when the table is next made anew.
        var users: UInt32
    }

    private var entries: UnsafeMutablePointer<Entry>
    private var capacity = 16
    private var used = 0
    /// Users of each level of a name in use.
    private var levelUsers: [UInt64: [UInt32]] = [:]
    private var live = 0

    public init() { entries = AccessNames.empty(16) }

    public func deallocate() { entries.deallocate() }

    public var bytes: Int { capacity * MemoryLayout<Entry>.stride + levelUsers.count * 300 }

    /// Whether no path is in use.
    @inline(__always)
    public var isEmpty: Bool { live == 0 }

    public mutating func add(_ path: AccessPath) {
        for shape in path.shapes {
            let place = place(of: shape.name)
            if entries[place].users == 0 { live += 1 }
            entries[place].users += 1
            guard let level = shape.level else { continue }
            levelUsers[shape.name, default: .init(repeating: 0, count: AccessKey.levels)][level] += 1
            entries[place].levels |= 1 << UInt64(level)
        }
    }

    /// The path must have been added.
    public mutating func remove(_ path: AccessPath) {
        for shape in path.shapes {
            let place = place(of: shape.name)
            entries[place].users -= 1
            if entries[place].users == 0 { live -= 1 }
            guard let level = shape.level, var users = levelUsers[shape.name] else { continue }
            users[level] -= 1
            if users[level] == 0 { entries[place].levels &= ~(1 << UInt64(level)) }
            levelUsers[shape.name] = entries[place].levels == 0 ? nil : users
        }
        guard live == 0 else { return }
        entries.deallocate()
        capacity = 16
        used = 0
        entries = AccessNames.empty(capacity)
        levelUsers = [:]
    }

    /// nil: nobody asks about the name.
    @inline(__always)
    func find(_ name: UInt64) -> Entry? {
        var index = Int(truncatingIfNeeded: name) & (capacity - 1)
        while true {
            let entry = entries[index]
            if entry.name == name { return entry.users > 0 ? entry : nil }
            if entry.name == 0 { return nil }
            index = (index + 1) & (capacity - 1)
        }
    }

    /// The index of a name, entered if need be.
    private mutating func place(of name: UInt64) -> Int {
        if (used + 1) * 2 > capacity { rehash() }
        var index = Int(truncatingIfNeeded: name) & (capacity - 1)
        while entries[index].name != name && entries[index].name != 0 { index = (index + 1) & (capacity - 1) }
        if entries[index].name == 0 {
            entries[index] = Entry(name: name, levels: 0, users: 0)
            used += 1
        }
        return index
    }

    private mutating func rehash() {
        let old = entries
        let oldCapacity = capacity
        while capacity < (live + 8) * 4 { capacity *= 2 }
        entries = AccessNames.empty(capacity)
        used = 0
        for index in 0..<oldCapacity where old[index].name != 0 && old[index].users > 0 {
            var place = Int(truncatingIfNeeded: old[index].name) & (capacity - 1)
            while entries[place].name != 0 { place = (place + 1) & (capacity - 1) }
            entries[place] = old[index]
            used += 1
        }
        old.deallocate()
    }

    private static func empty(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
        let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
        entries.initialize(repeating: Entry(name: 0, levels: 0, users: 0), count: capacity)
        return entries
    }
}
