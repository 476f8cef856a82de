extension KnownDomain {
    /// What the properties of its updates are called as they are published; of `proximity` there is none that a selector can name.
    public var propertyNames: [String] {
        switch self {
        case .position:
            [
                PositionName.latitude, .longitude, .altitude, .horizontalAccuracy, .verticalAccuracy, .floorIndex, .speed,
                .course,
            ].map(\.key)
        case .presence: ["geofences", "geofence"]
        case .proximity: []
        case .occupancy, .availability, .count, .temperature, .co2, .humidity:
            PropertyRule.rules(of: self).map { "\($0.name)" }
        }
    }

    /// What a property is published as that devices may send by another name, as `lat`.
    static let publishedNames = [
        "lat": "latitude", "lon": "longitude", "lng": "longitude", "long": "longitude", "alt": "altitude",
        "acc": "horizontalAccuracy", "accuracy": "horizontalAccuracy", "gps_accuracy": "horizontalAccuracy",
        "numberOfPeople": "nrOfPeople",
    ]

    /// The property that the author of a condition hardly meant to call `name`: no known domain has it, and one of `domains` has
    /// another that is spelled nearly so or that devices send by this name; nil for any other.
    public static func property(meantBy name: String, in domains: [KnownDomain] = allCases) -> String? {
        guard !allCases.contains(where: { $0.propertyNames.contains(name) }) else { return nil }
        let names = domains.flatMap(\.propertyNames)
        if let published = publishedNames[name] { return names.contains(published) ? published : nil }
        return Nearness.nearest(to: name, of: names)
    }

    /// The known domain that is spelled nearly as one of a user's own; nil where there is none, and for a known one.
    public static func domain(meantBy name: String) -> String? {
        KnownDomain(rawValue: name) == nil ? Nearness.nearest(to: name, of: allCases.map(\.rawValue)) : nil
    }
}
