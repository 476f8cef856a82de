import CPrefetch
import EngineMemory

/// Where the words of each cell begin, by the cell's key: a table of open addressing.
struct CellDirectory: ~Copyable {
    private struct Slot: BitwiseCopyable {
        var key: UInt64
        var start: Int
    }

    private var base: UnsafeMutablePointer<Slot>?
    private var mask = -1
    private(set) var count = 0

    /// No cell has this key.
    static let none = UInt64.max

    init() {}

    deinit { if let base { BigMemory.release(base) } }

    /// Asks for the memory in which a key is looked for.
    @inline(__always)
    func prefetch(_ key: UInt64) { if let base { geomatch_prefetch(base + home(key)) } }

    @inline(__always)
    func find(_ key: UInt64) -> Int? {
        guard let base else { return nil }
        var index = home(key)
        while base[index].key != Self.none {
            if base[index].key == key { return base[index].start }
            index = (index + 1) & mask
        }
        return nil
    }

    /// - Parameter key: Not there yet.
    mutating func insert(_ key: UInt64, _ start: Int) {
        if (count + 1) * 2 > mask + 1 { grow() }
        var index = home(key)
        while base.unsafelyUnwrapped[index].key != Self.none { index = (index + 1) & mask }
        base.unsafelyUnwrapped[index] = Slot(key: key, start: start)
        count += 1
    }

    /// Returns where the cell's words begin that goes; nil: there is none.
    mutating func remove(_ key: UInt64) -> Int? {
        guard let base else { return nil }
        var index = home(key)
        while base[index].key != key {
            if base[index].key == Self.none { return nil }
            index = (index + 1) & mask
        }
        let start = base[index].start
        count -= 1
        // What follows moves up, so that no search ends too early.
        var next = (index + 1) & mask
        while base[next].key != Self.none {
            let wanted = home(base[next].key)
            if (next - wanted) & mask >= (next - index) & mask {
                base[index] = base[next]
                index = next
            }
            next = (next + 1) & mask
        }
        base[index].key = Self.none
        return start
    }

    mutating func removeAll() {
        if let base { BigMemory.release(base) }
        base = nil
        mask = -1
        count = 0
    }

    /// Calls `body` with where the words of each cell begin; it returns where they begin from now on.
    mutating func update(_ body: (Int) -> Int) {
        guard let base else { return }
        for index in 0...mask where base[index].key != Self.none { base[index].start = body(base[index].start) }
    }

    @inline(__always)
    private func home(_ key: UInt64) -> Int {
        Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
    }

    private mutating func grow() {
        let old = base
        let slots = mask + 1
        mask = max(64, slots * 2) - 1
        let memory = BigMemory.allocate(bytes: (mask + 1) * MemoryLayout<Slot>.stride)
        base = memory.bindMemory(to: Slot.self, capacity: mask + 1)
        base?.initialize(repeating: Slot(key: Self.none, start: 0), count: mask + 1)
        count = 0
        guard let old else { return }
        for index in 0..<slots where old[index].key != Self.none { insert(old[index].key, old[index].start) }
        BigMemory.release(old)
    }
}
