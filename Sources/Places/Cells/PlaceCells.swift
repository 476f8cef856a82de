import CPrefetch
import Geodesy

/// The places of each cell of the grid (``CellShape``), each with its point: what a query by position looks at first.
struct PlaceCells: ~Copyable {
    /// A point, or the middle of an outline, on the grid of ``GridPoint``, and whose it is.
    struct Entry: BitwiseCopyable {
        var x, y, z: Int32
        var handle: UInt32
    }

    private var entries = RunPool<Entry>()
    private var cells = CellDirectory()
    /// Which cells of eight by eight are occupied, a bit each, in `run` and `count`.
    private var blocks = CellDirectory()
    /// How many places each level has.
    private var counts = [Int](repeating: 0, count: CellShape.levels)

    var bytes: Int { entries.bytes + cells.bytes + blocks.bytes }

    mutating func insert(_ handle: UInt32, level: Int, latitude: Double, longitude: Double) {
        let key = CellShape.key(level, latitude: latitude, longitude: longitude)
        let point = GridPoint(latitude: latitude, longitude: longitude)
        let entry = Entry(x: point.x, y: point.y, z: point.z, handle: handle)
        let cell = cells.find(key) ?? CellDirectory.Cell(key: key, run: 0, count: 0)
        if cell.count == 0 { mark(key, true) }
        let run = entries.append(entry, to: cell.run, count: cell.count)
        cells.put(CellDirectory.Cell(key: key, run: run, count: cell.count + 1))
        counts[level] += 1
    }

    /// Takes out a place that was entered with the same figures. The cost grows with how many are in its cell.
    mutating func remove(_ handle: UInt32, level: Int, latitude: Double, longitude: Double) {
        let key = CellShape.key(level, latitude: latitude, longitude: longitude)
        guard let cell = cells.find(key) else { return }
        for place in 0..<cell.count where entries.elements[cell.run + place].handle == handle {
            let run = entries.remove(at: place, of: cell.run, count: cell.count)
            if cell.count == 1 {
                cells.remove(key)
                mark(key, false)
            } else {
                cells.put(CellDirectory.Cell(key: key, run: run, count: cell.count - 1))
            }
            counts[level] -= 1
            return
        }
    }

    private mutating func mark(_ key: UInt64, _ isOccupied: Bool) {
        let (blockKey, bit) = Self.block(of: key)
        let before = blocks.find(blockKey).map(Self.mask) ?? 0
        let after = isOccupied ? before | bit : before & ~bit
        guard after != 0 else {
            blocks.remove(blockKey)
            return
        }
        blocks.put(
            CellDirectory.Cell(
                key: blockKey, run: UInt32(truncatingIfNeeded: after), count: UInt32(truncatingIfNeeded: after >> 32)))
    }

    private static func mask(_ block: CellDirectory.Cell) -> UInt64 { UInt64(block.run) | UInt64(block.count) << 32 }

    private static func block(of key: UInt64) -> (key: UInt64, bit: UInt64) {
        let column = key & 0xFFFFF
        let row = key >> 20 & 0xFFFFF
        let level = Int(key >> 40) - 1
        let block = CellShape.key(level, Int(row >> 3), Int(column >> 3))
        return (block, 1 << ((row & 7) * 8 + (column & 7)))
    }

    func isEmpty(_ level: Int) -> Bool { counts[level] == 0 }

    // MARK: Queries

    /// Calls `body` with the entries of each occupied cell of a level that may hold something in the span.
    @inline(__always)
    func forEachCell(_ level: Int, in span: CellSpan, _ body: (UnsafeBufferPointer<Entry>) -> Void) {
        guard counts[level] > 0 else { return }
        let first = CellShape.row(span.south, level)
        let last = CellShape.row(span.north, level)
        guard last - first < 6 else { return forEachBlock(level, first, last, in: span, body) }
        for row in first...last {
            let columns = CellShape.columns(ofRow: row, level)
            let (start, count) = span.columns(of: columns)
            for offset in 0..<count {
                visit(CellShape.key(level, row, Self.wrapped(start + offset, columns)), body)
            }
        }
    }

    /// Asks for the memory that a query of this span will look at first.
    @inline(__always)
    func prefetch(_ level: Int, in span: CellSpan) {
        guard counts[level] > 0 else { return }
        let first = CellShape.row(span.south, level)
        let last = CellShape.row(span.north, level)
        guard last - first < 6 else { return }
        for row in first...last {
            let columns = CellShape.columns(ofRow: row, level)
            let (start, count) = span.columns(of: columns)
            for offset in 0..<count {
                cells.prefetch(CellShape.key(level, row, Self.wrapped(start + offset, columns)))
            }
        }
    }

    @inline(__always)
    private static func wrapped(_ column: Int, _ columns: Int) -> Int {
        column < 0 ? column + columns : column >= columns ? column - columns : column
    }

    @inline(__always)
    private func visit(_ key: UInt64, _ body: (UnsafeBufferPointer<Entry>) -> Void) {
        guard let cell = cells.find(key) else { return }
        body(UnsafeBufferPointer(start: entries.elements.base + Int(cell.run), count: Int(cell.count)))
    }

    /// The same over many rows: what is empty is passed over 64 cells at a time.
    private func forEachBlock(
        _ level: Int, _ first: Int, _ last: Int, in span: CellSpan, _ body: (UnsafeBufferPointer<Entry>) -> Void
    ) {
        for blockRow in (first >> 3)...(last >> 3) {
            let columns = CellShape.columns(ofRow: blockRow * 8, level)
            let (start, count) = span.columns(of: columns)
            let low = max(0, first - blockRow * 8)
            let high = min(7, last - blockRow * 8)
            let rows = (UInt64.max >> UInt64((7 - high) * 8)) & (UInt64.max << UInt64(low * 8))
            let begin = Self.wrapped(start, columns)
            let end = begin + count - 1
            forEachBlock(level, blockRow, rows, begin, min(end, columns - 1), body)
            if end >= columns { forEachBlock(level, blockRow, rows, 0, min(end - columns, begin - 1), body) }
        }
    }

    private func forEachBlock(
        _ level: Int, _ blockRow: Int, _ rows: UInt64, _ first: Int, _ last: Int,
        _ body: (UnsafeBufferPointer<Entry>) -> Void
    ) {
        guard first <= last else { return }
        for blockColumn in (first >> 3)...(last >> 3) {
            guard let block = blocks.find(CellShape.key(level, blockRow, blockColumn)) else { continue }
            var rest = Self.mask(block) & rows
            while rest != 0 {
                let bit = rest.trailingZeroBitCount
                rest &= rest - 1
                let column = blockColumn * 8 + (bit & 7)
                guard first <= column, column <= last else { continue }
                visit(CellShape.key(level, blockRow * 8 + bit / 8, column), body)
            }
        }
    }
}
