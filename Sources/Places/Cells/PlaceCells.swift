import CPrefetch
import EngineMemory
import Geodesy

/// The places of each cell of the grid (``CellShape``), each with its point: what a query by position looks at first.
///
/// Cells come in blocks of eight by eight, so that a query finds its cells by one or two searches, and passes over what is
/// empty 64 cells at a time.
struct PlaceCells: ~Copyable {
    /// A point, or the middle of an outline, on the grid of ``GridPoint``, and whose it is: of a point its place's handle, of an
    /// outline where that lies.
    struct Entry: BitwiseCopyable {
        /// x, y, z, and the number above five bits for how far the outline reaches, in parts of its level's reach.
        var lanes: SIMD4<Int32>

        static let numberBits = 27
        /// What the five bits count.
        private static let parts = 32.0

        @inline(__always)
        var number: UInt32 { UInt32(bitPattern: lanes.w) >> 5 }

        /// - Parameter share: How far it reaches from its middle, 0…1 of the reach of its level.
        init(_ point: GridPoint, _ number: UInt32, share: Double = 0) {
            let part = UInt32(max(0, min(Self.parts - 1, (share * Self.parts).rounded(.up) - 1)))
            lanes = SIMD4(point.x, point.y, point.z, Int32(bitPattern: number << 5 | part))
        }

        /// The outline reaches no further than this share of the reach of its level.
        @inline(__always)
        var share: Double { Double(UInt32(bitPattern: lanes.w) & 31 + 1) * (1 / Self.parts) }

        /// In metres.
        @inline(__always)
        var point: ECEF { GridPoint(x: lanes.x, y: lanes.y, z: lanes.z).point }
    }

    /// Where the entries of a cell lie.
    struct Cell: BitwiseCopyable {
        var run: UInt32
        var count: UInt32
    }

    private var entries = RunPool<Entry>()
    private var cells = RunPool<Cell>()
    private var blocks = OpenTable<CellBlock>()
    /// How many places each level has.
    private var counts: InlineArray<10, Int> = .init(repeating: 0)
    /// The levels that have any.
    private(set) var levels = CellLevels()

    init() {}

    deinit { blocks.deallocate() }

    var bytes: Int { entries.bytes + cells.bytes + blocks.bytes }

    mutating func insert(_ number: UInt32, level: Int, latitude: Double, longitude: Double, share: Double = 0) {
        let (key, bit) = CellShape.block(level, latitude: latitude, longitude: longitude)
        let entry = Entry(GridPoint(latitude: latitude, longitude: longitude), number, share: share)
        counts[level] += 1
        levels.insert(level)
        let known = blocks.block(key)
        var block = known?.pointee ?? CellBlock(key: key, mask: 0, cells: 0)
        if block.mask & bit == 0 {
            let run = entries.append(entry, to: 0, count: 0)
            block.cells = cells.insert(
                Cell(run: run, count: 1), at: block.rank(of: bit), of: block.cells, count: UInt32(block.mask.nonzeroBitCount))
            block.mask |= bit
            if let known { known.pointee = block } else { blocks.insert(block) }
        } else {
            let place = block.cells + block.rank(of: bit)
            let cell = cells.elements[place]
            let run = entries.append(entry, to: cell.run, count: cell.count)
            cells.set(Cell(run: run, count: cell.count + 1), at: place)
        }
    }

    /// Takes out a place that was entered with the same figures. The cost grows with how many are in its cell.
    mutating func remove(_ number: UInt32, level: Int, latitude: Double, longitude: Double) {
        let (key, bit) = CellShape.block(level, latitude: latitude, longitude: longitude)
        guard let known = blocks.block(key), known.pointee.mask & bit != 0 else { return }
        let block = known.pointee
        let rank = block.rank(of: bit)
        let cell = cells.elements[block.cells + rank]
        guard let place = (0..<cell.count).first(where: { entries.elements[cell.run + $0].number == number }) else { return }
        counts[level] -= 1
        if counts[level] == 0 { levels.remove(level) }
        let run = entries.remove(at: place, of: cell.run, count: cell.count)
        guard cell.count == 1 else {
            cells.set(Cell(run: run, count: cell.count - 1), at: block.cells + rank)
            return
        }
        known.pointee.cells = cells.remove(keepingOrderAt: rank, of: block.cells, count: UInt32(block.mask.nonzeroBitCount))
        known.pointee.mask &= ~bit
        if known.pointee.mask == 0 { blocks.remove(known) }
    }

    // MARK: Queries

    /// Asks for the blocks of a position, of all levels.
    @inline(__always)
    func prefetch(latitude: Double, longitude: Double) {
        let points = CellShape.block(0, latitude: latitude, longitude: longitude).key
        blocks.prefetch(CellBlock.hash(of: points))
        for level in levels.ofOutlines {
            let key =
                level == 1
                ? CellShape.keyOfOutlines(points) : CellShape.block(level, latitude: latitude, longitude: longitude).key
            blocks.prefetch(CellBlock.hash(of: key))
        }
    }

