public import Foundation

/// Something that is looked for around a device: a topic, a circle, a condition, for a time.
public struct GeoSubscription: GeomatchObject, Identifiable {
    /// When a pair matches.
    public enum Mode: String, Sendable {
        /// One match for each pair, again after `matchTTL` or `matchDTL`.
        case once
        /// A match on entering and an end on leaving.
        case visit
    }

    /// What became of its matches; ends count as messages too.
    public struct Delivery: Sendable, Equatable {
        public var matched = 0
        public var delivered = 0
        public var retried = 0
        public var expired = 0
        public var dropped = 0
        public var pending = 0
        public var lastMatchAt: Date?
        public var lastError: String?
    }

    public static let resource = "subscription"
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
    /// An SQL-92 condition over a publication's properties; nil matches all.
    public var selector: String? { members["selector"]?.stringValue }
    public var mode: Mode? { members["mode"]?.stringValue.flatMap { Mode(rawValue: $0) } }
    /// Comparisons that can only be false because types differ.
    public var hints: [PropertyValue] { members["hints"]?.arrayValue ?? [] }
    public var pushers: [String] { members.strings("pushers") }
    public var owner: String? { members["owner"]?.stringValue }
    /// Where its device was, in a match.
    public var location: GeoLocation? { GeoLocation(members["location"]) }
    public var createdAt: Date? { members["createdAt"]?.date }
    public var updatedAt: Date? { members["updatedAt"]?.date }
    public var revision: String? { members["revision"]?.stringValue }

    /// Nil within a match.
    public var delivery: Delivery? {
        guard let counts = members["delivery"]?.objectValue else { return nil }
        func count(_ key: String) -> Int { counts[key]?.intValue ?? 0 }
        return Delivery(
            matched: count("matched"), delivered: count("delivered"), retried: count("retried"),
            expired: count("expired"), dropped: count("dropped"), pending: count("pending"),
            lastMatchAt: counts["lastMatchAt"]?.date, lastError: counts["lastError"]?.stringValue)
    }
}

extension GeoSubscription {
    /// A subscription to be created.
    public struct Draft: GeomatchParameters {
        /// By the daemon's names; add what this library has no word for.
        public var parameters: [String: PropertyValue] = [:]

        /// - Parameters:
        ///   - range: Metres, 1…5000.
        ///   - duration: 0 compares once, with what is alive now.
        ///   - selector: An SQL-92 condition over a publication's properties; nil matches all.
        ///   - matchTTL: After this time a pair may match again. Default: `duration`.
        ///   - matchDTL: Having moved so many metres, a pair may match again. Default: 2 × `range`.
        ///   - dwell: In visit mode, how long a pair stays in range before it counts.
        public init(
            on deviceID: String, topic: String, range: Double, duration: Duration, selector: String? = nil,
            matchTTL: Duration? = nil, matchDTL: Double? = nil, mode: Mode? = nil, dwell: Duration? = nil,
            exitMargin: Double? = nil, excludeSelf: Bool? = nil, pushers: [String]? = nil, id: String? = nil
        ) {
            parameters.put("deviceId", deviceID)
            parameters.put("topic", topic)
            parameters.put("range", range)
            parameters.put("duration", seconds: duration)
            parameters.put("selector", selector)
            parameters.put("matchTTL", seconds: matchTTL)
            parameters.put("matchDTL", matchDTL)
            parameters.put("mode", mode?.rawValue)
            parameters.put("dwell", seconds: dwell)
            parameters.put("exitMargin", exitMargin)
            parameters.put("excludeSelf", excludeSelf)
            parameters.put("pushers", pushers)
            parameters.put("id", id)
        }
    }

    /// What an update changes; what is nil stays. It is evaluated at once.
    public struct Changes: GeomatchParameters {
        /// By the daemon's names; `null` removes an optional value.
        public var parameters: [String: PropertyValue] = [:]

        public init(
            topic: String? = nil, range: Double? = nil, duration: Duration? = nil, selector: String? = nil,
            matchTTL: Duration? = nil, matchDTL: Double? = nil, pushers: [String]? = nil
        ) {
            parameters.put("topic", topic)
            parameters.put("range", range)
            parameters.put("duration", seconds: duration)
            parameters.put("selector", selector)
            parameters.put("matchTTL", seconds: matchTTL)
            parameters.put("matchDTL", matchDTL)
            parameters.put("pushers", pushers)
        }
    }
}
