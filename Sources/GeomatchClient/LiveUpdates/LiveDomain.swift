/// What a piece of live data is about: the last level of its topic, in lower case.
public struct LiveDomain: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue.lowercased() }
    public init(stringLiteral value: String) { self.init(rawValue: value) }
    public var description: String { rawValue }

    public static let position = LiveDomain(rawValue: "position")
    public static let occupancy = LiveDomain(rawValue: "occupancy")
    public static let availability = LiveDomain(rawValue: "availability")
    public static let count = LiveDomain(rawValue: "count")
    public static let temperature = LiveDomain(rawValue: "temperature")
    public static let co2 = LiveDomain(rawValue: "co2")
    public static let humidity = LiveDomain(rawValue: "humidity")
    public static let proximity = LiveDomain(rawValue: "proximity")
}
