public import Foundation

/// An area that devices enter, dwell in and leave; ``GeomatchClient/geofenceEvents`` reports it.
public struct GeoGeofence: GeomatchObject, Identifiable {
    public static let resource = "geofence"
    public let members: [String: PropertyValue]
    public let id: String

    public init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("id")
    }

    public var name: String? { members["name"]?.stringValue }
    /// As it was created: a circle, a box, a GeoJSON geometry, or what names a place, a room or a device.
    public var area: PropertyValue { members["area"] ?? .null }
    /// Ids, patterns and groups of devices; empty: all of the client's.
    public var devices: [String] { members.strings("devices") }
    public var isEnabled: Bool { members["enabled"]?.boolValue ?? true }
    /// Why it encloses nothing at present.
    public var problem: String? { members["problem"]?.stringValue }
    public var owner: String? { members["owner"]?.stringValue }
    public var createdAt: Date? { members["createdAt"]?.date }
    public var updatedAt: Date? { members["updatedAt"]?.date }
    public var revision: String? { members["revision"]?.stringValue }
}

extension GeoGeofence {
    /// What a geofence encloses.
    public enum Area: Sendable {
        case fixed(LiveArea)
        /// The outline of a place, by its id.
        case place(String)
        /// The outline of a venue, building, floor or room, by its levels from the venue down.
        case structure([StructureLevel: String])
        /// A circle that moves with a device; the radius in metres.
        case around(device: String, radius: Double)

        var value: PropertyValue {
            switch self {
            case .fixed(let area): PropertyValue(area.json)
            case .place(let id): ["place": .string(id)]
            case .structure(let levels): ["structure": StructureLevel.value(of: levels)]
            case .around(let device, let radius): ["around": .string(device), "radius": .number(radius)]
            }
        }
    }

    /// A geofence to be created.
    public struct Draft: GeomatchParameters {
        /// By the daemon's names; add what this library has no word for.
        public var parameters: [String: PropertyValue] = [:]

        /// - Parameters:
        ///   - devices: Ids (a `*` at the end matches any rest) or groups; default: all of yours.
        ///   - exitMargin: Metres outside before somebody has left. Default: 10.
        ///   - dwell: How long a stay is before it counts as one; nil: it does not.
        public init(
            _ area: Area, id: String? = nil, name: String? = nil, devices: [String]? = nil, exitMargin: Double? = nil,
            dwell: Duration? = nil
        ) {
            parameters = ["area": area.value]
            parameters.put("id", id)
            parameters.put("name", name)
            parameters.put("devices", devices)
            parameters.put("exitMargin", exitMargin)
            parameters.put("dwell", seconds: dwell)
        }
    }

    /// What an update changes; what is nil stays.
    public struct Changes: GeomatchParameters {
        /// By the daemon's names; `null` removes an optional value.
        public var parameters: [String: PropertyValue] = [:]

        public init(area: Area? = nil, name: String? = nil, devices: [String]? = nil, isEnabled: Bool? = nil) {
            if let area { parameters["area"] = area.value }
            parameters.put("name", name)
            parameters.put("devices", devices)
            parameters.put("enabled", isEnabled)
        }
    }

    /// A device in a geofence.
    public struct Guest: Sendable, Equatable {
        public var deviceID: String
        public var since: Date?
    }
}

extension ObjectCollection where Object == GeoGeofence {
    /// Your geofences, in the order of their ids; at most `limit` (1…1000).
    public func list(limit: Int? = nil, after: String? = nil) async throws(GeomatchError) -> GeomatchPage<GeoGeofence> {
        try await page([:], limit: limit, after: after)
    }

    /// Who is inside now.
    public func inside(_ id: String) async throws(GeomatchError) -> [GeoGeofence.Guest] {
        let reply = try await client.request("geofence/inside", parameters: ["id": .string(id)])
        return (reply["devices"]?.arrayValue ?? []).compactMap { guest in
            guest["deviceId"]?.stringValue.map { GeoGeofence.Guest(deviceID: $0, since: guest["since"]?.date) }
        }
    }
}

extension GeomatchClient {
    public var geofences: ObjectCollection<GeoGeofence> { ObjectCollection(client: self) }
}
