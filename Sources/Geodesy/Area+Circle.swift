#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

extension Area {
    /// All that is at most so many metres from a centre, along the ellipsoid.
    ///
    /// Right to a millimetre, at any latitude and across the antimeridian.
    public struct Circle: Equatable, Sendable {
        /// Degrees.
        public let latitude, longitude: Double
        /// Metres.
        public let radius: Double
        private let centre: ECEF
        /// Metres: nothing whose straight distance is longer can be inside.
        private let squaredReach: Double

        /// The largest radius in metres: half the equator, beyond every point of the earth.
        public static let radiusMax = 20_037_509.0

        public init(latitude: Double, longitude: Double, radius: Double) throws(AreaError) {
            guard Position.isValid(latitude: latitude, longitude: longitude) else { throw .centre }
            guard radius > 0, radius <= Self.radiusMax else { throw .radius(radius) }
            self.latitude = latitude
            self.longitude = longitude
            self.radius = radius
            centre = ECEF(latitude: latitude, longitude: longitude)
            let reach = radius <= Geodesic.chordLimit ? Geodesic.chord(ofArc: radius) : radius
            squaredReach = reach * reach
        }

        public func contains(latitude: Double, longitude: Double) -> Bool {
            let squaredChord = centre.squaredChord(to: ECEF(latitude: latitude, longitude: longitude))
            guard squaredChord <= squaredReach else { return false }
            guard radius > Geodesic.chordLimit else { return true }
            // An arc is longer than its chord by a third at most up to a quarter of the earth, by 57 % at its other end.
            if squaredChord.squareRoot() * 1.6 < radius { return true }
            let distance = Geodesic.distance(
                fromLatitude: self.latitude, fromLongitude: self.longitude, toLatitude: latitude, toLongitude: longitude)
            return distance <= radius
        }

        /// A box that holds the circle.
        public var bounds: Box {
            // A sphere with the smallest radius of curvature of the ellipsoid, and a hundredth more.
            let angle = radius / 6_335_439 * 1.01
            let degrees = angle * 180 / .pi
            let south = latitude - degrees
            let north = latitude + degrees
            let cosine = cos(latitude * .pi / 180)
            guard south > -90, north < 90, sin(angle) < cosine else {
                return Box(checkedWest: -180, south: max(-90, south), east: 180, north: min(90, north))
            }
            let half = asin(sin(angle) / cosine) * 180 / .pi
            return Box(
                checkedWest: Self.wrapped(longitude - half), south: south, east: Self.wrapped(longitude + half), north: north)
        }

        private static func wrapped(_ longitude: Double) -> Double {
            longitude < -180 ? longitude + 360 : longitude > 180 ? longitude - 360 : longitude
        }
    }
}
