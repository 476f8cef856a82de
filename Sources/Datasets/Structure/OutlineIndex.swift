import Geodesy
import Glibc
import Records

/// Finds the outlines that may hold a position: a grid for each size of outline, so that a hall and a booth both lie in at most
/// four cells.
///
/// Cells of grid n are 360 / 2^n degrees wide and high; an outline is in the finest grid whose cells are not smaller than it.
struct OutlineIndex {
    private var cells: [UInt64: [Int32]] = [:]
    /// Which grids hold something.
    private var grids: UInt32 = 0

    /// Cells of 2.4 m at the equator.
    private static let finest = 24

    var isEmpty: Bool { grids == 0 }

    /// Enters an outline under a number.
    mutating func insert(_ number: Int, bounds: Area.Box) {
        let size = max(bounds.width, bounds.north - bounds.south)
        var grid = 0
        while grid < Self.finest, Self.cell(of: grid + 1) >= size { grid += 1 }
        grids |= 1 << UInt32(grid)
        let cell = Self.cell(of: grid)
        // A little wider: the same meridian may be reached by sums that are rounded differently.
        let first = Self.column(bounds.west - 1e-9, cell)
        let last = Self.column(bounds.west + bounds.width + 1e-9, cell)
        var keys: [UInt64] = []
        for row in Self.row(bounds.south, cell)...Self.row(bounds.north, cell) {
            for column in first...last {
                let key = Self.key(grid, column, row)
                // Round the whole earth the last column is the first one.
                if !keys.contains(key) { keys.append(key) }
            }
        }
        for key in keys { cells[key, default: []].append(Int32(truncatingIfNeeded: number)) }
    }

    /// Calls `body` with each number whose bounds may hold a position; one may come twice where its outline has several polygons.
    func forEach(near position: Position, _ body: (Int) -> Void) {
        var rest = grids
        while rest != 0 {
            let grid = rest.trailingZeroBitCount
            rest &= rest - 1
            let cell = Self.cell(of: grid)
            let key = Self.key(grid, Self.column(position.longitude, cell), Self.row(position.latitude, cell))
            for number in cells[key] ?? [] { body(Int(number)) }
        }
    }

    private static func cell(of grid: Int) -> Double { 360 / Double(1 << grid) }
    private static func column(_ longitude: Double, _ cell: Double) -> Int { Int(((longitude + 180) / cell).rounded(.down)) }
    private static func row(_ latitude: Double, _ cell: Double) -> Int { Int(((latitude + 90) / cell).rounded(.down)) }

    private static func key(_ grid: Int, _ column: Int, _ row: Int) -> UInt64 {
        // The meridian of 180 degrees is that of -180.
        let wrapped = column & ((1 << grid) - 1)
        return UInt64(grid) << 58 | UInt64(wrapped) << 29 | UInt64(row)
    }
}
