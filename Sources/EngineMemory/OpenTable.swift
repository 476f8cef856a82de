import CPrefetch

/// What an ``OpenTable`` holds.
public protocol OpenSlot: BitwiseCopyable {
    /// Equal to no slot that is inserted.
    static var vacant: Self { get }
    var isVacant: Bool { get }
    /// Well mixed in its upper bits.
    var hash: UInt64 { get }
}

/// Small values found by their hash: open addressing with linear probing.
///
/// The owner calls ``deallocate()`` once, at the end.
@frozen
public struct OpenTable<Slot: OpenSlot> {
    @usableFromInline var slots: UnsafeMutablePointer<Slot>
    @usableFromInline var capacity: Int
    @usableFromInline var used = 0
    /// Above so many slots in a hundred the table grows.
    @usableFromInline let fullness: Int

    @usableFromInline static var least: Int { 16 }

    @inlinable
    public init(fullness: Int = 75) {
        self.fullness = fullness
        capacity = Self.least
        slots = Self.vacant(Self.least)
    }

    @inlinable
    public func deallocate() { BigMemory.release(slots) }

    @inlinable
    public var count: Int { used }

    @inlinable
    public var bytes: Int { capacity * MemoryLayout<Slot>.stride }

    /// How many slots ``forEach(_:)`` looks at.
    @inlinable
    public var slotCount: Int { capacity }

    @inlinable @inline(__always)
    func home(_ hash: UInt64) -> UnsafeMutablePointer<Slot> {
        slots + Int(truncatingIfNeeded: hash.multipliedFullWidth(by: UInt64(truncatingIfNeeded: capacity)).high)
    }

    @inlinable @inline(__always)
    func next(_ slot: UnsafeMutablePointer<Slot>) -> UnsafeMutablePointer<Slot> {
        slot + 1 == slots + capacity ? slots : slot + 1
    }

    /// Asks for the memory that a search will look at first.
    @inlinable @inline(__always)
    public func prefetch(_ hash: UInt64) { geomatch_prefetch(home(hash)) }

    /// The slot of this hash that is wanted, good until the next insertion or removal. What it is changed to must have the same hash.
    @inlinable @inline(__always)
    public func find(_ hash: UInt64, where isWanted: (Slot) -> Bool) -> UnsafeMutablePointer<Slot>? {
        var slot = home(hash)
        while !slot.pointee.isVacant {
            if isWanted(slot.pointee) { return slot }
            slot = next(slot)
        }
        return nil
    }

    /// - Parameter slot: Another one of the same hash may be there.
    @inlinable
    public mutating func insert(_ slot: Slot) {
        if (used + 1) * 100 > capacity * fullness {
            resize(capacity * MemoryLayout<Slot>.stride < 1 << 20 ? capacity * 2 : capacity + capacity / 2)
        }
        used += 1
        place(slot)
    }

    @inlinable
    func place(_ slot: Slot) {
        var vacant = home(slot.hash)
        while !vacant.pointee.isVacant { vacant = next(vacant) }
        vacant.pointee = slot
    }

    /// - Parameter slot: As ``find(_:where:)`` returned it.
    @inlinable
    public mutating func remove(_ slot: UnsafeMutablePointer<Slot>) {
        used -= 1
        // What follows moves up, so that no search ends too early and no marks of removed slots gather.
        var hole = slot
        var follower = next(hole)
        while !follower.pointee.isVacant {
            let home = home(follower.pointee.hash)
            let isBehindHole = hole <= follower ? hole < home && home <= follower : hole < home || home <= follower
            if !isBehindHole {
                hole.pointee = follower.pointee
                hole = follower
            }
            follower = next(follower)
        }
        hole.pointee = .vacant
        if capacity > 64 && used * 16 < capacity { resize(capacity / 4) }
    }

    @inlinable
    public mutating func removeAll() {
        used = 0
        resize(Self.least)
    }

    /// Calls `body` with each slot, in no order, until it returns false.
    @inlinable
    public func forEach(_ body: (UnsafeMutablePointer<Slot>) -> Bool) {
        for index in 0..<capacity where !slots[index].isVacant {
            guard body(slots + index) else { return }
        }
    }

    @inlinable
    mutating func resize(_ next: Int) {
        let (former, formerCapacity) = (slots, capacity)
        slots = Self.vacant(next)
        capacity = next
        if used > 0 { for index in 0..<formerCapacity where !former[index].isVacant { place(former[index]) } }
        BigMemory.release(former)
    }

    @inlinable
    static func vacant(_ capacity: Int) -> UnsafeMutablePointer<Slot> {
        let slots = BigMemory.allocate(bytes: capacity * MemoryLayout<Slot>.stride)
            .bindMemory(to: Slot.self, capacity: capacity)
        slots.initialize(repeating: .vacant, count: capacity)
        return slots
    }
}

/// A number and half of its hash, so that nearly every wrong slot is recognised without a look at what it names, and growing needs none.
@frozen
public struct NumberSlot: OpenSlot {
    @usableFromInline let word: UInt64

    /// - Parameter number: Below `UInt32.max`.
    @inlinable @inline(__always)
    public init(_ number: UInt32, hash: UInt32) { word = UInt64(hash) << 32 | UInt64(number) }

    @inlinable @inline(__always)
    init(word: UInt64) { self.word = word }

    @inlinable
    public static var vacant: NumberSlot { NumberSlot(word: .max) }

    @inlinable @inline(__always)
    public var isVacant: Bool { word == .max }

    @inlinable @inline(__always)
    public var hash: UInt64 { word & ~0xFFFF_FFFF }

    @inlinable @inline(__always)
    public var number: UInt32 { UInt32(truncatingIfNeeded: word) }
}

extension OpenTable<NumberSlot> {
    @inlinable @inline(__always)
    public func prefetch(_ hash: UInt32) { prefetch(UInt64(hash) << 32) }

    /// - Parameter isWanted: Whether a number of this hash is the wanted one.
    @inlinable @inline(__always)
    public func find(_ hash: UInt32, where isWanted: (UInt32) -> Bool) -> UnsafeMutablePointer<NumberSlot>? {
        find(UInt64(hash) << 32) { UInt32(truncatingIfNeeded: $0.word >> 32) == hash && isWanted($0.number) }
    }
}

/// Hashes of two numbers, which are dense: multiplications spread them (Steele, Lea, Flood, OOPSLA 2014).
public enum PairHash {
    @inlinable @inline(__always)
    public static func of(_ a: UInt32, _ b: UInt32) -> UInt32 {
        var mixed = (UInt64(a) << 32 | UInt64(b)) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 29)) &* 0xBF58_476D_1CE4_E5B9
        return UInt32(truncatingIfNeeded: mixed >> 32)
    }
}
