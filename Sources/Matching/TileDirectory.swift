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
    private var slots = OpenTable<Slot>(fullness: 50)
    /// Of the runs.
    private(set) var bytes = 0

    private struct Slot: OpenSlot {
        /// 0: vacant.
        var key: UInt64
        var tile: UInt32

        static let vacant = Slot(key: 0, tile: 0)
        @inline(__always) var isVacant: Bool { key == 0 }
        @inline(__always) var hash: UInt64 { TileDirectory.hash(key) }
    }

    func deallocate() {
        slots.forEach { slot in
            tiles[slot.pointee.tile].runs.deallocate()
            return true
        }
        tiles.deallocate()
        slots.deallocate()
    }

    var ownBytes: Int { tiles.bytes + slots.bytes + bytes }

    @inline(__always)
    func find(_ key: UInt64) -> UInt32? { slots.find(Self.hash(key)) { $0.key == key }?.pointee.tile }

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
        let index = tiles.take()
        let next = holder.pointee.firstTile
        tiles[index] = Tile(key: key, occupied: 0, runs: .allocate(capacity: 1), next: next, previous: none)
        if next != none { tiles[next].previous = index }
        holder.pointee.firstTile = index
        bytes += MemoryLayout<Run>.stride
        slots.insert(Slot(key: key, tile: index))
        return index
    }

    private mutating func remove(_ key: UInt64) {
        if let slot = slots.find(Self.hash(key), where: { $0.key == key }) { slots.remove(slot) }
    }

    @inline(__always)
    static func hash(_ key: UInt64) -> UInt64 {
        (key ^ (key >> 31)) &* 0x9E37_79B9_7F4A_7C15
    }
}