    /// Calls `body` with each occupied cell of a level that may hold something in the span, until it returns false.
    func forEachCell(_ level: Int, in span: CellSpan, _ body: (Cell) -> Bool) {
        let rows = CellShape.row(span.south, level)...CellShape.row(span.north, level)
        let wide = span.columns(of: CellShape.columns(ofRow: (rows.lowerBound + rows.upperBound) / 2, level)).count
        // Over large parts of the earth it is cheaper to go through all blocks there are; of more cells then, but who asks looks
        // at each place anyway.
        guard rows.count / 8 * (wide / 8 + 1) > max(64, blocks.slotCount) else {
            return forEachBlock(level, in: span) { visit($0, $1, body) }
        }
        blocks.forEach { block in
            CellShape.level(ofKey: block.pointee.key) != level || visit(block.pointee, .max, body)
        }
    }

    /// Calls `body` with each block that has something, and which of its cells the span reaches, until it returns false.
    @inline(__always)
    private func forEachBlock(_ level: Int, in span: CellSpan, _ body: (CellBlock, UInt64) -> Bool) {
        let first = CellShape.row(span.south, level)
        let last = CellShape.row(span.north, level)
        for blockRow in (first / 8)...(last / 8) {
            let columns = CellShape.columns(ofRow: blockRow * 8, level)
            let (start, count) = span.columns(of: columns)
            let low = max(0, first - blockRow * 8)
            let high = min(7, last - blockRow * 8)
            let rows = (UInt64.max >> UInt64((7 - high) * 8)) & (UInt64.max << UInt64(low * 8))
            let begin = Self.wrapped(start, columns)
            let end = begin + count - 1
            // Where the columns begin again, the rest is a second stretch.
            let stretches = end >= columns ? 2 : 1
            for stretch in 0..<stretches {
                let from = stretch == 0 ? begin : 0
                let to = stretch == 0 ? min(end, columns - 1) : end - columns
                for blockColumn in (from / 8)...(to / 8) {
                    let left = max(0, from - blockColumn * 8)
                    let right = min(7, to - blockColumn * 8)
                    let row = (UInt64(0xFF) >> UInt64(7 - right)) & (UInt64(0xFF) << UInt64(left))
                    let wanted = rows & (row &* 0x0101_0101_0101_0101)
                    guard let block = blocks.block(CellShape.key(level, blockRow, blockColumn))?.pointee else { continue }
                    guard body(block, wanted) else { return }
                }
            }
        }
    }

    /// Writes where the entries of the cells lie that may hold something in the span, and asks for their memory.
    ///
    /// - Returns: How many cells they are; nil: more than there is room for.
    @inline(__always)
    func gather(_ level: Int, in span: CellSpan, into found: UnsafeMutableBufferPointer<Cell>) -> Int? {
        var count = 0
        var isWhole = true
        forEachBlock(level, in: span) { block, wanted in
            var rest = block.mask & wanted
            guard count + rest.nonzeroBitCount <= found.count else {
                isWhole = false
                return false
            }
            while rest != 0 {
                let cell = cells.elements[block.cells + block.rank(of: rest & (0 &- rest))]
                rest &= rest - 1
                let start = entries.elements.base + Int(cell.run)
                for line in 0..<3 { geomatch_prefetch(start + 4 * line) }
                found[count] = cell
                count += 1
            }
            return true
        }
        return isWhole ? count : nil
    }

    @inline(__always)
    func entries(of cell: Cell) -> UnsafeBufferPointer<Entry> {
        UnsafeBufferPointer(start: entries.elements.base + Int(cell.run), count: Int(cell.count))
    }

    /// Calls `body` with the entries of a cell that pass a sieve, until it returns false.
    ///
    /// All that pass are found before the first is looked at, so that neither the processor nor the memory waits for each of them.
    ///
    /// - Parameter passed: Room for at least four.
    @inline(__always)
    func sift(
        _ found: some Sequence<Cell>, _ sieve: Sieve, _ passed: UnsafeMutableBufferPointer<UInt32>, _ body: (Entry) -> Bool
    ) -> Bool {
        var count = 0
        for cell in found {
            // Rows of four and more begin at a multiple of four; shorter ones share four places.
            var place = cell.run & ~(Sieve.width - 1)
            while place < cell.run + cell.count {
                if count + Int(Sieve.width) > passed.count {
                    guard visit(passed[..<count], body) else { return false }
                    count = 0
                }
                count = sieve.sift(entries.elements.base + Int(place), at: place, of: cell, into: passed, behind: count)
                place += Sieve.width
            }
        }
        return visit(passed[..<count], body)
    }

    @inline(__always)
    private func visit(_ passed: Slice<UnsafeMutableBufferPointer<UInt32>>, _ body: (Entry) -> Bool) -> Bool {
        for place in passed {
            guard body(entries.elements[place]) else { return false }
        }
        return true
    }

    private func visit(_ block: CellBlock, _ wanted: UInt64, _ body: (Cell) -> Bool) -> Bool {
        var rest = block.mask & wanted
        while rest != 0 {
            let cell = cells.elements[block.cells + block.rank(of: rest & (0 &- rest))]
            rest &= rest - 1
            guard body(cell) else { return false }
        }
        return true
    }

    @inline(__always)
    private static func wrapped(_ column: Int, _ columns: Int) -> Int {
        column < 0 ? column + columns : column >= columns ? column - columns : column
    }
}
