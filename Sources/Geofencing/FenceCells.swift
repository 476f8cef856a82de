import CPrefetch
import Geodesy
import Glibc

/// Squares of degrees: grid n has cells 360 / 2^n degrees wide and high.
enum FenceCells {
    /// Cells of 2.4 m at the equator.
    static let finest = 24

    static func size(of grid: Int) -> Double { 360 / Double(1 << grid) }

    /// The finest grid whose cells are not smaller than a box, nor half as long: coarser ones have more in each cell than need be.
    static func grid(for box: Area.Box) -> Int {
        let (width, height) = (box.width, box.north - box.south)
        let side = max((width * height).squareRoot(), max(width, height) / 2)
        guard side > 0 else { return finest }
        return max(0, min(finest, Int((-log2(side / 360)).rounded(.down))))
    }

    static func column(_ longitude: Double, _ grid: Int) -> Int { Int(((longitude + 180) / size(of: grid)).rounded(.down)) }
    static func row(_ latitude: Double, _ grid: Int) -> Int { Int(((latitude + 90) / size(of: grid)).rounded(.down)) }

    static func key(_ grid: Int, _ column: Int, _ row: Int) -> UInt64 {
        // The meridian of 180 degrees is that of -180.
        let wrapped = column & ((1 << grid) - 1)
        return UInt64(grid) << 58 | UInt64(wrapped) << 29 | UInt64(max(0, row))
    }

    /// The columns and rows that a box may touch; a little more, as sums are rounded.
    static func span(of box: Area.Box, _ grid: Int) -> (columns: ClosedRange<Int>, rows: ClosedRange<Int>) {
        let first = column(box.west - 1e-9, grid)
        let last = column(box.west + box.width + 1e-9, grid)
        // Round the whole earth the last column would be the first one again.
        let columns = first...min(last, first + (1 << grid) - 1)
        return (columns, row(box.south - 1e-9, grid)...row(box.north + 1e-9, grid))
    }
}

/// A box in a cell as four bytes: 128 parts of its width and height, a little larger than it is.
struct CellBox {
    /// From the west and the south, and from the east and the north: nothing inside has a byte below one of these.
    private var bytes: UInt32

    init() { bytes = 0x7F7F_7F7F }

    /// - Parameter column: As in the span of the box, not wrapped.
    init(_ box: Area.Box, column: Int, row: Int, _ grid: Int) {
        let size = FenceCells.size(of: grid)
        let (west, south) = (Double(column) * size - 180, Double(row) * size - 90)
        // Half the earth and more goes on in a cell that it has already.
        let isWide = box.width >= 180 - 1e-8
        bytes = Self.bytes(
            isWide ? 0 : Self.part((box.west - west) / size, -1), Self.part((box.south - south) / size, -1),
            isWide ? 0 : 127 - Self.part((box.west + box.width - west) / size, 1),
            127 - Self.part((box.north - south) / size, 1))
    }

    private static func part(_ share: Double, _ slack: Double) -> UInt32 {
        UInt32(max(0, min(127, (share * 128).rounded(.down) + slack)))
    }

    private static func bytes(_ west: UInt32, _ south: UInt32, _ east: UInt32, _ north: UInt32) -> UInt32 {
        west | south << 8 | east << 16 | north << 24
    }

    /// A place in a cell, of which its width and height are 1, as ``mayHold(_:)`` takes it.
    static func place(_ x: Double, _ y: Double) -> UInt32 {
        let (east, north) = (UInt32(x * 128), UInt32(y * 128))
        return bytes(east, north, 127 - east, 127 - north) | 0x8080_8080
    }

    /// All four bytes are compared at once: none borrows from the bit above it.
    @inline(__always)
    func mayHold(_ place: UInt32) -> Bool { (place &- bytes) & 0x8080_8080 == 0x8080_8080 }
}

/// Numbers and their boxes in cells: those of a cell lie side by side in one array.
struct CellLists {
    struct Entry {
        var number: Int32
        var box: CellBox
    }

    /// Where the entries of a cell are; there is room for a power of two.
    private struct Piece {
        var start: UInt32
        var count: UInt32 = 0
        var exponent: UInt32
    }

    private var pieces: [UInt64: Piece] = [:]
    private var entries: [Entry] = []
    /// Pieces that nobody has, by exponent.
    private var free: [[UInt32]] = Array(repeating: [], count: 32)

    var cellCount: Int { pieces.count }

