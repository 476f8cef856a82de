public import Foundation

/// A circumstance became true of a device, or false again.
///
/// The id is stable: the same event delivered again has the same one.
public struct CircumstanceEvent: GeomatchAnswer, Identifiable {
    /// A place that the device was at or near.
    public struct Place: Sendable, Identifiable {
        public var id: String
        public var name: String?
        public var categoryIDs: [String]
        public var chainID: String?
        public var distance: Measurement<UnitLength>?
        public var latitude: Double?
        public var longitude: Double?
    }

    /// Everything the daemon said of it.
    public let members: [String: PropertyValue]
    public let id: String
    public let circumstanceID: String
    public let deviceID: String

    init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("incidentId")
        circumstanceID = try members.required("circumstanceId")
        deviceID = try members.required("deviceId")
    }

    /// True: it became true. False: it became false again.
    public var isArriving: Bool { members["when"]?.stringValue == "arriving" }
    public var name: String? { members["name"]?.stringValue }
    public var tags: [String] { (members["tags"]?.arrayValue ?? []).compactMap(\.stringValue) }
    public var timestamp: Date? { members["timestamp"]?.date }
    public var location: GeoLocation? { GeoLocation(members["location"]) }
    /// At most 10.
    public var atPlaces: [Place] { Place.list(members["atPlaces"]) }
    /// At most 20.
    public var nearPlaces: [Place] { Place.list(members["nearPlaces"]) }
}

extension CircumstanceEvent.Place {
    static func list(_ value: PropertyValue?) -> [Self] {
        (value?.arrayValue ?? []).compactMap { place in
            guard let id = place["id"]?.stringValue else { return nil }
            return Self(
                id: id, name: place["name"]?.stringValue,
                categoryIDs: (place["categoryIds"]?.arrayValue ?? []).compactMap(\.stringValue),
                chainID: place["chainId"]?.stringValue,
                distance: place["distance"]?.doubleValue.map { Measurement(value: $0, unit: .meters) },
                latitude: place["latitude"]?.doubleValue, longitude: place["longitude"]?.doubleValue)
        }
    }
}

/// A device began to see a monitored beacon, or ceased to.
public struct BeaconEvent: GeomatchAnswer {
    /// Everything the daemon said of it.
    public let members: [String: PropertyValue]
    public let deviceID: String
    public let proximityUUID: String
    /// True: it began to see it.
    public let hasEntered: Bool

    init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        deviceID = try members.required("deviceId")
        proximityUUID = try members.required("proximityUUID")
        let event: String = try members.required("event")
        guard ["entered", "exited"].contains(event) else { throw .malformed("event", "is neither entered nor exited") }
        hasEntered = event == "entered"
    }

    public var major: Int? { members["major"]?.intValue }
    public var minor: Int? { members["minor"]?.intValue }
    public var timestamp: Date? { members["timestamp"]?.date }
}
