public import Foundation

/// A rule over places, time and movement: ``GeomatchClient/circumstanceEvents`` reports when it becomes true of a device.
public struct GeoCircumstance: GeomatchAnswer, Identifiable {
    /// What is reported.
    public enum Trigger: String, Sendable {
        /// That it becomes true.
        case arriving
        /// That it ceases to be true.
        case departing
    }

    public let members: [String: PropertyValue]
    public let id: String
    /// As it was registered, such as `(at (= category-id "amenity=cafe"))`.
    public let expression: String

    public init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("id")
        expression = try members.required("expression")
    }

    /// Nil: it is evaluated on request only.
    public var trigger: Trigger? { members["when"]?.stringValue.flatMap(Trigger.init) }
    public var name: String? { members["name"]?.stringValue }
    public var tags: [String] { members.strings("tags") }
    /// Ids and groups of devices; empty: the client's and those without an owner.
    public var devices: [String] { members.strings("devices") }
    public var isEnabled: Bool { members["enabled"]?.boolValue ?? true }
    /// How far `near` reaches.
    public var nearRadius: Measurement<UnitLength>? {
        members["nearRadius"]?.doubleValue.map { Measurement(value: $0, unit: .meters) }
    }
    /// How far beyond an edge somebody has left.
    public var exitMargin: Measurement<UnitLength>? {
        members["exitMargin"]?.doubleValue.map { Measurement(value: $0, unit: .meters) }
    }
    public var owner: String? { members["owner"]?.stringValue }
    public var createdAt: Date? { members["createdAt"]?.date }
    public var updatedAt: Date? { members["updatedAt"]?.date }
    public var revision: String? { members["revision"]?.stringValue }
    /// What was suspicious when it was registered, such as a category that nobody knows.
    public var warnings: [String] { members.strings("warnings") }
}

extension GeoCircumstance {
    /// A circumstance to be registered.
    public struct Draft: GeomatchParameters {
        /// By the daemon's names; add what this library has no word for.
        public var parameters: [String: PropertyValue] = [:]

        /// - Parameters:
        ///   - expression: An S-expression; a mistake is refused with its position.
        ///   - trigger: nil: it is evaluated on request only.
        ///   - devices: Ids or groups; default: yours and those without an owner.
        ///   - nearRadius: Metres, 10…5000. Default: 250.
        ///   - exitMargin: Metres beyond an edge before somebody has left, 0…1000. Default: 10.
        public init(
            id: String, _ expression: String, on trigger: Trigger? = nil, name: String? = nil, tags: [String]? = nil,
            devices: [String]? = nil, nearRadius: Double? = nil, exitMargin: Double? = nil
        ) {
            parameters = ["id": .string(id), "expression": .string(expression)]
            parameters.put("when", trigger?.rawValue)
            parameters.put("name", name)
            parameters.put("tags", tags)
            parameters.put("devices", devices)
            parameters.put("nearRadius", nearRadius)
            parameters.put("exitMargin", exitMargin)
        }
    }

    /// Whether a circumstance is true of a device now.
    public struct Evaluation: GeomatchAnswer {
        public let members: [String: PropertyValue]

        /// Nil: unknown, as where the device has no position or a place no hours.
        public var isTrue: Bool? { members["value"]?.boolValue }
        /// At most 10.
        public var atPlaces: [CircumstanceEvent.Place] { CircumstanceEvent.Place.list(members["atPlaces"]) }
        /// At most 20.
        public var nearPlaces: [CircumstanceEvent.Place] { CircumstanceEvent.Place.list(members["nearPlaces"]) }
    }
}

/// Circumstances of the client.
public struct CircumstanceRequests: Sendable {
    let client: GeomatchClient

    /// Registers a circumstance, or replaces the client's one of this id.
    ///
    /// - Throws: `invalid` with the position of the mistake in the expression.
    @discardableResult
    public func register(_ draft: GeoCircumstance.Draft) async throws(GeomatchError) -> GeoCircumstance {
        try GeoCircumstance(members: await client.request("circumstance/register", parameters: draft.parameters))
    }

    @discardableResult
    public func enable(_ id: String) async throws(GeomatchError) -> GeoCircumstance {
        try GeoCircumstance(members: await client.request("circumstance/enable", parameters: ["id": .string(id)]))
    }

    /// It reports nothing until it is enabled.
    @discardableResult
    public func disable(_ id: String) async throws(GeomatchError) -> GeoCircumstance {
        try GeoCircumstance(members: await client.request("circumstance/disable", parameters: ["id": .string(id)]))
    }

    public func unregister(_ id: String) async throws(GeomatchError) {
        try await client.request("circumstance/unregister", parameters: ["id": .string(id)])
    }

    /// In the order of their ids; at most `limit` (1…1000).
    public func list(limit: Int? = nil, after: String? = nil) async throws(GeomatchError) -> GeomatchPage<GeoCircumstance> {
        var parameters: [String: PropertyValue] = [:]
        parameters.put("limit", limit)
        parameters.put("after", after)
        let reply = try await client.request("circumstance/list", parameters: parameters)
        var circumstances: [GeoCircumstance] = []
        for circumstance in reply["circumstances"]?.arrayValue ?? [] {
            circumstances.append(try GeoCircumstance(members: circumstance.objectValue ?? [:]))
        }
        return GeomatchPage(objects: circumstances, next: reply["next"]?.stringValue)
    }

    /// Whether a circumstance is true of a device now, enabled or not.
    public func evaluate(_ id: String, for deviceID: String) async throws(GeomatchError) -> GeoCircumstance.Evaluation {
        let parameters: [String: PropertyValue] = ["id": .string(id), "deviceId": .string(deviceID)]
        return GeoCircumstance.Evaluation(members: try await client.request("circumstance/evaluate", parameters: parameters))
    }
}

extension GeomatchClient {
    public var circumstances: CircumstanceRequests { CircumstanceRequests(client: self) }
}
