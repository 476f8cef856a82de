import Glibc

/// When the sun rises and sets.
///
/// Source: L. Strous, "Astronomy Answers: Position of the Sun" (aa.quae.nl), the equations for the transit and the hour angle with
/// the mean elements of the Earth at J2000; within two minutes of the almanac below the polar circles.
enum Sun {
    enum Event: UInt8, Sendable {
        case dawn
        case sunrise
        case sunset
        case dusk

        /// The height of the sun's centre at the event: refraction and half its disc for rise and set, civil twilight for the others.
        var altitudeDegrees: Double {
            switch self {
            case .sunrise, .sunset: -0.833
            case .dawn, .dusk: -6
            }
        }

        /// When it mostly is, in minutes after midnight.
        var typicalMinutes: Int {
            switch self {
            case .dawn: 330
            case .sunrise: 360
            case .sunset: 1080
            case .dusk: 1110
            }
        }

        var isMorning: Bool { self == .dawn || self == .sunrise }
    }

    /// The instant of an event of the day with a noon, both milliseconds since 1970 UTC; nil where it does not happen (polar day
    /// or night).
    static func instant(of event: Event, around noon: Int64, latitude: Double, longitude: Double) -> Int64? {
        let radians = Double.pi / 180
        let west = -longitude * radians
        let days = Double(noon) / 86_400_000 - 10_957.5
        let cycle = (days - 0.0009 - west / (2 * .pi)).rounded()
        let approximate = 0.0009 + west / (2 * .pi) + cycle
        let anomaly = radians * (357.5291 + 0.98560028 * approximate)
        let centre = radians * (1.9148 * sin(anomaly) + 0.02 * sin(2 * anomaly) + 0.0003 * sin(3 * anomaly))
        let ecliptic = anomaly + centre + radians * 102.9372 + .pi
        let declination = asin(sin(radians * 23.4397) * sin(ecliptic))
        let transit = approximate + 0.0053 * sin(anomaly) - 0.0069 * sin(2 * ecliptic)
        let cosine =
            (sin(event.altitudeDegrees * radians) - sin(latitude * radians) * sin(declination))
            / (cos(latitude * radians) * cos(declination))
        guard cosine.magnitude <= 1 else { return nil }
        let half = acos(cosine) / (2 * .pi)
        let moment = event.isMorning ? transit - half : transit + half
        // J2000 is 2000-01-01T12:00, 10957.5 days after the epoch.
        return Int64(((moment + 10_957.5) * 86_400_000).rounded())
    }
}
