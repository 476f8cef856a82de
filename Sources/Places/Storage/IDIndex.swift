import CPrefetch

/// Finds a number by the bytes of an id: open addressing over 8-byte slots that carry half of the hash, so that nearly every
/// wrong slot is told without a look at its id, and growing needs no id at all.
struct IDIndex: ~Copyable {
    /// The hash above, the number below.
    private var slots = Pool<UInt64>()
    private var capacity = 0
    private(set) var count = 0

    private static let vacant = UInt64.max

    var bytes: Int { capacity * 8 }

    static func hash(_ id: UnsafeRawBufferPointer) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(bytes: id)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    @inline(__always)
    private func home(_ hash: UInt32) -> Int { Int(truncatingIfNeeded: (UInt64(hash) &* UInt64(capacity)) >> 32) }

    /// Asks for the memory a search will look at.
    @inline(__always)
    func prefetch(_ hash: UInt32) {
        if capacity > 0 { geomatch_prefetch(slots.base + home(hash)) }
    }

    /// - Parameter matches: Whether the id of a number is the wanted one.
    func find(_ hash: UInt32, _ matches: (UInt32) -> Bool) -> UInt32? {
        guard let slot = slot(hash, matches) else { return nil }
        return UInt32(truncatingIfNeeded: slots[slot])
    }

    private func slot(_ hash: UInt32, _ matches: (UInt32) -> Bool) -> Int? {
        guard capacity > 0 else { return nil }
        var slot = home(hash)
        while slots[slot] != Self.vacant {
            let entry = slots[slot]
            if UInt32(entry >> 32) == hash, matches(UInt32(truncatingIfNeeded: entry)) { return slot }
            slot = slot + 1 == capacity ? 0 : slot + 1
        }
        return nil
    }

    /// Enters a number whose id is not in it; the number is never `UInt32.max`.
    mutating func insert(_ number: UInt32, hash: UInt32) {
        // Fuller, a search for a new id would pass a dozen slots.
        if (count + 1) * 10 > capacity * 7 { grow() }
        put(UInt64(hash) << 32 | UInt64(number))
        count += 1
    }

    private mutating func put(_ entry: UInt64) {
        var slot = home(UInt32(entry >> 32))
        while slots[slot] != Self.vacant { slot = slot + 1 == capacity ? 0 : slot + 1 }
        slots[slot] = entry
    }

    private mutating func grow() {
        var old = Pool<UInt64>()
        swap(&old, &slots)
        let former = capacity
        capacity = capacity < 1 << 16 ? max(8, capacity * 2) : capacity + capacity / 2
        _ = slots.extend(by: capacity)
        for slot in 0..<capacity { slots[slot] = Self.vacant }
        for slot in 0..<former where old[slot] != Self.vacant { put(old[slot]) }
    }

    mutating func remove(_ hash: UInt32, _ matches: (UInt32) -> Bool) {
        guard var hole = slot(hash, matches) else { return }
        count -= 1
        // What follows moves up, so that no search ends too early.
        var next = hole
        while true {
            next = next + 1 == capacity ? 0 : next + 1
            let entry = slots[next]
            guard entry != Self.vacant else { break }
            let home = home(UInt32(entry >> 32))
            let isBetween = hole <= next ? hole < home && home <= next : hole < home || home <= next
            if isBetween { continue }
            slots[hole] = entry
            hole = next
        }
        slots[hole] = Self.vacant
    }
}
