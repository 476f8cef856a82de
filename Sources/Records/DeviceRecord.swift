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
    /// How it hangs; nil: it faces north, level.
    public var orientation: Orientation?
    /// The push targets, as texts, that their services call gone.
    public var goneTargets: [String] = []
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

extension DeviceRecord: DurableRecord {
    public static var kind: Kind { .device }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(id)
        fields.write(type.rawValue)
        fields.write(name)
        fields.write(list: group)
        fields.write(platform)
        fields.write(deviceToken)
        BeaconIdentity.write(beacon, to: &fields)
        fields.write(owner)
        fields.write(createdAt)
        fields.write(updatedAt)
        fields.write(revision)
        BeaconIdentity.write(carries, to: &fields)
        fields.write(ranging?.n)
        fields.write(ranging?.rssiOffset)
        fields.write(ranging?.filter.rawValue)
        fields.write(list: goneTargets.isEmpty ? nil : goneTargets)
        fields.write(ranging?.map?.text)
        fields.write(orientation?.heading)
        fields.write(orientation?.tilt)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        self.init(
            dataset: fields.text(), id: fields.text(), type: try fields.word(), name: fields.text(), group: try fields.list(),
            platform: fields.optionalText(), deviceToken: fields.optionalText(), beacon: .read(from: &fields),
            owner: fields.optionalText(), createdAt: fields.int64(), updatedAt: fields.int64(), revision: fields.text())
        carries = .read(from: &fields)
        let (n, rssiOffset) = (fields.double(), fields.double())
        if fields.isNull {
            fields.skip()
        } else {
            ranging = RangingSettings(n: n, rssiOffset: rssiOffset, filter: try fields.word())
        }
        goneTargets = try fields.optionalList() ?? []
        ranging?.map = fields.optionalText().flatMap { RadioMap($0) }
        let (heading, tilt) = (fields.optionalDouble(), fields.optionalDouble())
        orientation = heading.map { Orientation(heading: $0, tilt: tilt ?? 0) }
    }

    /// Every client may know the beacons of its dataset.
    public var feedEntry: FeedEntry? {
        .object(type: .device, id: id, revision: revision, owner: owner, reader: type == .beacon ? nil : owner)
    }
}

/// Which push targets of a device are gone.
public struct GoneTargetsAmendment: RecordAmendment {
    public static var kind: Kind { .device }
    public static let columns = ["goneTargets"]
    public let key: RecordKey
    public let targets: [String]

    public func write(to fields: inout some FieldWriter) { fields.write(list: targets.isEmpty ? nil : targets) }
}

extension BeaconIdentity {
    /// Three fields, which hold nothing where there is none.
    fileprivate static func write(_ beacon: Self?, to fields: inout some FieldWriter) {
        fields.write(beacon?.proximityUUID)
        fields.write(beacon?.major)
        fields.write(beacon?.minor)
    }

    fileprivate static func read(from fields: inout some FieldReader) -> Self? {
        let (uuid, major, minor) = (fields.optionalText(), fields.int(), fields.int())
        return uuid.map { Self(proximityUUID: $0, major: major, minor: minor) }
    }
}

extension DurableChange {
    package static func putGoneTargets(dataset: String, deviceId: String, _ targets: [String]) -> Self {
        .amend(GoneTargetsAmendment(key: RecordKey(.device, dataset, deviceId), targets: targets))
    }
    /// Removes the device with its publications, subscriptions, their pairs and visits, what is held of it, where it was, and its
    /// matches, those still to be delivered apart.
    package static func deleteDevice(dataset: String, id: String) -> Self { .delete(RecordKey(.device, dataset, id)) }
    /// Removes what is remembered of a device that stays: the pairs and visits of its publications and subscriptions, its visits
    /// to places and its stay, and its matches, those still to be delivered apart.
    package static func forgetDevice(dataset: String, id: String) -> Self { .forget(RecordKey(.device, dataset, id)) }
}
