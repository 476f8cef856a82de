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

/// Classes, found by their topic and by each of their keys; several may share a key.
struct LaneClasses {
    /// In a group's number: a class, not a topic's side.
    static let mark: UInt32 = 1 << 31
    /// Classes with several keys that one key may lead to: a publication looks at all of them.
    private static let mostOfKey = 16
    private static let mostClasses = 1 << 24

    private struct Slot: OpenSlot {
        var hash: UInt64
        /// `none`: vacant.
        var number: UInt32

        static let vacant = Slot(hash: 0, number: none)
        @inline(__always) var isVacant: Bool { number == none }
    }

    private(set) var classes = Slab<LaneClass>()
    private var keys = ContiguousArray<[UInt64]>()
    private var slots = OpenTable<Slot>(fullness: 50)

    func deallocate() {
        slots.forEach { slot in
            // A class with several keys has several slots.
            classes[slot.pointee.number].lanes.levels?.deallocate()
            classes[slot.pointee.number].lanes.levels = nil
            return true
        }
        classes.deallocate()
        slots.deallocate()
    }

    var bytes: Int { classes.bytes + slots.bytes + keys.capacity * 8 }

    @inline(__always)
    func holder(_ group: UInt32) -> UnsafeMutablePointer<TopicSide> {
        // The first field of the record.
        UnsafeMutableRawPointer(classes.base + Int(group & ~LaneClasses.mark)).assumingMemoryBound(to: TopicSide.self)
    }

    /// Calls `body` with each class of a topic that one of these keys leads to.
    @inline(__always)
    func forEach(_ topic: UInt32, _ key: UInt64, _ body: (UInt32) -> Void) {
        let hash = LaneClasses.hash(topic, key)
        _ = slots.find(hash) { slot in
            if slot.hash == hash && classes[slot.number].topic == topic { body(slot.number) }
            return false
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
        let number = classes.take()
        classes[number] = LaneClass(lanes: TopicSide(), topic: topic, next: next, previous: none)
        if next != none { classes[next].previous = number }
        if Int(number) < keys.count { keys[Int(number)] = path.keys } else { keys.append(path.keys) }
        for key in path.keys { slots.insert(Slot(hash: LaneClasses.hash(topic, key), number: number)) }
        return number
    }

    /// Forgets a class without lanes, which its owner took out of the topic's list.
    mutating func remove(_ number: UInt32) {
        let topic = classes[number].topic
        for key in keys[Int(number)] {
            let hash = LaneClasses.hash(topic, key)
            if let slot = slots.find(hash, where: { $0.hash == hash && $0.number == number }) { slots.remove(slot) }
        }
        keys[Int(number)] = []
        classes.release(number)
        if classes.count == 0 { keys = [] }
    }

    @inline(__always)
    private static func hash(_ topic: UInt32, _ key: UInt64) -> UInt64 {
        // Keys are well mixed already; topics are small numbers.
        let mixed = (key ^ UInt64(topic) &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93
        return mixed ^ (mixed >> 32)
    }
}
