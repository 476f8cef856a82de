import EngineMemory
import Selectors

/// The subscriptions of one topic that are found by the same access path: apart from the others, so that a publication without
/// its keys never looks at them.
struct LaneClass: BitwiseCopyable {
    var lanes: TopicSide
    var topic: UInt32
    /// The list of its topic's classes.
    var next: UInt32
    var previous: UInt32
}

/// Classes, found by their topic and by each of their keys. Open addressing; several classes may share a key.
struct LaneClasses {
    /// In a group's number: a class, not a topic's side.
    static let mark: UInt32 = 1 << 31
    /// Classes with several keys that one key may lead to: a publication looks at all of them.
    private static let mostOfKey = 16
    private static let mostClasses = 1 << 24

    private struct Slot: BitwiseCopyable {
        var hash: UInt64
        /// `none`: empty.
        var number: UInt32
    }

    private(set) var classes = Slab<LaneClass>()
    private var keys = ContiguousArray<[UInt64]>()
    private var slots: UnsafeMutablePointer<Slot>
    private var capacity = 16
    private var used = 0

    init() { slots = LaneClasses.emptySlots(16) }

    func deallocate() {
        for index in 0..<capacity where slots[index].number != none { classes[slots[index].number].lanes.levels?.deallocate() }
        classes.deallocate()
        BigMemory.release(slots)
    }

    var bytes: Int {
        classes.bytes + capacity * MemoryLayout<Slot>.stride + keys.capacity * 8
    }

    @inline(__always)
    func holder(_ group: UInt32) -> UnsafeMutablePointer<TopicSide> {
        // The first field of the record.
        UnsafeMutableRawPointer(classes.base + Int(group & ~LaneClasses.mark)).assumingMemoryBound(to: TopicSide.self)
    }

    /// Calls `body` with each class of a topic that one of these keys leads to.
    @inline(__always)
    func forEach(_ topic: UInt32, _ key: UInt64, _ body: (UInt32) -> Void) {
        let hash = LaneClasses.hash(topic, key)
        var index = home(hash)
        while true {
            let slot = slots[index]
            if slot.number == none { return }
            if slot.hash == hash && classes[slot.number].topic == topic { body(slot.number) }
            index = (index + 1) & (capacity - 1)
        }
    }

    /// The class of a path; nil: there is none.
    func find(_ topic: UInt32, _ path: AccessPath) -> UInt32? {
        var found: UInt32?
        forEach(topic, path.keys[0]) { number in
            if keys[Int(number)] == path.keys { found = number }
        }
        return found
    }

    /// Makes a class for a path that has none; nil: too many classes share one of its keys.
    mutating func make(_ topic: UInt32, _ path: AccessPath, next: UInt32) -> UInt32? {
        guard classes.count < LaneClasses.mostClasses else { return nil }
        if path.keys.count > 1 {
            for key in path.keys {
                var sharing = 0
                forEach(topic, key) { _ in sharing += 1 }
                if sharing >= LaneClasses.mostOfKey { return nil }
            }
        }
        while (used + path.keys.count) * 2 > capacity { rehash(capacity * 2) }
        let number = classes.take()
        classes[number] = LaneClass(lanes: TopicSide(), topic: topic, next: next, previous: none)
        if next != none { classes[next].previous = number }
        if Int(number) < keys.count { keys[Int(number)] = path.keys } else { keys.append(path.keys) }
        for key in path.keys { insert(Slot(hash: LaneClasses.hash(topic, key), number: number)) }
        used += path.keys.count
        return number
    }

    /// Forgets a class without lanes, which its owner took out of the topic's list.
    mutating func remove(_ number: UInt32) {
        let topic = classes[number].topic
        for key in keys[Int(number)] { removeSlot(LaneClasses.hash(topic, key), number) }
        used -= keys[Int(number)].count
        keys[Int(number)] = []
        classes.release(number)
        if classes.count == 0 { keys = [] }
        if capacity > 64 && used * 16 < capacity { rehash(capacity / 4) }
    }

    private mutating func removeSlot(_ hash: UInt64, _ number: UInt32) {
        let mask = capacity - 1
        var hole = home(hash)
        while slots[hole].hash != hash || slots[hole].number != number { hole = (hole + 1) & mask }
        var next = (hole + 1) & mask
        while slots[next].number != none {
            if (next &- home(slots[next].hash)) & mask >= (next &- hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole].number = none
    }

    private mutating func rehash(_ next: Int) {
        let old = slots
        let oldCapacity = capacity
        slots = LaneClasses.emptySlots(next)
        capacity = next
        for index in 0..<oldCapacity where old[index].number != none { insert(old[index]) }
        BigMemory.release(old)
    }

    private func insert(_ slot: Slot) {
        var index = home(slot.hash)
        while slots[index].number != none { index = (index + 1) & (capacity - 1) }
        slots[index] = slot
    }

    @inline(__always)
    private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 20) & (capacity - 1) }

    @inline(__always)
    private static func hash(_ topic: UInt32, _ key: UInt64) -> UInt64 {
        // Keys are well mixed already; topics are small numbers.
        let mixed = (key ^ UInt64(topic) &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93
        return mixed ^ (mixed >> 32)
    }

    private static func emptySlots(_ capacity: Int) -> UnsafeMutablePointer<Slot> {
        let slots = BigMemory.allocate(bytes: capacity * MemoryLayout<Slot>.stride)
            .bindMemory(to: Slot.self, capacity: capacity)
        slots.initialize(repeating: Slot(hash: 0, number: none), count: capacity)
        return slots
    }
}
