/// Standing criteria, found by topic: one hash table probe for each combination of open levels that is in use.
///
/// Tuple space search (Srinivasan, Suri, Varghese, SIGCOMM 1999) over the 64 shapes that criteria of one dataset can have; a
/// filter of bits that fits the cache answers most probes. Exact: the levels themselves are compared after a hit.
///
/// Criteria carry a handle, a small dense number of the caller's, which may be given again after its removal.
public struct CriteriaIndex: Sendable {
    /// Criteria that are the same, and who has them.
    private struct Group {
        var pattern: String
        var hash: UInt64
        var first: UInt32
        /// Further handles; most criteria are one subscriber's.
        var more: [UInt32]
        var shape: UInt8
    }

    private var groups: [Group] = []
    private var freeGroups: [UInt32] = []
    /// Linear probing: the upper half of the hash, and the group and one in the lower half; 0 is free. A power of two, half
    /// full at most.
    private var slots: [UInt64] = Array(repeating: 0, count: 16)
    /// Two bits of one word for each group, sixteen bits a group at least; removed ones stay until it is made anew.
    private var filter: [UInt64] = Array(repeating: 0, count: 4)
    private var staleFilterBits = 0
    /// How many groups each shape has.
    private var shapeCounts: [Int] = Array(repeating: 0, count: 64)
    /// The shapes in use, a bit for each.
    private var activeShapes: UInt64 = 0
    private var shapeChangedAt: [UInt64] = Array(repeating: 0, count: 64)
    /// By handle.
    private var shapes: [UInt8] = []
    /// Rises with each change.
    @usableFromInline var epoch: UInt64 = 1
    /// How many handles it holds.
    public private(set) var count = 0

    public init() {}

    /// Bytes of its tables, the texts of criteria apart.
    public var memoryBytes: Int {
        let lists = groups.reduce(0) { $0 + ($1.more.capacity > 0 ? $1.more.capacity * 4 + 32 : 0) }
        return groups.capacity * MemoryLayout<Group>.stride + freeGroups.capacity * 4 + slots.capacity * 8
            + filter.capacity * 8 + shapes.capacity + lists
    }

    public mutating func insert(_ pattern: CriteriaPattern, _ handle: UInt32) {
        changed(pattern.shape)
        count += 1
        while shapes.count <= Int(handle) { shapes.append(0) }
        shapes[Int(handle)] = pattern.shape
        let hash = Self.hash(pattern)
        if let slot = slot(of: pattern, hash) {
            groups[Self.group(slots[slot])].more.append(handle)
            return
        }
        let group = Group(pattern: pattern.text, hash: hash, first: handle, more: [], shape: pattern.shape)
        let place: Int
        if let free = freeGroups.popLast() {
            place = Int(free)
            groups[place] = group
        } else {
            place = groups.count
            groups.append(group)
        }
        shapeCounts[Int(pattern.shape)] += 1
        activeShapes |= 1 << UInt64(pattern.shape)
        if (groups.count - freeGroups.count) * 2 > slots.count {
            rebuild(slotCount: slots.count * 2)
        } else {
            occupy(place, hash)
        }
    }

    /// Takes one handle out; nothing happens where these criteria do not have it.
    public mutating func remove(_ pattern: CriteriaPattern, _ handle: UInt32) {
        guard let slot = slot(of: pattern, Self.hash(pattern)) else { return }
        let place = Self.group(slots[slot])
        if groups[place].first != handle {
            guard let index = groups[place].more.firstIndex(of: handle) else { return }
            groups[place].more.swapAt(index, groups[place].more.count - 1)
            groups[place].more.removeLast()
        } else if let last = groups[place].more.popLast() {
            groups[place].first = last
        } else {
            free(slot)
            groups[place].pattern = ""
            freeGroups.append(UInt32(place))
            shapeCounts[Int(pattern.shape)] -= 1
            if shapeCounts[Int(pattern.shape)] == 0 { activeShapes &= ~(1 << UInt64(pattern.shape)) }
            staleFilterBits += 1
            if staleFilterBits > slots.count / 2 { rebuild(slotCount: slots.count) }
        }
        count -= 1
        changed(pattern.shape)
    }

