public import Foundation

/// A position on the earth as it goes out with requests and comes with matches.
public struct GeoLocation: Sendable, Hashable {
    /// Degrees, WGS 84, −90…90.
    public var latitude: Double
    /// Degrees, WGS 84, −180…180.
    public var longitude: Double
    /// Metres.
    public var altitude: Double?
    /// Metres: the radius within which it is.
    public var horizontalAccuracy: Double?
    public var verticalAccuracy: Double?
    public var floorIndex: Int?
    /// When it was so; default: when it arrives.
    public var timestamp: Date?

    public init(
        latitude: Double, longitude: Double, altitude: Double? = nil, horizontalAccuracy: Double? = nil,
        verticalAccuracy: Double? = nil, floorIndex: Int? = nil, timestamp: Date? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.floorIndex = floorIndex
        self.timestamp = timestamp
    }
}

extension GeoLocation {
    /// Nil where there is no position.
    init?(_ value: PropertyValue?) {
        guard let latitude = value?["latitude"]?.doubleValue, let longitude = value?["longitude"]?.doubleValue else {
            return nil
        }
        self.init(
            latitude: latitude, longitude: longitude, altitude: value?["altitude"]?.doubleValue,
            horizontalAccuracy: value?["horizontalAccuracy"]?.doubleValue,
            verticalAccuracy: value?["verticalAccuracy"]?.doubleValue, floorIndex: value?["floorIndex"]?.intValue,
            timestamp: value?["timestamp"]?.date)
    }

    /// As parameters and live positions have it.
    public var properties: [String: PropertyValue] {
        var members: [String: PropertyValue] = ["latitude": .number(latitude), "longitude": .number(longitude)]
        members["altitude"] = altitude.map { .number($0) }
        members["horizontalAccuracy"] = horizontalAccuracy.map { .number($0) }
        members["verticalAccuracy"] = verticalAccuracy.map { .number($0) }
        members["floorIndex"] = floorIndex.map { .integer(Int64($0)) }
        members["timestamp"] = timestamp.map { .integer($0.milliseconds) }
        return members
    }
}

extension Date {
    /// Since 1970 UTC, within what the wire has.
    var milliseconds: Int64 { Int64(exactly: (timeIntervalSince1970 * 1000).rounded()) ?? 0 }
}

extension PropertyValue {
    /// From milliseconds since 1970 UTC.
    var date: Date? { doubleValue.map { Date(timeIntervalSince1970: $0 / 1000) } }
}
