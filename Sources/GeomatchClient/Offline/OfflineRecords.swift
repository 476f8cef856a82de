public import Foundation

/// A point of interest as the daemon has it.
public struct GeoPlace: GeomatchAnswer, OfflineRecord, Identifiable {
    public static let documentType = "place"
    public let members: [String: PropertyValue]
    public let id: String

    public init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("id")
    }

    public var name: String { members["name"]?.stringValue ?? "" }
    public var categoryIDs: [String] { members.strings("categoryIds") }
    public var chainID: String? { members["chainId"]?.stringValue }
    /// OSM `opening_hours`.
    public var openingHours: String? { members["openingHours"]?.stringValue }
}

/// A beacon known by its identity alone, kept as a document.
public struct GeoBeacon: OfflineRecord, Identifiable, GeomatchParameters {
    public static let documentType = "gbeacon"
    public let members: [String: PropertyValue]
    /// Empty in one that was not written yet.
    public let id: String
    public let proximityID: UUID
    /// 0…65535.
    public let major: Int
    /// 0…65535.
    public let minor: Int

    public init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = members["id"]?.stringValue ?? ""
        let text: String
        if let other = members["proximityUUID"]?.stringValue { text = other } else { text = try members.required("proximityID") }
        guard let uuid = UUID(uuidString: text), let major = members["major"]?.intValue, let minor = members["minor"]?.intValue
        else { throw .malformed("proximityID", "names no beacon") }
        (proximityID, self.major, self.minor) = (uuid, major, minor)
    }

    public init(id: String? = nil, proximityID: UUID, major: Int, minor: Int) {
        var members: [String: PropertyValue] = [
            "proximityID": .string(proximityID.uuidString), "major": .integer(Int64(major)), "minor": .integer(Int64(minor)),
        ]
        members["id"] = id.map { .string($0) }
        self.members = members
        self.id = id ?? ""
        (self.proximityID, self.major, self.minor) = (proximityID, major, minor)
    }

    public var parameters: [String: PropertyValue] { members }
}

/// One beacon was seen by one device, kept as a document.
public struct GeoSighting: OfflineRecord, Identifiable, GeomatchParameters {
    public static let documentType = "sighting"
    public let members: [String: PropertyValue]
    /// Empty in one that was not written yet.
    public let id: String
    /// Who saw it.
    public let deviceID: String
    public let proximityUUID: UUID
    public let major: Int
    public let minor: Int

    public init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = members["id"]?.stringValue ?? ""
        deviceID = try members.required("deviceId")
        let text: String = try members.required("proximityUUID")
        guard let uuid = UUID(uuidString: text), let major = members["major"]?.intValue, let minor = members["minor"]?.intValue
        else { throw .malformed("proximityUUID", "names no beacon") }
        (proximityUUID, self.major, self.minor) = (uuid, major, minor)
    }

    /// - Parameters:
    ///   - rssi: dBm.
    ///   - distance: Metres.
    public init(
        id: String? = nil, deviceID: String, proximityUUID: UUID, major: Int, minor: Int, rssi: Int? = nil,
        distance: Double? = nil,
        at timestamp: Date = Date()
    ) {
        var members: [String: PropertyValue] = [
            "deviceId": .string(deviceID), "proximityUUID": .string(proximityUUID.uuidString), "major": .integer(Int64(major)),
            "minor": .integer(Int64(minor)), "timestamp": .integer(timestamp.milliseconds),
        ]
        members["id"] = id.map { .string($0) }
        members["rssi"] = rssi.map { .integer(Int64($0)) }
        members["distance"] = distance.map { .number($0) }
        self.members = members
        self.id = id ?? ""
        (self.deviceID, self.proximityUUID, self.major, self.minor) = (deviceID, proximityUUID, major, minor)
    }

    public var parameters: [String: PropertyValue] { members }
    public var rssi: Int? { members["rssi"]?.intValue }
    /// Metres.
    public var distance: Double? { members["distance"]?.doubleValue }
    public var timestamp: Date? { members["timestamp"]?.date }
}
