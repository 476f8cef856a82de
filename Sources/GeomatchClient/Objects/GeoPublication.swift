public import Foundation

/// Something that is offered around a device: a topic, a circle, properties, for a time.
public struct GeoPublication: GeomatchObject, Identifiable {
    public static let resource = "publication"
    public let members: [String: PropertyValue]
    public let id: String
    public let deviceID: String
    public let topic: String
    /// Metres around the device.
    public let range: Double

    public init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("id")
        deviceID = try members.required("deviceId")
        topic = try members.required("topic")
        range = try members.required(number: "range")
    }

    /// Seconds from ``createdAt``.
    public var duration: Double { members["duration"]?.doubleValue ?? 0 }
    public var properties: [String: PropertyValue] { members["properties"]?.objectValue ?? [:] }
    public var owner: String? { members["owner"]?.stringValue }
    /// Where its device was, in a match.
    public var location: GeoLocation? { GeoLocation(members["location"]) }
    public var createdAt: Date? { members["createdAt"]?.date }
    public var updatedAt: Date? { members["updatedAt"]?.date }
    public var revision: String? { members["revision"]?.stringValue }
}

extension GeoPublication {
    /// A publication to be created.
    public struct Draft: GeomatchParameters {
        /// By the daemon's names; add what this library has no word for.
        public var parameters: [String: PropertyValue] = [:]

        /// - Parameters:
        ///   - range: Metres, 1…5000.
        ///   - duration: 0 compares once, with what is alive now.
        ///   - properties: At most 64 strings, numbers, booleans, or arrays of those.
        public init(
            on deviceID: String, topic: String, range: Double, duration: Duration,
            properties: [String: PropertyValue] = [:], id: String? = nil
        ) {
            parameters.put("deviceId", deviceID)
            parameters.put("topic", topic)
            parameters.put("range", range)
            parameters.put("duration", seconds: duration)
            parameters.put("properties", properties)
            parameters.put("id", id)
        }
    }

    /// What an update changes; what is nil stays. It is evaluated at once.
    public struct Changes: GeomatchParameters {
        /// By the daemon's names; `null` removes an optional value.
        public var parameters: [String: PropertyValue] = [:]

        public init(
            topic: String? = nil, range: Double? = nil, duration: Duration? = nil,
            properties: [String: PropertyValue]? = nil
        ) {
            parameters.put("topic", topic)
            parameters.put("range", range)
            parameters.put("duration", seconds: duration)
            parameters.put("properties", properties)
        }
    }
}
