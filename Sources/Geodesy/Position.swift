/// A position: degrees on WGS 84, as it was sent.
///
/// A longitude of 180 stays 180; geometry treats it as the same meridian as -180. Altitude and accuracy are carried along and
/// take no part in any distance.
public struct Position: Equatable, Sendable {
    /// Degrees north, -90…90.
    public var latitude: Double
    /// Degrees east, -180…180.
    public var longitude: Double
    /// Metres above the ellipsoid or the sea, whichever the device meant.
    public var altitude: Double?
    /// Metres, the radius the device gave for its own error.
    public var horizontalAccuracy: Double?

    public init(latitude: Double, longitude: Double, altitude: Double? = nil, horizontalAccuracy: Double? = nil) {
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
    }

    /// Whether these are degrees of a point on the earth: finite, |latitude| ≤ 90 and |longitude| ≤ 180.
    public static func isValid(latitude: Double, longitude: Double) -> Bool {
        // Comparisons with NaN are false, so that it and the infinities are refused here too.
        abs(latitude) <= 90 && abs(longitude) <= 180
    }
}
