import CPrefetch

/// Finds the block of a key: open addressing over blocks of 24 bytes.
struct BlockDirectory: ~Copyable {
    /// Eight by eight cells.
    struct Block: BitwiseCopyable {
        /// 0: vacant.
        var key: UInt64
        /// Which cells are occupied, a bit each, row by row.
        var mask: UInt64
        /// Where the occupied ones lie, one after the other in the order of their bits.
        var cells: UInt32
    }

    private var blocks = Pool<Block>()
    private var capacity = 0
    private(set) var count = 0

    /// How many blocks a walk through all looks at.
    var slots: Int { capacity }

    var bytes: Int { capacity * MemoryLayout<Block>.stride }

    @inline(__always)
    private func home(_ key: UInt64) -> Int {
        let mixed = (key &* 0x9E37_79B9_7F4A_7C15) ^ (key >> 21)
        return Int(truncatingIfNeeded: (mixed &* 0xBF58_476D_1CE4_E5B9).multipliedFullWidth(by: UInt64(capacity)).high)
    }

    /// Asks for the memory a search will look at.
    @inline(__always)
    func prefetch(_ key: UInt64) {
        if capacity > 0 { geomatch_prefetch(blocks.base + home(key)) }
    }

    @inline(__always)
    func find(_ key: UInt64) -> Block? {
        guard capacity > 0 else { return nil }
        var slot = home(key)
        while true {
            let found = blocks[slot].key
            if found == key { return blocks[slot] }
            if found == 0 { return nil }
            slot = slot + 1 == capacity ? 0 : slot + 1
        }
    }

    /// Calls `body` with each block, in no order, until it returns false.
    func forEach(_ body: (Block) -> Bool) {
        for slot in 0..<capacity where blocks[slot].key != 0 {
            guard body(blocks[slot]) else { return }
        }
    }

    /// Enters a block, or changes it.
    mutating func put(_ block: Block) {
        if (count + 1) * 4 > capacity * 3 { grow() }
        let slot = slot(of: block.key)
        if blocks[slot].key == 0 { count += 1 }
        blocks[slot] = block
    }

    /// Where a key is, or would be.
    private func slot(of key: UInt64) -> Int {
        var slot = home(key)
        while blocks[slot].key != 0, blocks[slot].key != key { slot = slot + 1 == capacity ? 0 : slot + 1 }
        return slot
    }

    private mutating func grow() {
        var old = Pool<Block>()
        swap(&old, &blocks)
        let former = capacity
        capacity = capacity < 1 << 16 ? max(4, capacity * 2) : capacity + capacity / 2
        _ = blocks.extend(by: capacity)
        blocks.base.update(repeating: Block(key: 0, mask: 0, cells: 0), count: capacity)
        for place in 0..<former where old[place].key != 0 {
            let slot = slot(of: old[place].key)
            blocks[slot] = old[place]
        }
    }

    mutating func remove(_ key: UInt64) {
        guard capacity > 0 else { return }
        var hole = slot(of: key)
        guard blocks[hole].key == key else { return }
        count -= 1
        // What follows moves up, so that no search ends too early.
        var next = hole
        while true {
            next = next + 1 == capacity ? 0 : next + 1
            guard blocks[next].key != 0 else { break }
            let home = home(blocks[next].key)
            let isBetween = hole <= next ? hole < home && home <= next : hole < home || home <= next
            if isBetween { continue }
            blocks[hole] = blocks[next]
            hole = next
        }
        blocks[hole].key = 0
    }
}
