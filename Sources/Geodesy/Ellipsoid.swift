/// The figures of WGS 84. Source: NGA.STND.0036, 2014.
public enum Ellipsoid {
    /// The equatorial radius in metres.
    public static let equatorialRadius = 6_378_137.0
    /// The flattening.
    public static let flattening = 1 / 298.257_223_563
    /// The polar radius in metres.
    public static let polarRadius = 6_356_752.314_245_179
    /// The first eccentricity, squared.
    public static let eccentricitySquared = 6.694_379_990_141_316_5e-3
    /// The mean radius in metres, for what needs only the earth's curvature.
    public static let meanRadius = 6_371_008.8
}