    /// Appends the handles of all criteria that want a topic, in no order.
    ///
    /// - Parameter topic: Its canonical form (``LiveTopic/encoded``).
    public func find(_ keys: LevelKeys, topic: String, into found: inout [UInt32]) {
        find(keys, topic: topic, shapes: activeShapes, into: &found)
    }

    private mutating func changed(_ shape: UInt8) {
        epoch += 1
        shapeChangedAt[Int(shape)] = epoch
    }

    // MARK: Looking up

    private func find(_ keys: LevelKeys, topic: String, shapes wanted: UInt64, into found: inout [UInt32]) {
        guard wanted != 0 else { return }
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 80) { scratch in
            // Sums over the subsets of the first three levels and of the last three: those of all 64 shapes are sums of two.
            let terms = Self.terms(keys.keys)
            for subset in 0..<8 {
                var low: UInt64 = 0
                var high: UInt64 = 0
                for bit in 0..<3 where subset & (1 << bit) != 0 {
                    low &+= terms[bit]
                    high &+= terms[bit + 3]
                }
                scratch[subset] = low
                scratch[subset + 8] = high
            }
            // All probes of the filter come before the first look at the table: they do not wait for each other.
            var candidates = 0
            filter.withUnsafeBufferPointer { filter in
                var rest = wanted
                while rest != 0 {
                    let shape = rest.trailingZeroBitCount
                    rest &= rest - 1
                    let hash = Self.mixed(scratch[shape & 7] &+ scratch[8 + (shape >> 3)], UInt64(shape))
                    let bits = Self.filterBits(hash)
                    scratch[16 + candidates] = hash
                    let word = filter[Self.word(hash) & (filter.count - 1)]
                    candidates += word & bits == bits ? 1 : 0
                }
            }
            slots.withUnsafeBufferPointer { slots in
                for candidate in 0..<candidates { look(for: scratch[16 + candidate], in: slots, topic, into: &found) }
            }
        }
    }

    @inline(__always)
    private func look(
        for hash: UInt64, in slots: UnsafeBufferPointer<UInt64>, _ topic: String, into found: inout [UInt32]
    ) {
        let mask = slots.count - 1
        var index = Self.home(hash) & mask
        while slots[index] != 0 {
            if slots[index] >> 32 == hash >> 32 {
                let place = Self.group(slots[index])
                if CriteriaPattern.matches(text: groups[place].pattern, topic: topic) {
                    found.append(groups[place].first)
                    found.append(contentsOf: groups[place].more)
                }
            }
            index = (index + 1) & mask
        }
    }

    // MARK: Hashing

    /// Multilinear: an odd factor for each level.
    private static func terms(_ keys: SIMD8<UInt32>) -> SIMD8<UInt64> {
        let factors = SIMD8<UInt64>(
            0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB, 0xD6E8_FEB8_6659_FD93,
            0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 1, 1)
        return SIMD8<UInt64>(truncatingIfNeeded: keys) &* factors
    }

    private static func mixed(_ sum: UInt64, _ shape: UInt64) -> UInt64 {
        let hash = sum &+ (shape &+ 1) &* 0x8EBC_6AF0_9C88_C6E3
        return (hash ^ (hash >> 32)) &* 0x5899_65CC_7537_4CC3
    }

    private static func hash(_ pattern: CriteriaPattern) -> UInt64 {
        let terms = terms(pattern.keys)
        var sum: UInt64 = 0
        for level in 0..<Criteria.levelCount where pattern.shape & (1 << UInt8(level)) != 0 { sum &+= terms[level] }
        return mixed(sum, UInt64(pattern.shape))
    }

    // The upper bits of the product are the good ones: the fragment in a slot takes 32…63, and the others share what is below.

    private static func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 24) }
    private static func word(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 18) }

    private static func filterBits(_ hash: UInt64) -> UInt64 {
        1 << (hash >> 58) | 1 << (hash >> 52 & 63) | 1 << (hash >> 46 & 63)
    }

    private static func group(_ slot: UInt64) -> Int { Int(slot & 0xFFFF_FFFF) - 1 }

    // MARK: Slots

    private func slot(of pattern: CriteriaPattern, _ hash: UInt64) -> Int? {
        let mask = slots.count - 1
        var index = Self.home(hash) & mask
        while slots[index] != 0 {
            let group = groups[Self.group(slots[index])]
            if group.hash == hash, group.pattern.utf8.elementsEqual(pattern.text.utf8) { return index }
            index = (index + 1) & mask
        }
        return nil
    }

    private mutating func occupy(_ place: Int, _ hash: UInt64) {
        let mask = slots.count - 1
        var index = Self.home(hash) & mask
        while slots[index] != 0 { index = (index + 1) & mask }
        slots[index] = hash & ~0xFFFF_FFFF | UInt64(place + 1)
        filter[Self.word(hash) & (filter.count - 1)] |= Self.filterBits(hash)
    }

    /// Frees a slot and moves up what was pushed on by it.
    private mutating func free(_ slot: Int) {
        let mask = slots.count - 1
        var free = slot
        var index = (slot + 1) & mask
        while slots[index] != 0 {
            let home = Self.home(groups[Self.group(slots[index])].hash) & mask
            if (index - home) & mask >= (index - free) & mask {
                slots[free] = slots[index]
                free = index
            }
            index = (index + 1) & mask
        }
        slots[free] = 0
    }

    private mutating func rebuild(slotCount: Int) {
        slots = Array(repeating: 0, count: slotCount)
        filter = Array(repeating: 0, count: max(4, slotCount / 8))
        staleFilterBits = 0
        for place in groups.indices where !groups[place].pattern.isEmpty { occupy(place, groups[place].hash) }
    }
}

