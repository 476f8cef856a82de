/// The levels of a building's structure, from the whole to its parts.
public enum StructureLevel: String, Sendable, CaseIterable {
    case venue, building, floor, room, location

    static func value(of ids: [StructureLevel: String]) -> PropertyValue {
        .object(Dictionary(uniqueKeysWithValues: ids.map { ($0.key.rawValue, .string($0.value)) }))
    }
}

/// A venue, building, floor, room or location.
public struct StructureObject: GeomatchAnswer {
    /// Everything the daemon said of it.
    public let members: [String: PropertyValue]
    public let level: StructureLevel
    /// The level in a topic.
    public let id: String

    init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        guard let level = StructureLevel(rawValue: try members.required("level")) else {
            throw .malformed("level", "is none of \(StructureLevel.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self.level = level
        id = try members.required("id")
    }

    /// The ids of the levels above; those that do not apply are left out.
    public var parents: [StructureLevel: String] {
        var parents: [StructureLevel: String] = [:]
        for (name, id) in members["parents"]?.objectValue ?? [:] {
            if let level = StructureLevel(rawValue: name) { parents[level] = id.stringValue }
        }
        return parents
    }
    public var name: String? { members["name"]?.stringValue }
    public var floorIndex: Int? { members["floorIndex"]?.intValue }
    /// People.
    public var capacity: Int? { members["capacity"]?.intValue }
    /// A GeoJSON geometry, where it was asked for.
    public var outline: PropertyValue? { members["outline"] }
}

/// The structure of the client's dataset.
public struct StructureRequests: Sendable {
    let client: GeomatchClient

    /// Objects of a level, or below others; at most `limit` (1…1000).
    public func list(
        _ level: StructureLevel? = nil, in parents: [StructureLevel: String] = [:], outlines: Bool = false, limit: Int? = nil,
        after: String? = nil
    ) async throws(GeomatchError) -> GeomatchPage<StructureObject> {
        var parameters: [String: PropertyValue] = [:]
        parameters.put("level", level?.rawValue)
        if !parents.isEmpty { parameters["parents"] = StructureLevel.value(of: parents) }
        if outlines { parameters["outlines"] = true }
        parameters.put("limit", limit)
        parameters.put("after", after)
        let reply = try await client.request("structure/list", parameters: parameters)
        var objects: [StructureObject] = []
        for object in reply["objects"]?.arrayValue ?? [] {
            objects.append(try StructureObject(members: object.objectValue ?? [:]))
        }
        return GeomatchPage(objects: objects, next: reply["next"]?.stringValue)
    }

    /// One object with its outline.
    ///
    /// - Throws: `invalid` where several have this id and `parents` does not say which.
    public func get(
        _ level: StructureLevel, _ id: String, in parents: [StructureLevel: String] = [:]
    ) async throws(GeomatchError) -> StructureObject {
        try StructureObject(members: await client.request("structure/get", parameters: naming(level, id, parents)))
    }

    /// Deletes an object with everything below it; administrators may.
    ///
    /// - Returns: How many objects went.
    @discardableResult
    public func delete(
        _ level: StructureLevel, _ id: String, in parents: [StructureLevel: String] = [:]
    ) async throws(GeomatchError) -> Int {
        try await client.request("structure/delete", parameters: naming(level, id, parents))["deleted"]?.intValue ?? 0
    }

    private func naming(_ level: StructureLevel, _ id: String, _ parents: [StructureLevel: String]) -> [String: PropertyValue] {
        var parameters: [String: PropertyValue] = ["level": .string(level.rawValue), "id": .string(id)]
        if !parents.isEmpty { parameters["parents"] = StructureLevel.value(of: parents) }
        return parameters
    }
}
