#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A point on the ellipsoid, ECEF in whole 1/256 metres: what is stored by the million and compared exactly.
///
/// Rounding moves a point by at most 3.4 mm. Coordinates stay below 1.64e9, so a difference may wrap round in 32 bits, but only
/// where the true one is at least 4,000 km: a wrapped difference never looks near.
@frozen
public struct GridPoint: Equatable, Hashable, Sendable {
    public var x, y, z: Int32

    /// Steps in a metre.
    @inlinable public static var unitsPerMetre: Double { 256 }

    @inlinable
    public init(x: Int32, y: Int32, z: Int32) {
        self.x = x
        self.y = y
        self.z = z
    }

    @inlinable
    public init(_ point: ECEF) {
        x = GridPoint.nearest(point.x)
        y = GridPoint.nearest(point.y)
        z = GridPoint.nearest(point.z)
    }

    /// The point at these degrees, which must be valid (`Position.isValid`).
    @inlinable
    public init(latitude: Double, longitude: Double) {
        self.init(ECEF(latitude: latitude, longitude: longitude))
    }

    @inlinable
    static func nearest(_ metres: Double) -> Int32 {
        // Rounds to even by the adder, not by a call; the low half of the sum is the whole number.
        Int32(truncatingIfNeeded: (metres * unitsPerMetre + 6_755_399_441_055_744.0).bitPattern)
    }

    /// The square of the straight distance in square units: exact below 250 km, and surely far beyond that.
    @inlinable
    public func squaredChord(to other: GridPoint) -> Double {
        let dx = Double(x &- other.x)
        let dy = Double(y &- other.y)
        let dz = Double(z &- other.z)
        return dx * dx + dy * dy + dz * dz
    }

    /// The position this point came from, within 3.4 mm.
    public var position: Position {
        let px = Double(x)
        let py = Double(y)
        let axis = (px * px + py * py).squareRoot()
        let latitude = atan2(Double(z), axis * (1 - Ellipsoid.eccentricitySquared)) * 180 / .pi
        let longitude = x == 0 && y == 0 ? 0 : atan2(py, px) * 180 / .pi
        return Position(latitude: max(-90, min(90, latitude)), longitude: max(-180, min(180, longitude)))
    }
}
