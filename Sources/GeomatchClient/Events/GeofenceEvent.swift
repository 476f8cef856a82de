public import Foundation

/// A device entered, dwelled in, or left a geofence.
///
/// The id is stable: the same event delivered again has the same one.
public struct GeofenceEvent: GeomatchAnswer, Identifiable {
    public enum Kind: String, Sendable {
        case entered, dwelled, exited
    }

    /// Everything the daemon said of it.
    public let members: [String: PropertyValue]
    public let id: String
    public let geofenceID: String
    public let deviceID: String
    /// Of the three events of one stay: the id of the first.
    public let visitID: String

    init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("id")
        geofenceID = try members.required("geofence")
        deviceID = try members.required("deviceId")
        visitID = try members.required("visit")
    }

    /// nil: of a kind that this library does not know.
    public var kind: Kind? { members["event"]?.stringValue.flatMap(Kind.init) }
    public var name: String? { members["name"]?.stringValue }
    public var timestamp: Date? { members["timestamp"]?.date }
    public var location: GeoLocation? { GeoLocation(members["location"]) }
    /// How long the visit was, at its end.
    public var duration: Duration? { members["duration"]?.doubleValue.map { .seconds($0) } }
    /// `left`, `deleted` or `lost`, at the end.
    public var reason: String? { members["reason"]?.stringValue }
}
