import Geodesy
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Metres east and north of an origin: flat, right to a thousandth of a distance within some kilometres.
public struct LocalPlane: Sendable {
    /// A point of the plane.
    public struct Point: Equatable, Sendable {
        /// Metres east.
        public var x: Double
        /// Metres north.
        public var y: Double

        public init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }

        /// Metres, in a straight line.
        public func distance(to other: Point) -> Double {
            ((x - other.x) * (x - other.x) + (y - other.y) * (y - other.y)).squareRoot()
        }
    }

    private let latitude: Double
    private let longitude: Double
    private let metresPerLatitude: Double
    private let metresPerLongitude: Double

    public init(around origin: Position) {
        latitude = origin.latitude
        longitude = origin.longitude
        // The radii of curvature of WGS 84 at that latitude.
        let sine = sin(origin.latitude * .pi / 180)
        let flattening = 1 / 298.257223563
        let eccentricity = flattening * (2 - flattening)
        let scale = 1 - eccentricity * sine * sine
        let equator = 6_378_137.0
        metresPerLatitude = equator * (1 - eccentricity) / (scale * scale.squareRoot()) * .pi / 180
        // At a pole all longitudes are one: a small value keeps the way back finite.
        metresPerLongitude = max(1e-3, equator / scale.squareRoot() * cos(origin.latitude * .pi / 180) * .pi / 180)
    }

    public func point(_ position: Position) -> Point {
        let turn = (position.longitude - longitude).remainder(dividingBy: 360)
        return Point(x: turn * metresPerLongitude, y: (position.latitude - latitude) * metresPerLatitude)
    }

    public func position(_ point: Point) -> Position {
        let north = min(90, max(-90, latitude + point.y / metresPerLatitude))
        let east = (longitude + point.x / metresPerLongitude).remainder(dividingBy: 360)
        return Position(latitude: north, longitude: east)
    }
}
