import CPrefetch

/// Finds the cell of a key: open addressing over cells of 16 bytes, four to a cache line.
struct CellDirectory: ~Copyable {
    struct Cell: BitwiseCopyable {
        /// 0: vacant.
        var key: UInt64
        var run: UInt32
        var count: UInt32
    }

    private var cells = Pool<Cell>()
    private var capacity = 0
    private(set) var count = 0

    var bytes: Int { capacity * MemoryLayout<Cell>.stride }

    @inline(__always)
    private func home(_ key: UInt64) -> Int {
        let mixed = (key &* 0x9E37_79B9_7F4A_7C15) ^ (key >> 21)
        return Int(truncatingIfNeeded: (mixed &* 0xBF58_476D_1CE4_E5B9).multipliedFullWidth(by: UInt64(capacity)).high)
    }

    @inline(__always)
    func prefetch(_ key: UInt64) {
        if capacity > 0 { geomatch_prefetch(cells.base + home(key)) }
    }

    @inline(__always)
    func find(_ key: UInt64) -> Cell? {
        guard capacity > 0 else { return nil }
        var slot = home(key)
        while true {
            let cell = cells[slot]
            if cell.key == key { return cell }
            if cell.key == 0 { return nil }
            slot = slot + 1 == capacity ? 0 : slot + 1
        }
    }

    /// Enters a cell, or changes it.
    mutating func put(_ cell: Cell) {
        if (count + 1) * 4 > capacity * 3 { grow() }
        let slot = slot(of: cell.key)
        if cells[slot].key == 0 { count += 1 }
        cells[slot] = cell
    }

    /// Where a key is, or would be.
    private func slot(of key: UInt64) -> Int {
        var slot = home(key)
        while cells[slot].key != 0, cells[slot].key != key { slot = slot + 1 == capacity ? 0 : slot + 1 }
        return slot
    }

    private mutating func grow() {
        var old = Pool<Cell>()
        swap(&old, &cells)
        let former = capacity
        capacity = capacity < 1 << 16 ? max(8, capacity * 2) : capacity + capacity / 2
        _ = cells.extend(by: capacity)
        cells.base.update(repeating: Cell(key: 0, run: 0, count: 0), count: capacity)
        for slot in 0..<former where old[slot].key != 0 {
            let place = self.slot(of: old[slot].key)
            cells[place] = old[slot]
        }
    }

    mutating func remove(_ key: UInt64) {
        guard capacity > 0 else { return }
        var hole = slot(of: key)
        guard cells[hole].key == key else { return }
        count -= 1
        var next = hole
        while true {
            next = next + 1 == capacity ? 0 : next + 1
            guard cells[next].key != 0 else { break }
            let home = home(cells[next].key)
            let isBetween = hole <= next ? hole < home && home <= next : hole < home || home <= next
            if isBetween { continue }
            cells[hole] = cells[next]
            hole = next
        }
        cells[hole].key = 0
    }
}
