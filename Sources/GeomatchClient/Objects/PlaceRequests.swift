extension GeoPlace {
    /// Degrees, WGS 84.
    public var latitude: Double? { members["latitude"]?.doubleValue }
    public var longitude: Double? { members["longitude"]?.doubleValue }
    public var timeZone: String? { members["timeZone"]?.stringValue }
    /// A GeoJSON geometry: a point, or an outline.
    public var geometry: PropertyValue? { members["geometry"] }
    public var revision: String? { members["revision"]?.stringValue }
}

/// A place where a device, or a position, may be.
public struct GeoPlaceCandidate: GeomatchAnswer, Identifiable {
    /// Everything the daemon said of it.
    public let members: [String: PropertyValue]
    public let id: String
    /// 0…1
    public let probability: Double

    init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("place_id")
        probability = try members.required(number: "probability")
    }

    public var name: String? { members["name"]?.stringValue }
}

/// Places of the client's dataset.
public struct PlaceRequests: Sendable {
    let client: GeomatchClient

    public func get(_ id: String) async throws(GeomatchError) -> GeoPlace {
        try GeoPlace(members: await client.request("place/get", parameters: ["id": .string(id)]))
    }

    /// Places in the order of their ids; at most `limit` (1…1000).
    ///
    /// - Parameter categoryID: With the categories below it.
    public func list(
        within area: LiveArea? = nil, categoryID: String? = nil, chainID: String? = nil, limit: Int? = nil, after: String? = nil
    ) async throws(GeomatchError) -> GeomatchPage<GeoPlace> {
        var parameters: [String: PropertyValue] = [:]
        if let area { parameters["within"] = PropertyValue(area.json) }
        parameters.put("categoryId", categoryID)
        parameters.put("chainId", chainID)
        parameters.put("limit", limit)
        parameters.put("after", after)
        let reply = try await client.request("place/list", parameters: parameters)
        var places: [GeoPlace] = []
        for place in reply["places"]?.arrayValue ?? [] { places.append(try GeoPlace(members: place.objectValue ?? [:])) }
        return GeomatchPage(objects: places, next: reply["next"]?.stringValue)
    }

    /// The places where a position may be, the most probable first.
    public func candidates(at location: GeoLocation) async throws(GeomatchError) -> [GeoPlaceCandidate] {
        var parameters: [String: PropertyValue] = [
            "latitude": .number(location.latitude), "longitude": .number(location.longitude),
        ]
        parameters.put("horizontalAccuracy", location.horizontalAccuracy)
        return try await candidates(parameters)
    }

    /// The places where a device may be, the most probable first.
    public func candidates(of deviceID: String) async throws(GeomatchError) -> [GeoPlaceCandidate] {
        try await candidates(["deviceId": .string(deviceID)])
    }

    private func candidates(_ parameters: [String: PropertyValue]) async throws(GeomatchError) -> [GeoPlaceCandidate] {
        let reply = try await client.request("place/candidates", parameters: parameters)
        var candidates: [GeoPlaceCandidate] = []
        for candidate in reply["candidates"]?.arrayValue ?? [] {
            candidates.append(try GeoPlaceCandidate(members: candidate.objectValue ?? [:]))
        }
        return candidates
    }

    public func delete(_ id: String) async throws(GeomatchError) {
        try await client.request("place/delete", parameters: ["id": .string(id)])
    }
}

extension GeomatchClient {
    public var places: PlaceRequests { PlaceRequests(client: self) }
    public var structure: StructureRequests { StructureRequests(client: self) }
}
