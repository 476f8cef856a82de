import Geodesy

/// Where a device has been of late without going anywhere: the mean of its fixes, which is more than any of them says.
public struct Stay: Equatable, Sendable {
    public private(set) var latitude: Double
    public private(set) var longitude: Double
    /// The sum of what the fixes weigh: 1 / the square of their accuracies.
    private var weight: Double
    private var fixes = 1.0
    /// Milliseconds since 1970 UTC: its first and its last fix.
    private var since: Int64
    private var until: Int64

    /// A shorter one is none, and what it came to is the last fix.
    private static let milliseconds: Int64 = 60_000
    /// Without a fix for so long it is over.
    private static let silenceMax: Int64 = 3_600_000
    /// Metres from its mean at which a fix is of the next one, by the fix's accuracy.
    private static let reach = (least: 30.0, accuracies: 1.5, most: 100.0)
    /// Errors of fixes are alike for so long; their mean is at most so much better than one of them.
    private static let alike = 120_000.0
    private static let gainMax = 2.0
    /// Of who sends no accuracy, and the best that is believed, metres.
    private static let accuracies = (usual: 15.0, least: 3.0)

    public init(_ position: Position, at instant: Int64) {
        (latitude, longitude) = (position.latitude, position.longitude)
        weight = Self.weight(of: position)
        (since, until) = (instant, instant)
    }

    /// Takes the next fix: the stay goes on, or the next one begins.
    public mutating func take(_ position: Position, at instant: Int64) {
        let accuracy = Self.accuracy(of: position)
        let reach = min(Self.reach.most, max(Self.reach.least, Self.reach.accuracies * accuracy))
        let metres = Geodesic.distance(
            fromLatitude: latitude, fromLongitude: longitude, toLatitude: position.latitude,
            toLongitude: position.longitude)
        let (elapsed, overflow) = instant.subtractingReportingOverflow(until)
        // A fix from the past belongs to no stay that is known.
        guard !overflow, elapsed >= 0, elapsed <= Self.silenceMax, metres <= reach else {
            if overflow || elapsed >= 0 { self = Stay(position, at: instant) }
            return
        }
        let own = Self.weight(of: position)
        weight += own
        fixes += 1
        latitude += (position.latitude - latitude) * own / weight
        longitude += (position.longitude - longitude).remainder(dividingBy: 360) * own / weight
        if abs(longitude) > 180 { longitude = longitude.remainder(dividingBy: 360) }
        until = instant
    }

    /// Seconds; nil where it is too short to count.
    public var seconds: Double? {
        until - since >= Self.milliseconds ? Double(until - since) / 1000 : nil
    }

    /// Metres within which two of three means lie.
    public var accuracy: Double {
        let single = (fixes / weight).squareRoot()
        let independent = min(fixes, 1 + Double(until - since) / Self.alike)
        return single / min(Self.gainMax, independent.squareRoot())
    }

    private static func accuracy(of position: Position) -> Double {
        guard let accuracy = position.horizontalAccuracy, accuracy > 0 else { return accuracies.usual }
        return max(accuracies.least, min(accuracy, 10_000))
    }

    private static func weight(of position: Position) -> Double {
        let accuracy = accuracy(of: position)
        return 1 / (accuracy * accuracy)
    }
}
