import Geodesy

/// Which cells may hold something within a straight distance of a point: rows, and of each row columns.
///
/// Right everywhere: the latitudes come from the smallest radius of curvature of a meridian, the longitudes from the distance
/// of the point from the earth's axis.
struct CellSpan {
    /// Degrees.
    let south, north, longitude, width: Double

    /// - Parameters:
    ///   - curvature: Of the parallel, in 1/m: 1 by the distance from the earth's axis.
    ///   - reach: Metres, straight.
    @inline(__always)
    init(latitude: Double, longitude: Double, curvature: Double, reach: Double) {
        let rise = 2 * Self.arcsine(reach * (1 / (2 * 6_335_439))) * Self.degrees + 1e-9
        south = max(-90, latitude - rise)
        north = min(90, latitude + rise)
        self.longitude = longitude
        let sine = reach * curvature
        width = sine < 1 ? min(180, Self.arcsine(sine) * Self.degrees + 1e-9) : 180
    }

    private static var degrees: Double { 180 / .pi }

    /// Of the parallel of a point, in 1/m; infinite at a pole.
    @inline(__always)
    static func curvature(at point: ECEF) -> Double { 1 / (point.x * point.x + point.y * point.y).squareRoot() }

    /// - Parameter margin: Metres, straight, by which what is looked for may lie outside the box.
    init(box: Area.Box, margin: Double) {
        let rise = 2 * Self.arcsine(margin / (2 * 6_335_439)) * Self.degrees + 1e-9
        south = max(-90, box.south - rise)
        north = min(90, box.north + rise)
        longitude = Longitude.wrapped(box.west + box.width / 2)
        let farthest = max(abs(box.south), abs(box.north))
        let point = ECEF(latitude: farthest, longitude: 0)
        width = margin < point.x ? min(180, box.width / 2 + Self.arcsine(margin / point.x) * Self.degrees + 1e-9) : 180
    }

    /// Never less than the arcsine, which is convex: a sine above 1 gives more than a right angle.
    @inline(__always)
    private static func arcsine(_ sine: Double) -> Double { sine < 1 ? sine + 0.570_797 * sine * sine * sine : .pi }

    /// The columns of a row with so many: the first, not yet modulo their number, and how many.
    @inline(__always)
    func columns(of columns: Int) -> (first: Int, count: Int) {
        guard width < 180 else { return (0, columns) }
        let first = CellShape.column(longitude - width, of: columns)
        let last = CellShape.column(longitude + width, of: columns)
        return last - first >= columns - 1 ? (0, columns) : (first, last - first + 1)
    }
}
