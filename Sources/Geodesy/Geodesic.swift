#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Distances along the ellipsoid.
public enum Geodesic {
    /// Up to here (metres) the corrected chord is right to 0.1 mm.
    @usableFromInline static let chordLimit = 20_000.0

    /// The length of the shortest path between two positions, in metres. Altitude is ignored.
    ///
    /// Up to 20 km: the straight chord plus d³/24R², right to 0.1 mm at any latitude, across the antimeridian and at the poles.
    /// Beyond: Vincenty's inverse formula (Survey Review XXIII (176), 1975), and where that does not converge, between nearly
    /// antipodal points, bisection of the azimuth on the auxiliary sphere (Karney, J. Geodesy 87, 2013, section 4); both right
    /// to a millimetre.
    ///
    /// - Returns: Never negative and, for valid degrees, never NaN; exactly 0 for equal positions and the same in both directions.
    public static func distance(
        fromLatitude: Double, fromLongitude: Double, toLatitude: Double, toLongitude: Double
    ) -> Double {
        let from = ECEF(latitude: fromLatitude, longitude: fromLongitude)
        let to = ECEF(latitude: toLatitude, longitude: toLongitude)
        return distance(from: from, to: to)
    }

    /// The same between points that are known already.
    @inlinable
    public static func distance(from: ECEF, to: ECEF) -> Double {
        let chord = from.squaredChord(to: to).squareRoot()
        return chord > chordLimit ? farDistance(from: from, to: to) : arc(ofChord: chord)
    }

    @usableFromInline
    static func farDistance(from: ECEF, to: ECEF) -> Double {
        let line = GeodesicLine(from: from, to: to)
        return line.vincenty() ?? line.bisected()
    }

    /// The length along the ellipsoid over a straight chord of at most 20 km, both in metres.
    @inlinable
    public static func arc(ofChord chord: Double) -> Double {
        chord + chord * chord * chord / (24 * Ellipsoid.meanRadius * Ellipsoid.meanRadius)
    }

    /// The straight chord under an arc of at most 20 km, both in metres.
    @inlinable
    public static func chord(ofArc arc: Double) -> Double {
        arc - arc * arc * arc / (24 * Ellipsoid.meanRadius * Ellipsoid.meanRadius)
    }
}