    mutating func insert(_ entry: Entry, at key: UInt64) {
        var piece = pieces[key] ?? take(exponent: 0)
        if piece.count == 1 << piece.exponent {
            let larger = take(exponent: piece.exponent + 1)
            for index in 0..<piece.count { entries[Int(larger.start + index)] = entries[Int(piece.start + index)] }
            free[Int(piece.exponent)].append(piece.start)
            piece = Piece(start: larger.start, count: piece.count, exponent: larger.exponent)
        }
        entries[Int(piece.start + piece.count)] = entry
        piece.count += 1
        pieces[key] = piece
    }

    private mutating func take(exponent: UInt32) -> Piece {
        if let start = free[Int(exponent)].popLast() { return Piece(start: start, exponent: exponent) }
        let start = UInt32(entries.count)
        entries.append(contentsOf: repeatElement(Entry(number: -1, box: CellBox()), count: 1 << exponent))
        return Piece(start: start, exponent: exponent)
    }

    mutating func remove(_ number: Int32, at key: UInt64) {
        guard var piece = pieces[key] else { return }
        let range = Int(piece.start)..<Int(piece.start + piece.count)
        guard let index = range.first(where: { entries[$0].number == number }) else { return }
        entries[index] = entries[range.upperBound - 1]
        piece.count -= 1
        if piece.count == 0 {
            free[Int(piece.exponent)].append(piece.start)
            pieces[key] = nil
        } else {
            pieces[key] = piece
        }
    }

    @inline(__always)
    func forEach(at key: UInt64, _ body: (Entry) -> Void) {
        guard let piece = pieces[key] else { return }
        entries.withUnsafeBufferPointer { entries in
            for index in Int(piece.start)..<Int(piece.start + piece.count) { body(entries[index]) }
        }
    }

    /// Calls `body` with each number in a cell whose box may hold a place.
    @inline(__always)
    func forEach(at key: UInt64, holding place: UInt32, _ body: (Int32) -> Void) {
        guard let piece = pieces[key] else { return }
        entries.withUnsafeBufferPointer { entries in
            let range = Int(piece.start)..<Int(piece.start + piece.count)
            for start in stride(from: range.lowerBound, to: range.upperBound, by: 64) {
                let count = min(64, range.upperBound - start)
                // Which box holds it nobody can foretell, so that a branch for each would cost more than the look.
                var held: UInt64 = 0
                for index in 0..<count { held |= (entries[start + index].box.mayHold(place) ? 1 : 0) << UInt64(index) }
                while held != 0 {
                    body(entries[start + held.trailingZeroBitCount].number)
                    held &= held - 1
                }
            }
        }
    }

    /// Calls `body` with each number in the cells of one grid that a box touches.
    func forEach(in box: Area.Box, _ grid: Int, _ body: (Int32) -> Void) {
        let span = FenceCells.span(of: box, grid)
        guard span.columns.count * span.rows.count > cellCount else {
            for row in span.rows {
                for column in span.columns { forEach(at: FenceCells.key(grid, column, row)) { body($0.number) } }
            }
            return
        }
        // There are fewer cells with something in them.
        for key in pieces.keys {
            guard Int(key >> 58) == grid, span.rows.contains(Int(key & 0x1FFF_FFFF)) else { continue }
            let column = Int(key >> 29 & 0x1FFF_FFFF)
            let turns = 1 << grid
            let from = span.columns.lowerBound
            if ((column - from) % turns + turns) % turns < span.columns.count { forEach(at: key) { body($0.number) } }
        }
    }
}

/// Finds the geofences that may hold a position: each is in some cells of the grid of its size.
struct FenceIndex {
    private var lists = CellLists()
    /// How many boxes each grid holds.
    private var counts = Array(repeating: 0, count: FenceCells.finest + 1)
    private var grids: UInt32 = 0

    mutating func insert(_ fence: Int32, _ boxes: [Area.Box]) {
        for box in boxes {
            let grid = FenceCells.grid(for: box)
            count(grid, 1)
            Self.forEachCell(of: box, grid) { column, row in
                let entry = CellLists.Entry(number: fence, box: CellBox(box, column: column, row: row, grid))
                lists.insert(entry, at: FenceCells.key(grid, column, row))
            }
        }
    }

    mutating func remove(_ fence: Int32, _ boxes: [Area.Box]) {
        for box in boxes {
            let grid = FenceCells.grid(for: box)
            count(grid, -1)
            Self.forEachCell(of: box, grid) { lists.remove(fence, at: FenceCells.key(grid, $0, $1)) }
        }
    }

