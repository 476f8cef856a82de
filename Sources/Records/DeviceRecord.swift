import Ranging

/// What a device is durably. Its position is not here: that is the live state of its position topic.
public struct DeviceRecord: Equatable, Sendable {
    public var dataset: String
    public var id: String
    public var type: DeviceType
    public var name: String
    public var group: [String]
    public var platform: String?
    public var deviceToken: String?
    public var beacon: BeaconIdentity?
    /// The beacon that it carries about: by it, gateways know where the device is.
    public var carries: BeaconIdentity?
    /// How it ranges the beacons it sees; nil: as everybody.
    public var ranging: RangingSettings?
    /// The client that created it; nil for a device made by its first position.
    public var owner: String?
    public var createdAt: Int64
    public var updatedAt: Int64
    public var revision: String

    public init(
        dataset: String, id: String, type: DeviceType, name: String = "", group: [String] = [], platform: String? = nil,
        deviceToken: String? = nil, beacon: BeaconIdentity? = nil, owner: String? = nil, createdAt: Int64, updatedAt: Int64,
        revision: String
    ) {
        self.dataset = dataset
        self.id = id
        self.type = type
        self.name = name
        self.group = group
        self.platform = platform
        self.deviceToken = deviceToken
        self.beacon = beacon
        self.owner = owner
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}
