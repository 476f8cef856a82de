import Geodesy
import Glibc

/// Cells of the earth's surface: rows of latitude, and in each row columns about as wide as the row is high, or half as wide.
///
/// Positions are whole steps of 1e-7 degrees; the rows of a shift are 2 to its power steps high: 1,460 m for 17.
enum SurfaceGrid {
    /// Degrees; half of one is 6 mm.
    static let step = 1e-7

    @inline(__always)
    static func steps(_ degrees: Double) -> Int32 { Int32((degrees * 1e7).rounded()) }

    /// The cell that a position, in steps, is in: below 2^56. All of a quarter of the earth where the shift is 32.
    @inline(__always)
    static func cell(_ latitude: Int32, _ longitude: Int32, shift: Int32) -> UInt64 {
        let row = latitude >> shift
        return key(row, longitude >> columnShift(row, shift))
    }

    /// Calls `body` with each cell that something within `radius` metres of a position (degrees) may be in; some come twice.
    static func forEachCell(
        _ latitude: Double, _ longitude: Double, radius: Double, shift: Int32, _ body: (UInt64) -> Void
    ) {
        // A degree of a meridian has at least 110,574 m, one of a parallel at least 111,319 m times the cosine of the latitude.
        let rise = radius / 110_500 + 1e-6
        let sine = sin(min(90, rise) * .pi / 180) / cos(latitude * .pi / 180)
        let width = sine < 1 ? asin(sine) * 180 / .pi + 1e-6 : 180
        for row in steps(max(-90, latitude - rise)) >> shift...steps(min(90, latitude + rise)) >> shift {
            let columnShift = columnShift(row, shift)
            for (west, east) in stretches(longitude - width, longitude + width) {
                for column in steps(west) >> columnShift...steps(east) >> columnShift { body(key(row, column)) }
            }
        }
    }

    /// Longitudes from west to east, those beyond the antimeridian apart.
    private static func stretches(_ west: Double, _ east: Double) -> [(Double, Double)] {
        if east - west >= 360 { return [(-180, 180)] }
        if west < -180 { return [(west + 360, 180), (-180, east)] }
        return east > 180 ? [(west, 180), (-180, east - 360)] : [(west, east)]
    }

    @inline(__always)
    private static func key(_ row: Int32, _ column: Int32) -> UInt64 {
        UInt64(UInt32(bitPattern: row) & 0xFFF_FFFF) << 28 | UInt64(UInt32(bitPattern: column) & 0xFFF_FFFF)
    }

    /// Columns have twice as many steps where the cosine of the latitude falls below a half, a quarter and so on.
    @inline(__always)
    private static func columnShift(_ row: Int32, _ shift: Int32) -> Int32 {
        let nearest = UInt32((row < 0 ? -1 - row : row).magnitude) << UInt32(shift)
        switch nearest {
        case ..<600_000_000: return shift
        case ..<755_224_878: return shift + 1
        case ..<828_192_442: return shift + 2
        case ..<864_166_783: return shift + 3
        default: return min(32, shift + doublings(nearest))
        }
    }

    /// How often the cosine of a latitude, in steps, can be doubled up to 1.
    private static func doublings(_ latitude: UInt32) -> Int32 {
        Int32(max(4, min(32, -log2(max(1e-9, cos(Double(latitude) * step * .pi / 180))))))
    }

    /// Metres from south to north, at most.
    static func height(_ shift: Int32) -> Double { Double(1 << Int(shift)) * step * QuickDistance.degree }

    /// The bounds of a cell, in degrees.
    struct Box {
        private let south, north, west, east: Double
        /// Metres between its corners, at most.
        let diagonal: Double

        /// Of the cell that a position, in steps, is in.
        init(_ latitude: Int32, _ longitude: Int32, shift: Int32) {
            let row = latitude >> shift
            let columnShift = SurfaceGrid.columnShift(row, shift)
            let height = Double(1 << Int(shift)) * SurfaceGrid.step
            let width = Double(1 << Int(columnShift)) * SurfaceGrid.step
            south = Double(row) * height
            north = south + height
            west = Double(longitude >> columnShift) * width
            east = west + width
            let nearest = max(0, south, -north)
            let parallel = width * QuickDistance.degree * cos(nearest * .pi / 180)
            diagonal = (SurfaceGrid.height(shift) * SurfaceGrid.height(shift) + parallel * parallel).squareRoot()
        }

        /// Metres to something within a circle, at most 2 m less than it is, or the diagonal less where its middle is far away; 0 near the
        /// poles.
        func distance(to extent: PlaceExtent) -> Double {
            // Columns are no longer cut by rows there, and meridians bend.
            guard max(abs(south), abs(north)) < 86 else { return 0 }
            let latitude = max(south, min(north, extent.latitude))
            let turns = [0, 360, -360].map { turn in
                let own = extent.longitude + turn
                let nearest = max(west, min(east, own))
                return (nearest: nearest, away: abs(own - nearest))
            }
            guard let longitude = turns.min(by: { $0.away < $1.away })?.nearest else { return 0 }
            let own = ECEF(latitude: extent.latitude, longitude: extent.longitude)
            let chord = own.squaredChord(to: ECEF(latitude: latitude, longitude: longitude)).squareRoot()
            // What is nearest by latitude and longitude is not quite the nearest: 10 km away that makes less than a metre.
            return chord - extent.radius - (chord < 10_000 ? 2 : diagonal)
        }
    }
}
