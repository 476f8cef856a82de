import Geodesy
import Glibc

/// The shape of the grid of places: ten levels of cells over the whole earth, the first for points, the others for outlines.
///
/// Level 0 and level 1 have rows of a thousandth of a degree (111 m), each further level rows four times as high. Rows come in
/// eights, and the rows of one eight have as many columns as make a cell about as wide as it is high, a few at a pole. Columns
/// count modulo that number, so that the antimeridian is no case.
enum CellShape {
    static let levels = 10
    /// Rows of one level, in degrees.
    @inline(__always)
    static func height(_ level: Int) -> Double { 0.001 * Double(1 << (2 * max(0, level - 1))) }

    /// Rows of one level in a degree: what 1 by their height is, without a division.
    @inline(__always)
    private static func rows(_ level: Int) -> Double {
        1000 * Double(bitPattern: UInt64(truncatingIfNeeded: 1023 - 2 * max(0, level - 1)) << 52)
    }

    /// An outline that reaches no further than this from its middle (metres) lies in the level, entered at its middle.
    static func reach(_ level: Int) -> Double { height(level) * 55_000 }

    /// The level of an outline; nil: it is larger than the cells of any.
    static func level(ofReach reach: Double) -> Int? {
        (1..<levels).first { self.reach($0) >= reach }
    }

    @inline(__always)
    static func row(_ latitude: Double, _ level: Int) -> Int { max(0, Int((latitude + 90) * rows(level))) }

    /// The number of columns of a row.
    @inline(__always)
    static func columns(ofRow row: Int, _ level: Int) -> Int {
        let height = height(level)
        let middle = (Double(row & ~7) + 4) * height
        let band = Int(middle)
        if band > 0 && band < 179 { return max(1, Int(circles[band] * rows(level))) }
        // Around a pole a parallel is as long as a circle on a plane.
        return max(1, Int(2 * .pi * min(middle, 180 - middle) / height))
    }

    /// Not yet modulo the number of columns; a hair off ±180 it may be -1 or that number.
    @inline(__always)
    static func column(_ longitude: Double, of columns: Int) -> Int {
        // Rounded down, without a call to the C library.
        let place = (longitude + 180) * (Double(columns) * (1.0 / 360))
        let whole = Int(place)
        return Double(whole) > place ? whole - 1 : whole
    }

    /// Level, row and column of a block of eight by eight cells in one word, never 0.
    @inline(__always)
    static func key(_ level: Int, _ blockRow: Int, _ blockColumn: Int) -> UInt64 {
        UInt64(level + 1) << 40 | UInt64(blockRow) << 20 | UInt64(blockColumn)
    }

    static func level(ofKey key: UInt64) -> Int { Int(key >> 40) - 1 }

    /// The key of the block of level 1 that lies where one of level 0 does.
    @inline(__always)
    static func keyOfOutlines(_ keyOfPoints: UInt64) -> UInt64 { keyOfPoints + 1 << 40 }

    /// The block of a position, and the bit of its cell there.
    static func block(_ level: Int, latitude: Double, longitude: Double) -> (key: UInt64, bit: UInt64) {
        let row = row(latitude, level)
        let columns = columns(ofRow: row, level)
        let reached = column(longitude, of: columns)
        let column = reached >= columns ? reached - columns : reached
        return (key(level, row / 8, column / 8), 1 << UInt64((row & 7) * 8 + (column & 7)))
    }

    /// The length of the parallel in the middle of each band of a degree, from the south pole on, in degrees of a meridian.
    ///
    /// Written once and never again, hence safe to share.
    nonisolated(unsafe) private static let circles: UnsafePointer<Double> = {
        let table = UnsafeMutablePointer<Double>.allocate(capacity: 180)
        for band in 0..<180 { table[band] = 360 * cos((Double(band) - 89.5) * .pi / 180) }
        return UnsafePointer(table)
    }()
}
