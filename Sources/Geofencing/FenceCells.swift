import Geodesy
import Glibc

/// Squares of degrees: grid n has cells 360 / 2^n degrees wide and high.
enum FenceCells {
    /// Cells of 2.4 m at the equator.
    static let finest = 24

    static func size(of grid: Int) -> Double { 360 / Double(1 << grid) }

    /// The finest grid whose cells are not smaller than a box.
    static func grid(for box: Area.Box) -> Int {
        let side = max(box.width, box.north - box.south)
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

/// Numbers in cells, found without an allocation: each cell is a chain in one array.
struct CellChains {
    private struct Link {
        var number: Int32
        var next: Int32
    }

    private var heads: [UInt64: Int32] = [:]
    private var links: [Link] = []
    private var free: Int32 = -1

    var cellCount: Int { heads.count }
    var isEmpty: Bool { heads.isEmpty }

    mutating func insert(_ number: Int32, at key: UInt64) {
        let link = Link(number: number, next: heads[key] ?? -1)
        var index = free
        if index >= 0 {
            free = links[Int(index)].next
            links[Int(index)] = link
        } else {
            index = Int32(truncatingIfNeeded: links.count)
            links.append(link)
        }
        heads[key] = index
    }

    mutating func remove(_ number: Int32, at key: UInt64) {
        guard let head = heads[key] else { return }
        var (previous, index) = (Int32(-1), head)
        while index >= 0, links[Int(index)].number != number { (previous, index) = (index, links[Int(index)].next) }
        guard index >= 0 else { return }
        let next = links[Int(index)].next
        if previous >= 0 {
            links[Int(previous)].next = next
        } else if next >= 0 {
            heads[key] = next
        } else {
            heads[key] = nil
        }
        links[Int(index)] = Link(number: -1, next: free)
        free = index
    }

    func forEach(at key: UInt64, _ body: (Int32) -> Void) {
        var index = heads[key] ?? -1
        while index >= 0 {
            let link = links[Int(index)]
            body(link.number)
            index = link.next
        }
    }

    func forEachCell(_ body: (UInt64) -> Void) {
        for key in heads.keys { body(key) }
    }
}

/// Finds the geofences that may hold a position: each stands in at most four cells of the grid of its size.
struct FenceIndex {
    private var chains = CellChains()
    /// How many boxes each grid holds.
    private var counts = Array(repeating: 0, count: FenceCells.finest + 1)
    private var grids: UInt32 = 0

    mutating func insert(_ fence: Int32, _ boxes: [Area.Box]) {
        for (grid, keys) in Self.cells(of: boxes) {
            count(grid, 1)
            for key in keys { chains.insert(fence, at: key) }
        }
    }

    mutating func remove(_ fence: Int32, _ boxes: [Area.Box]) {
        for (grid, keys) in Self.cells(of: boxes) {
            count(grid, -1)
            for key in keys { chains.remove(fence, at: key) }
        }
    }

    private static func cells(of boxes: [Area.Box]) -> [(grid: Int, keys: [UInt64])] {
        boxes.map { box in
            let grid = FenceCells.grid(for: box)
            let span = FenceCells.span(of: box, grid)
            return (grid, span.rows.flatMap { row in span.columns.map { FenceCells.key(grid, $0, row) } })
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
            let key = FenceCells.key(grid, FenceCells.column(longitude, grid), FenceCells.row(latitude, grid))
            chains.forEach(at: key, body)
        }
    }

    /// Calls `body` with each fence that may reach into a box, some of them more than once.
    func forEach(in box: Area.Box, _ body: (Int32) -> Void) {
        var rest = grids
        while rest != 0 {
            let grid = rest.trailingZeroBitCount
            rest &= rest - 1
            chains.forEach(in: box, grid, body)
        }
    }
}

extension CellChains {
    /// Calls `body` with each number in the cells of one grid that a box touches.
    func forEach(in box: Area.Box, _ grid: Int, _ body: (Int32) -> Void) {
        let span = FenceCells.span(of: box, grid)
        guard span.columns.count * span.rows.count > cellCount else {
            for row in span.rows {
                for column in span.columns { forEach(at: FenceCells.key(grid, column, row), body) }
            }
            return
        }
        // There are fewer cells with something in them.
        forEachCell { key in
            guard Int(key >> 58) == grid, span.rows.contains(Int(key & 0x1FFF_FFFF)) else { return }
            let column = Int(key >> 29 & 0x1FFF_FFFF)
            let turns = 1 << grid
            let from = span.columns.lowerBound
            if ((column - from) % turns + turns) % turns < span.columns.count { forEach(at: key, body) }
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

    /// The devices that may be in a box, in order.
    func devices(in box: Area.Box) -> [UInt32] {
        var found: [UInt32] = []
        let span = FenceCells.span(of: box, Self.grid)
        if span.columns.count * span.rows.count <= heads.count {
            for row in span.rows {
                for column in span.columns { collect(heads[FenceCells.key(Self.grid, column, row)] ?? -1, into: &found) }
            }
        } else {
            let turns = 1 << Self.grid
            for (key, head) in heads {
                let column = Int(key >> 29 & 0x1FFF_FFFF) - span.columns.lowerBound
                guard span.rows.contains(Int(key & 0x1FFF_FFFF)), (column % turns + turns) % turns < span.columns.count else {
                    continue
                }
                collect(head, into: &found)
            }
        }
        return found.sorted()
    }

    private func collect(_ head: Int32, into found: inout [UInt32]) {
        var index = head
        while index >= 0 {
            found.append(UInt32(index))
            index = nexts[Int(index)]
        }
    }
}
