import Geodesy
import Glibc

/// The shape of the grid: nine levels of cells over the whole earth.
///
/// Level 0 has 1920 rows of 3/32 degree (at least 10,366 m); each further level halves rows and columns. A row has as many
/// columns as keep a cell of level 0 no narrower than 10,366 m at the row's poleward edge; at a pole that is a single one.
/// Columns count modulo the row's number, so the antimeridian is no case. An entry lives in the finest level whose cells are at
/// least twice its range, so that a probe of no larger range looks at three by three cells.
///
/// Where the cells of a level are crowded, all of that level in that group are halved, up to three times, and where they are empty
/// but for a lane or two, doubled. Their lanes then lie as finely as those of another level (`fineness`), under their own level's
/// name.
enum Grid {
    static let levels = 9
    /// How often a level's cells are halved at most, and doubled.
    static let mostRefined: Int32 = 3
    static let coarseRows = 1920
    /// Grid units: 5120 m, the longest range of level 0.
    static let longestRange: Int32 = 5120 * 256

    /// Columns of each row of level 0.
    ///
    /// Written once and never again, hence safe to share.
    nonisolated(unsafe) static let columns: UnsafePointer<Int32> = {
        let table = UnsafeMutablePointer<Int32>.allocate(capacity: coarseRows)
        for row in 0..<coarseRows {
            let south = Double(row) * 3 / 32 - 90
            let poleward = min(90, max(abs(south), abs(south + 3.0 / 32)))
            let length = 2 * Double.pi * Ellipsoid.equatorialRadius * cos(poleward * .pi / 180)
            table[row] = max(1, Int32(length / 10_366))
        }
        return UnsafePointer(table)
    }()

    /// The level for a range in grid units.
    @inline(__always)
    static func level(of range: Int32) -> Int {
        var level = levels - 1
        while level > 0 && range > longestRange >> Int32(level) { level -= 1 }
        return level
    }

    @inline(__always)
    static func row(_ latitude: Double, _ level: Int) -> Int {
        let row = Int((latitude + 90) * (32.0 / 3) * Double(1 << level))
        return max(0, min(row, coarseRows << level - 1))
    }

    @inline(__always)
    static func column(_ longitude: Double, of columns: Int) -> Int {
        let column = Int((longitude + 180) * (1.0 / 360) * Double(columns))
        return column >= columns ? column - columns : column
    }

    /// Where the tile lies that holds a cell, and the cell's number in it. A tile is 8 by 8 cells of one side of one topic.
    @inline(__always)
    static func tileKey(side: UInt32, level: Int, tileRow: Int, tileColumn: Int) -> UInt64 {
        // One more than the side, so that no key is 0: 26 bits, then 4, 17 and 17.
        (UInt64(side) + 1) << 38 | UInt64(level) << 34 | UInt64(tileRow) << 17 | UInt64(tileColumn)
    }

    @inline(__always)
    static func place(
        side: UInt32, level: Int, fineness: Int, latitude: Double, longitude: Double
    ) -> (key: UInt64, cell: Int) {
        let row = row(latitude, fineness)
        let column = column(longitude, of: Int(columns[row >> fineness]) << fineness)
        return (
            tileKey(side: side, level: level, tileRow: row >> 3, tileColumn: column >> 3), (row & 7) << 3 | (column & 7)
        )
    }
}

/// Everything within a reach of a position, in degrees, generously.
struct Window {
    var south, north: Double
    var longitude: Double
    /// Degrees to either side; 180 or more means the whole row.
    var halfWidth: Double

    /// - Parameter axis: The position's distance from the earth's axis in metres.
    /// - Parameter reach: Metres.
    @inline(__always)
    init(latitude: Double, longitude: Double, axis: Double, reach: Double) {
        // A few centimetres more than the rounding of grid points needs, so that nothing at the edge is ever missed.
        let metres = reach + 0.05
        // A degree of latitude is nowhere shorter than at the equator, 110,574.27 m.
        let degrees = metres / 110_574.2
        south = latitude - degrees
        north = latitude + degrees
        self.longitude = longitude
        // Whatever is within reach is at most that much nearer to the axis, so with p the smaller of both distances from it the
        // chord is at least 2·p·sin(Δλ/2).
        let half = metres / (2 * (axis - metres))
        // arcsin(x) ≤ 1.002·x up to 0.1.
        halfWidth = axis > metres && half <= 0.1 ? half * (2 * 1.002 * 180 / .pi) + 1e-9 : 360
    }

    /// The columns it touches in a row with that many: at most two ranges, the second empty unless it wraps round.
    @inline(__always)
    func columns(of count: Int) -> (first: ClosedRange<Int>, second: ClosedRange<Int>?) {
        let perDegree = Double(count) / 360
        let from = Int(((longitude + 180 - halfWidth) * perDegree).rounded(.down))
        let to = Int(((longitude + 180 + halfWidth) * perDegree).rounded(.down))
        if to - from + 1 >= count { return (0...(count - 1), nil) }
        if from < 0 { return (0...max(0, to), (from + count)...(count - 1)) }
        if to >= count {
            // Longitude 180 itself lies in column 0.
            return from < count ? (from...(count - 1), 0...(to - count)) : ((from - count)...(to - count), nil)
        }
        return (from...to, nil)
    }
}