// MARK: - Remembered results

/// What was found for one topic, kept where the topic is kept.
public struct CriteriaMemo: Sendable {
    @usableFromInline var asOf: UInt64 = 0
    @usableFromInline var handles: [UInt32] = []

    /// More handles than this are looked up again each time: notifying them all costs more.
    static let handlesMax = 256

    public init() {}
}

extension CriteriaIndex {
    /// Appends the handles of all criteria that want a topic, in rising order; a topic seen before costs a copy.
    ///
    /// After a change only the shapes that changed are looked up again.
    @inlinable
    public func find(
        _ keys: @autoclosure () -> LevelKeys, topic: @autoclosure () -> String, remembering memo: inout CriteriaMemo,
        into found: inout [UInt32]
    ) {
        if memo.asOf == epoch {
            found.append(contentsOf: memo.handles)
        } else {
            refresh(&memo, keys(), topic: topic(), into: &found)
        }
    }

    @usableFromInline
    func refresh(_ memo: inout CriteriaMemo, _ keys: LevelKeys, topic: String, into found: inout [UInt32]) {
        var changed: UInt64 = 0
        for shape in 0..<64 where shapeChangedAt[shape] > memo.asOf { changed |= 1 << UInt64(shape) }
        var handles: [UInt32] = []
        if memo.asOf > 0 {
            handles = memo.handles.filter { changed & (1 << UInt64(shapes[Int($0)])) == 0 }
        } else {
            changed = .max
        }
        find(keys, topic: topic, shapes: activeShapes & changed, into: &handles)
        handles.sort()
        found.append(contentsOf: handles)
        let isKept = handles.count <= CriteriaMemo.handlesMax
        memo.handles = isKept ? handles : []
        memo.asOf = isKept ? epoch : 0
    }
}
