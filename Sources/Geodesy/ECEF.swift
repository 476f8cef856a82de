/// A point on the ellipsoid in metres from the earth's centre (earth-centred, earth-fixed axes).
///
/// Straight distances between such points know no pole and no antimeridian.
@frozen
public struct ECEF: Equatable, Sendable {
    public var x, y, z: Double

    @inlinable
    public init(x: Double, y: Double, z: Double) {
        self.x = x
        self.y = y
        self.z = z
    }

    /// The point at these degrees and altitude 0.
    @inlinable
    public init(latitude: Double, longitude: Double) {
        let turn = Turn(degrees: SIMD2(latitude, longitude))
        let sine = turn.sine.x
        let normal = Ellipsoid.equatorialRadius / (1 - Ellipsoid.eccentricitySquared * sine * sine).squareRoot()
        let axis = normal * turn.cosine.x
        x = axis * turn.cosine.y
        y = axis * turn.sine.y
        z = normal * (1 - Ellipsoid.eccentricitySquared) * sine
    }

    /// The square of the straight distance, in square metres.
    @inlinable
    public func squaredChord(to other: ECEF) -> Double {
        let dx = x - other.x
        let dy = y - other.y
        let dz = z - other.z
        return dx * dx + dy * dy + dz * dz
    }
}
