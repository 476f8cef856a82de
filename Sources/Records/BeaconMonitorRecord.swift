import Wire

/// A client wants to hear when devices enter and leave a region of beacons: durable until it says otherwise.
public struct BeaconMonitorRecord: Equatable, Sendable {
    public var dataset: String
    /// Whose it is; ids are the client's own.
    public var client: String
    public var id: String
    /// Canonical.
    public var proximityUUID: String
    public var major: Int?
    /// Only with a major.
    public var minor: Int?
    /// Ids and groups of devices; nil: all that the client reaches.
    public var devices: [String]?
    public var createdAt: Int64

    public init(
        dataset: String, client: String, id: String, proximityUUID: String, major: Int? = nil, minor: Int? = nil,
        devices: [String]? = nil, createdAt: Int64
    ) {
        self.dataset = dataset
        self.client = client
        self.id = id
        self.proximityUUID = proximityUUID
        self.major = major
        self.minor = minor
        self.devices = devices
        self.createdAt = createdAt
    }
}

extension BeaconMonitorRecord {
    package func encodeRegion(into writer: inout JSONWriter) {
        writer.member("proximityUUID", proximityUUID)
        if let major { writer.member("major", major) }
        if let minor { writer.member("minor", minor) }
    }
}

extension BeaconMonitorRecord: DurableRecord {
    public static var kind: Kind { .beaconMonitor }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(client)
        fields.write(id)
        fields.write(proximityUUID)
        fields.write(major)
        fields.write(minor)
        fields.write(list: devices)
        fields.write(createdAt)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        self.init(
            dataset: fields.text(), client: fields.text(), id: fields.text(), proximityUUID: fields.text(),
            major: fields.optionalInt(), minor: fields.optionalInt(), devices: try fields.optionalList(),
            createdAt: fields.int64())
    }
}

extension DurableChange {
    package static func deleteBeaconMonitor(dataset: String, client: String, id: String) -> Self {
        .delete(RecordKey(.beaconMonitor, dataset, client, id))
    }
}
