/// The tenant everything belongs to.
public struct GeoDataset: GeomatchAnswer {
    /// What the daemon said of it, with counts.
    public let members: [String: PropertyValue]
    public let id: String

    init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("id")
    }

    /// Whether only declared structure and domains are accepted.
    public var isStrict: Bool { members["policy"]?.stringValue == "strict" }
    /// The domains that are active; nil where all are.
    public var domains: [LiveDomain]? {
        members["domains"]?.arrayValue.map { $0.compactMap(\.stringValue).map { LiveDomain(rawValue: $0) } }
    }
    /// An IANA zone.
    public var timeZone: String? { members["timeZone"]?.stringValue }
}

/// The client's dataset.
public struct DatasetRequests: Sendable {
    let client: GeomatchClient

    /// Structure policy, active domains and counts.
    public func get() async throws(GeomatchError) -> GeoDataset {
        try GeoDataset(members: await client.request("dataset/get"))
    }
}

extension GeomatchClient {
    public var devices: ObjectCollection<GeoDevice> { ObjectCollection(client: self) }
    public var publications: ObjectCollection<GeoPublication> { ObjectCollection(client: self) }
    public var subscriptions: ObjectCollection<GeoSubscription> { ObjectCollection(client: self) }
    public var matches: MatchRequests { MatchRequests(client: self) }
    public var dataset: DatasetRequests { DatasetRequests(client: self) }
}
