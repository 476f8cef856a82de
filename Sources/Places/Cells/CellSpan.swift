import Geodesy

/// Which cells may hold something within a straight distance of a point: rows, and of each row columns.
///
/// Right everywhere: the latitudes come from the smallest radius of curvature of a meridian, the longitudes from the distance
/// of the point from the earth's axis.
struct CellSpan {
    /// Degrees.
    let south, north, longitude, width: Double

    /// - Parameter reach: Metres, straight.
    init(latitude: Double, longitude: Double, point: ECEF, reach: Double) {
        let degrees = 180 / Double.pi
        let rise = 2 * Self.arcsine(reach / (2 * 6_335_439)) * degrees + 1e-9
        south = max(-90, latitude - rise)
        north = min(90, latitude + rise)
        self.longitude = longitude
        let axis = (point.x * point.x + point.y * point.y).squareRoot()
        width = reach < axis ? min(180, Self.arcsine(reach / axis) * degrees + 1e-9) : 180
    }

    /// - Parameter margin: Metres, straight, by which what is looked for may lie outside the box.
    init(box: Area.Box, margin: Double) {
        let degrees = 180 / Double.pi
        let rise = 2 * Self.arcsine(margin / (2 * 6_335_439)) * degrees + 1e-9
        south = max(-90, box.south - rise)
        north = min(90, box.north + rise)
        longitude = Longitude.wrapped(box.west + box.width / 2)
        let farthest = max(abs(box.south), abs(box.north))
        let point = ECEF(latitude: farthest, longitude: 0)
        width = margin < point.x ? min(180, box.width / 2 + Self.arcsine(margin / point.x) * degrees + 1e-9) : 180
    }

    /// Never less than the arcsine, which is convex: a sine above 1 gives more than a right angle.
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
