/// What a circumstance says: a truth over where a device is, when, and what is known of it.
public indirect enum Condition: Equatable, Sendable {
    case always
    case and([Condition])
    case or([Condition])
    case not(Condition)
    /// At one place of which all rules are true.
    case at([PlaceRule])
    /// Within the circumstance's radius of one place of which all rules are true.
    case near([PlaceRule])
    /// In the time zone of the dataset.
    case time(TimeRule)
    /// A visit to such a place has ended.
    case visited([PlaceRule])
    /// At least so many visits to such places, that of now included, in so many days of 24 hours.
    case frequents([PlaceRule], visits: Int, days: Int)
    case dwelling(seconds: Int)
    case moving
    case live(LiveRule)
}

/// What is said of one place.
public indirect enum PlaceRule: Equatable, Sendable {
    case always
    case any
    case and([PlaceRule])
    case or([PlaceRule])
    case not(PlaceRule)
    /// One of the values, compared byte by byte.
    case identity(IdentityKey, [String])
    case isOpen
    case hasOpenHours
    /// One of these levels.
    case threshold([ThresholdLevel])
    /// In the time zone of the place.
    case time(TimeRule)
}

/// By what a place is known in a rule.
public enum IdentityKey: String, Sendable, CaseIterable {
    case place = "factual-id"
    /// The category or one above it.
    case category = "category-id"
    case exactCategory = "exact-category-id"
    case chain = "chain-id"
}

/// How surely a device is at a place.
public enum ThresholdLevel: UInt8, Sendable, CaseIterable, Comparable {
    case none, low, high

    public static func < (left: ThresholdLevel, right: ThresholdLevel) -> Bool { left.rawValue < right.rawValue }

    /// As on the wire.
    public var name: String {
        switch self {
        case .none: "none"
        case .low: "low"
        case .high: "high"
        }
    }
}

public enum Comparison: String, Sendable, CaseIterable {
    case equal = "="
    case less = "<"
    case greater = ">"
    case lessOrEqual = "<="
    case greaterOrEqual = ">="

    package func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .equal: left == right
        case .less: left < right
        case .greater: left > right
        case .lessOrEqual: left <= right
        case .greaterOrEqual: left >= right
        }
    }
}

/// A day of the week (1 is Monday, 7 Sunday) or a minute of the day (0 to 1439) on a local clock.
public struct TimeRule: Equatable, Sendable {
    public enum Key: String, Sendable, CaseIterable {
        case dayOfWeek = "local-day-of-week"
        case minuteOfDay = "local-minute-of-day"

        public var range: ClosedRange<Int> { self == .dayOfWeek ? 1...7 : 0...1439 }
    }

    public let key: Key
    public let comparison: Comparison
    /// One, or with `any-of` several, of which one must be equal.
    public let values: [Int]

    public func holds(_ value: Int) -> Bool { values.contains { comparison.holds(value, $0) } }
}

/// A comparison with live data of the device's room or location.
public struct LiveRule: Equatable, Sendable {
    public enum Value: Equatable, Sendable {
        /// As it was written, and what it says.
        case number(Double)
        case text(String)
        case flag(Bool)
        /// What is known to be none, such as the geofence of a device that no geofence holds; no rule is written with it.
        case nothing
    }

    /// In lower case.
    public let domain: String
    public let property: String
    public let comparison: Comparison
    public let value: Value
}