    private static func forEachCell(of box: Area.Box, _ grid: Int, _ body: (_ column: Int, _ row: Int) -> Void) {
        let span = FenceCells.span(of: box, grid)
        for row in span.rows {
            for column in span.columns { body(column, row) }
        }
    }

    private mutating func count(_ grid: Int, _ step: Int) {
        counts[grid] += step
        if counts[grid] > 0 { grids |= 1 << UInt32(grid) } else { grids &= ~(1 << UInt32(grid)) }
    }

    /// Calls `body` with each fence that may hold the position; with one of several parts it may do so again.
    func forEach(latitude: Double, longitude: Double, _ body: (Int32) -> Void) {
        var rest = grids
        while rest != 0 {
            let grid = rest.trailingZeroBitCount
            rest &= rest - 1
            let size = FenceCells.size(of: grid)
            let (x, y) = ((longitude + 180) / size, (latitude + 90) / size)
            let (column, row) = (x.rounded(.down), y.rounded(.down))
            lists.forEach(
                at: FenceCells.key(grid, Int(column), Int(row)), holding: CellBox.place(x - column, y - row), body)
        }
    }

    /// Calls `body` with each fence that may reach into a box, some of them more than once.
    func forEach(in box: Area.Box, _ body: (Int32) -> Void) {
        var rest = grids
        while rest != 0 {
            let grid = rest.trailingZeroBitCount
            rest &= rest - 1
            lists.forEach(in: box, grid, body)
        }
    }
}

/// Where devices are, so that those near a geofence are found.
struct DeviceGrid {
    /// Cells of 1.2 km at the equator.
    private static let grid = 15
    private static let nowhere = UInt64.max

    private var heads: [UInt64: Int32] = [:]
    private var cells: [UInt64] = []
    private var nexts: [Int32] = []
    private var previous: [Int32] = []

    mutating func place(_ device: UInt32, latitude: Double, longitude: Double) {
        let column = FenceCells.column(longitude, Self.grid)
        move(device, to: FenceCells.key(Self.grid, column, FenceCells.row(latitude, Self.grid)))
    }

    mutating func remove(_ device: UInt32) { move(device, to: Self.nowhere) }

    /// Asks for the memory that says in which cell a device is.
    @inline(__always)
    func prefetch(_ index: Int) {
        guard index < cells.count else { return }
        cells.withUnsafeBufferPointer { geomatch_prefetch($0.baseAddress.unsafelyUnwrapped + index) }
    }

    private mutating func move(_ device: UInt32, to key: UInt64) {
        let index = Int(device)
        while cells.count <= index {
            cells.append(Self.nowhere)
            nexts.append(-1)
            previous.append(-1)
        }
        guard cells[index] != key else { return }
        unlink(index)
        cells[index] = key
        guard key != Self.nowhere else { return }
        let head = heads[key] ?? -1
        nexts[index] = head
        previous[index] = -1
        if head >= 0 { previous[Int(head)] = Int32(truncatingIfNeeded: index) }
        heads[key] = Int32(truncatingIfNeeded: index)
    }

    private mutating func unlink(_ index: Int) {
        guard cells[index] != Self.nowhere else { return }
        let (before, after) = (previous[index], nexts[index])
        if before >= 0 {
            nexts[Int(before)] = after
        } else if after >= 0 {
            heads[cells[index]] = after
        } else {
            heads[cells[index]] = nil
        }
        if after >= 0 { previous[Int(after)] = before }
    }

    /// The devices that may be in a box; nil where these are more than so many.
    func devices(in box: Area.Box, atMost limit: Int) -> [UInt32]? {
        var found: [UInt32] = []
        let span = FenceCells.span(of: box, Self.grid)
        if span.columns.count * span.rows.count <= heads.count {
            for row in span.rows {
                for column in span.columns {
                    collect(heads[FenceCells.key(Self.grid, column, row)] ?? -1, atMost: limit, into: &found)
                    if found.count > limit { return nil }
                }
            }
        } else {
            let turns = 1 << Self.grid
            for (key, head) in heads {
                let column = Int(key >> 29 & 0x1FFF_FFFF) - span.columns.lowerBound
                guard span.rows.contains(Int(key & 0x1FFF_FFFF)), (column % turns + turns) % turns < span.columns.count else {
                    continue
                }
                collect(head, atMost: limit, into: &found)
                if found.count > limit { return nil }
            }
        }
        return found
    }

    private func collect(_ head: Int32, atMost limit: Int, into found: inout [UInt32]) {
        var index = head
        while index >= 0, found.count <= limit {
            found.append(UInt32(index))
            index = nexts[Int(index)]
        }
    }
}
