public import Foundation

/// The typed content of a live update, with units where they fit.
///
/// ``LiveUpdate/properties`` has everything that was sent beside it.
public enum LiveValue: Sendable, Equatable {
    case position(LivePosition)
    case occupancy(LiveOccupancy)
    /// Whether it is free.
    case availability(Bool)
    case count(Int)
    case temperature(Measurement<UnitTemperature>)
    /// Parts per million.
    case co2(Measurement<UnitDispersion>)
    /// Relative humidity, percent.
    case humidity(Double)
    /// The beacons an observer sees, nearest first.
    case proximity([LiveBeacon])
    /// Any other domain, and a known one whose properties are not as the contract has them.
    case custom([String: PropertyValue])
}

extension LiveUpdate {
    /// The content by its domain.
    public var value: LiveValue {
        switch domain {
        case .position: LivePosition(properties).map(LiveValue.position) ?? .custom(properties)
        case .occupancy: LiveOccupancy(properties).map(LiveValue.occupancy) ?? .custom(properties)
        case .availability: properties["available"]?.boolValue.map(LiveValue.availability) ?? .custom(properties)
        case .count: properties["count"]?.intValue.map(LiveValue.count) ?? .custom(properties)
        case .temperature:
            measured("temperature", UnitTemperature.celsius).map(LiveValue.temperature) ?? .custom(properties)
        case .co2: measured("co2", UnitDispersion.partsPerMillion).map(LiveValue.co2) ?? .custom(properties)
        case .humidity: properties["humidity"]?.doubleValue.map(LiveValue.humidity) ?? .custom(properties)
        case .proximity: LiveBeacon.all(in: properties).map(LiveValue.proximity) ?? .custom(properties)
        default: .custom(properties)
        }
    }

    /// The position; nil in any other domain.
    public var position: LivePosition? {
        if case .position(let position) = value { position } else { nil }
    }

    private func measured<UnitType: Unit>(_ key: String, _ unit: UnitType) -> Measurement<UnitType>? {
        properties[key]?.doubleValue.map { Measurement(value: $0, unit: unit) }
    }
}

/// Where something is.
public struct LivePosition: Sendable, Equatable {
    /// Degrees, WGS 84, −90…90.
    public var latitude: Double
    /// Degrees, WGS 84, −180…180.
    public var longitude: Double
    public var altitude: Measurement<UnitLength>?
    /// The radius within which it is; nil where none was sent.
    public var horizontalAccuracy: Measurement<UnitLength>?
    public var verticalAccuracy: Measurement<UnitLength>?
    public var floorIndex: Int?
    public var speed: Measurement<UnitSpeed>?
    /// Clockwise from north.
    public var course: Measurement<UnitAngle>?

    init?(_ properties: [String: PropertyValue]) {
        guard let latitude = properties["latitude"]?.doubleValue, let longitude = properties["longitude"]?.doubleValue
        else { return nil }
        func measured<UnitType: Unit>(_ key: String, _ unit: UnitType) -> Measurement<UnitType>? {
            properties[key]?.doubleValue.map { Measurement(value: $0, unit: unit) }
        }
        self.latitude = latitude
        self.longitude = longitude
        altitude = measured("altitude", .meters)
        horizontalAccuracy = measured("horizontalAccuracy", .meters)
        verticalAccuracy = measured("verticalAccuracy", .meters)
        floorIndex = properties["floorIndex"]?.intValue
        speed = measured("speed", .metersPerSecond)
        course = measured("course", .degrees)
    }
}

/// How many are in a room, on a floor.
public struct LiveOccupancy: Sendable, Equatable {
    public var numberOfPeople: Int
    public var capacity: Int?

    init?(_ properties: [String: PropertyValue]) {
        guard let people = properties["nrOfPeople"]?.intValue else { return nil }
        numberOfPeople = people
        capacity = properties["capacity"]?.intValue
    }

    /// 0 for empty, 1 for full; nil where no capacity is known.
    public var share: Double? {
        guard let capacity, capacity > 0 else { return nil }
        return Double(numberOfPeople) / Double(capacity)
    }
}

/// One beacon as an observer sees it.
public struct LiveBeacon: Sendable, Equatable {
    /// How far a beacon is, in the bands of iBeacon.
    public enum Band: String, Sendable {
        case immediate, near, far, unknown
    }

    public var proximityUUID: UUID
    public var major: Int
    public var minor: Int
    /// The beacon's device, where it is one.
    public var deviceID: String?
    public var distance: Measurement<UnitLength>?
    public var band: Band
    /// Signal strength, dBm.
    public var rssi: Double?
    /// Seconds since it was last seen, as of the update.
    public var age: Double?

    static func all(in properties: [String: PropertyValue]) -> [LiveBeacon]? {
        properties["beacons"]?.arrayValue.map { $0.compactMap { LiveBeacon($0) } }
    }

    private init?(_ beacon: PropertyValue) {
        guard let uuid = beacon["proximityUUID"]?.stringValue.flatMap({ UUID(uuidString: $0) }),
            let major = beacon["major"]?.intValue, let minor = beacon["minor"]?.intValue
        else { return nil }
        proximityUUID = uuid
        self.major = major
        self.minor = minor
        deviceID = beacon["deviceId"]?.stringValue
        distance = beacon["distance"]?.doubleValue.map { Measurement(value: $0, unit: .meters) }
        band = beacon["proximity"]?.stringValue.flatMap { Band(rawValue: $0) } ?? .unknown
        rssi = beacon["rssi"]?.doubleValue
        age = beacon["age"]?.doubleValue
    }
}
