public import Foundation

/// Something with a position: a phone, a tag, a fixed point, or a beacon that is known by proximity only.
public struct GeoDevice: GeomatchObject, Identifiable {
    /// What it is; the raw value is the `deviceType` on the wire.
    public enum Kind: String, Sendable {
        case mobile = "MobileDevice"
        case pin = "PinDevice"
        case beacon = "IBeaconDevice"
    }

    public static let resource = "device"
    public let members: [String: PropertyValue]
    /// The `location` level of its live topics.
    public let id: String
    /// Nil for a kind this library does not know.
    public let kind: Kind?

    public init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("id")
        kind = members["deviceType"]?.stringValue.flatMap { Kind(rawValue: $0) }
    }

    public var name: String { members["name"]?.stringValue ?? "" }
    public var groups: [String] { members.strings("group") }
    public var platform: String? { members["platform"]?.stringValue }
    /// The client it belongs to; nil for one that came into being with its first position.
    public var owner: String? { members["owner"]?.stringValue }
    public var location: GeoLocation? { GeoLocation(members["location"]) }
    public var proximityUUID: UUID? { members["proximityUUID"]?.stringValue.flatMap { UUID(uuidString: $0) } }
    public var major: Int? { members["major"]?.intValue }
    public var minor: Int? { members["minor"]?.intValue }
    public var createdAt: Date? { members["createdAt"]?.date }
    public var updatedAt: Date? { members["updatedAt"]?.date }
    public var revision: String? { members["revision"]?.stringValue }
}

extension GeoDevice {
    /// A device to be created.
    public struct Draft: GeomatchParameters {
        /// By the daemon's names; add what this library has no word for.
        public var parameters: [String: PropertyValue]

        /// A phone or a tag.
        ///
        /// - Parameter id: 1–128 bytes; the daemon gives a UUID where there is none.
        public static func mobile(
            id: String? = nil, name: String? = nil, groups: [String]? = nil, platform: String? = nil,
            location: GeoLocation? = nil
        ) -> Draft {
            var draft = Draft(.mobile, id, name, groups)
            draft.parameters.put("platform", platform)
            draft.parameters.put("location", location)
            return draft
        }

        /// A point that stays where it is.
        public static func pin(
            id: String? = nil, name: String? = nil, groups: [String]? = nil, location: GeoLocation
        ) -> Draft {
            var draft = Draft(.pin, id, name, groups)
            draft.parameters.put("location", location)
            return draft
        }

        /// A beacon; `major` and `minor` are 0…65535.
        public static func beacon(
            id: String? = nil, name: String? = nil, groups: [String]? = nil, proximityUUID: UUID, major: Int, minor: Int
        ) -> Draft {
            var draft = Draft(.beacon, id, name, groups)
            draft.parameters.put("proximityUUID", proximityUUID.uuidString)
            draft.parameters.put("major", major)
            draft.parameters.put("minor", minor)
            return draft
        }

        private init(_ kind: Kind, _ id: String?, _ name: String?, _ groups: [String]?) {
            parameters = ["deviceType": .string(kind.rawValue)]
            parameters.put("id", id)
            parameters.put("name", name)
            parameters.put("group", groups)
        }
    }

    /// What an update changes; what is nil stays.
    public struct Changes: GeomatchParameters {
        /// By the daemon's names; `null` removes an optional value.
        public var parameters: [String: PropertyValue] = [:]

        public init(
            name: String? = nil, groups: [String]? = nil, platform: String? = nil, location: GeoLocation? = nil
        ) {
            parameters.put("name", name)
            parameters.put("group", groups)
            parameters.put("platform", platform)
            parameters.put("location", location)
        }
    }
}
