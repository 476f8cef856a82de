import EngineMemory

/// Eight by eight cells of one side of one topic, with runs for those that hold something, in the order of their bits.
struct Tile: BitwiseCopyable {
    var key: UInt64
    /// A bit for each cell that holds something.
    var occupied: UInt64
    var runs: UnsafeMutablePointer<Run>
    /// The list of its side's tiles.
    var next: UInt32
    var previous: UInt32

    @inline(__always)
    func rank(of cell: Int) -> Int { (occupied & ((1 &<< UInt64(cell)) &- 1)).nonzeroBitCount }
}

/// Finds tiles by where they lie.
struct TileDirectory {
    private(set) var tiles = Slab<Tile>()
    private var slots: UnsafeMutablePointer<Slot>
    private var capacity = 16
    private(set) var bytes = 0

    private struct Slot: BitwiseCopyable {
        /// 0: empty.
        var key: UInt64
        var tile: UInt32
    }

    init() { slots = TileDirectory.emptySlots(16) }

    func deallocate() {
        for index in 0..<capacity where slots[index].key != 0 { tiles[slots[index].tile].runs.deallocate() }
        tiles.deallocate()
        BigMemory.release(slots)
    }

    var ownBytes: Int { tiles.bytes + capacity * MemoryLayout<Slot>.stride + bytes }

    @inline(__always)
    func find(_ key: UInt64) -> UInt32? {
        var index = home(key)
        while true {
            let slot = slots[index]
            if slot.key == key { return slot.tile }
            if slot.key == 0 { return nil }
            index = (index + 1) & (capacity - 1)
        }
    }

    /// The tile there, made if need be, with a run for the cell.
    mutating func open(_ key: UInt64, cell: Int, of holder: UnsafeMutablePointer<TopicSide>) -> UInt32 {
        let index = find(key) ?? make(key, of: holder)
        let bit = UInt64(1) &<< UInt64(cell)
        let tile = tiles[index]
        guard tile.occupied & bit == 0 else { return index }
        let count = tile.occupied.nonzeroBitCount
        let rank = tile.rank(of: cell)
        if count > 0 && count & (count - 1) == 0 {
            let runs = UnsafeMutablePointer<Run>.allocate(capacity: count * 2)
            runs.update(from: tile.runs, count: count)
            tile.runs.deallocate()
            tiles[index].runs = runs
            bytes += count * MemoryLayout<Run>.stride
        }
        let runs = tiles[index].runs
        (runs + rank + 1).update(from: runs + rank, count: count - rank)
        runs[rank] = Run()
        tiles[index].occupied |= bit
        return index
    }

    /// Takes the cell's empty run away, and the tile with its last.
    mutating func close(_ index: UInt32, cell: Int, of holder: UnsafeMutablePointer<TopicSide>) {
        let tile = tiles[index]
        let count = tile.occupied.nonzeroBitCount
        if count == 1 {
            tile.runs.deallocate()
            bytes -= MemoryLayout<Run>.stride
            remove(tile.key)
            if tile.previous == none { holder.pointee.firstTile = tile.next } else { tiles[tile.previous].next = tile.next }
            if tile.next != none { tiles[tile.next].previous = tile.previous }
            tiles.release(index)
            return
        }
        let rank = tile.rank(of: cell)
        (tile.runs + rank).update(from: tile.runs + rank + 1, count: count - 1 - rank)
        tiles[index].occupied &= ~(1 &<< UInt64(cell))
        let left = count - 1
        if left & (left - 1) == 0 {
            let runs = UnsafeMutablePointer<Run>.allocate(capacity: left)
            runs.update(from: tile.runs, count: left)
            tile.runs.deallocate()
            tiles[index].runs = runs
            bytes -= left * MemoryLayout<Run>.stride
        }
    }

    private mutating func make(_ key: UInt64, of holder: UnsafeMutablePointer<TopicSide>) -> UInt32 {
        if (tiles.count + 1) * 2 > capacity { rehash(capacity * 2) }
        let index = tiles.take()
        let next = holder.pointee.firstTile
        tiles[index] = Tile(key: key, occupied: 0, runs: .allocate(capacity: 1), next: next, previous: none)
        if next != none { tiles[next].previous = index }
        holder.pointee.firstTile = index
        bytes += MemoryLayout<Run>.stride
        insert(Slot(key: key, tile: index))
        return index
    }

    private func insert(_ slot: Slot) {
        var index = home(slot.key)
        while slots[index].key != 0 { index = (index + 1) & (capacity - 1) }
        slots[index] = slot
    }

    /// Closes the gap by moving back what was pushed on past it, so that no tombstones gather.
    private mutating func remove(_ key: UInt64) {
        var hole = home(key)
        while slots[hole].key != key { hole = (hole + 1) & (capacity - 1) }
        var next = (hole + 1) & (capacity - 1)
        while slots[next].key != 0 {
            let wanted = home(slots[next].key)
            if (next &- wanted) & (capacity - 1) >= (next &- hole) & (capacity - 1) {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & (capacity - 1)
        }
        slots[hole].key = 0
        if capacity > 64 && tiles.count * 16 < capacity { rehash(capacity / 4) }
    }

    private mutating func rehash(_ next: Int) {
        let old = slots
        let oldCapacity = capacity
        slots = TileDirectory.emptySlots(next)
        capacity = next
        for index in 0..<oldCapacity where old[index].key != 0 { insert(old[index]) }
        BigMemory.release(old)
    }

    @inline(__always)
    private func home(_ key: UInt64) -> Int {
        let mixed = (key ^ (key >> 31)) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32) & (capacity - 1)
    }

    private static func emptySlots(_ capacity: Int) -> UnsafeMutablePointer<Slot> {
        let slots = BigMemory.allocate(bytes: capacity * MemoryLayout<Slot>.stride)
            .bindMemory(to: Slot.self, capacity: capacity)
        slots.initialize(repeating: Slot(key: 0, tile: 0), count: capacity)
        return slots
    }
}
