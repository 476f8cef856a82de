import Geofencing
import Wire

/// What a geofence is durably. Its id is known once for each client, its path once in the dataset.
public struct GeofenceRecord: Equatable, Sendable {
    public var dataset: String
    /// The client that created it, whose tree its events are delivered to.
    public var owner: String
    public var id: String
    public var name: String?
    /// As it was sent, JSON.
    public var area: String
    /// Ids, ids with a `*` at their end, and groups; empty for its owner's devices and those without an owner.
    public var devices: [String]
    public var rule: FenceRule
    public var pushers: [String]
    /// What webhooks are signed with. Write-only: no reply, event or log ever holds it.
    public var secret: String?
    /// As it was sent, JSON.
    public var notification: String?
    public var isEnabled: Bool
    public var delivery: Delivery
    public var createdAt: Int64
    public var updatedAt: Int64
    public var revision: String

    public init(
        dataset: String, owner: String, id: String, name: String? = nil, area: String, devices: [String] = [],
        rule: FenceRule = FenceRule(), pushers: [String] = [], secret: String? = nil, notification: String? = nil,
        isEnabled: Bool = true, delivery: Delivery = Delivery(), createdAt: Int64, updatedAt: Int64, revision: String = ""
    ) {
        self.dataset = dataset
        self.owner = owner
        self.id = id
        self.name = name
        self.area = area
        self.devices = devices
        self.rule = rule
        self.pushers = pushers
        self.secret = secret
        self.notification = notification
        self.isEnabled = isEnabled
        self.delivery = delivery
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }

    /// What it is known by in its dataset: clients' names have no slash.
    public var path: String { Self.path(owner, id) }

    package static func path(_ owner: String, _ id: String) -> String { "\(owner)/\(id)" }

    /// The id within a path.
    package static func id(inPath path: String) -> String { String(path.drop { $0 != "/" }.dropFirst()) }
}

/// That a device is inside of a geofence: what its end will refer to.
public struct GeofenceVisitRecord: Equatable, Sendable {
    public var dataset: String
    /// The path of the geofence.
    public var geofence: String
    public var deviceID: String
    /// The id of the event that it began with.
    public var id: String
    /// Milliseconds since 1970 UTC.
    public var since: Int64
    public var hasDwelled: Bool
    /// With accuracy `likely`, when the first of the fixes was that are all outside; nil where the last one was not.
    public var outsideSince: Int64?

    public init(
        dataset: String, geofence: String, deviceID: String, id: String, since: Int64, hasDwelled: Bool = false,
        outsideSince: Int64? = nil
    ) {
        self.dataset = dataset
        self.geofence = geofence
        self.deviceID = deviceID
        self.id = id
        self.since = since
        self.hasDwelled = hasDwelled
        self.outsideSince = outsideSince
    }
}

extension GeofenceRecord: DurableRecord {
    public static var kind: Kind { .geofence }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(path)
        fields.write(owner)
        fields.write(id)
        fields.write(name)
        fields.write(area)
        fields.write(list: devices)
        fields.write(rule.accuracy.rawValue)
        fields.write(rule.floor.rawValue)
        fields.write(rule.exitMargin)
        fields.write(rule.dwell)
        fields.write(rule.staleAfter)
        fields.write(list: pushers)
        fields.write(secret)
        fields.write(notification)
        fields.write(isEnabled)
        fields.write(createdAt)
        fields.write(updatedAt)
        fields.write(revision)
        delivery.write(to: &fields)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        let dataset = fields.text()
        fields.skip()
        let (owner, id, name, area) = (fields.text(), fields.text(), fields.optionalText(), fields.text())
        let devices = try fields.list()
        let rule = FenceRule(
            accuracy: try fields.word(), floor: try fields.word(), exitMargin: fields.double(), dwell: fields.int64(),
            staleAfter: fields.optionalInt64())
        let pushers = try fields.list()
        let (secret, notification, isEnabled) = (fields.optionalText(), fields.optionalText(), fields.flag())
        let (createdAt, updatedAt, revision) = (fields.int64(), fields.int64(), fields.text())
        self.init(
            dataset: dataset, owner: owner, id: id, name: name, area: area, devices: devices, rule: rule, pushers: pushers,
            secret: secret, notification: notification, isEnabled: isEnabled, delivery: Delivery(from: &fields),
            createdAt: createdAt, updatedAt: updatedAt, revision: revision)
    }

    public var feedEntry: FeedEntry? {
        .object(type: .geofence, id: path, revision: revision, owner: owner, reader: owner)
    }
}

extension GeofenceVisitRecord: DurableRecord {
    public static var kind: Kind { .geofenceVisit }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(geofence)
        fields.write(deviceID)
        fields.write(id)
        fields.write(since)
        fields.write(hasDwelled)
        fields.write(outsideSince)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), geofence: fields.text(), deviceID: fields.text(), id: fields.text(), since: fields.int64(),
            hasDwelled: fields.flag(), outsideSince: fields.optionalInt64())
    }
}

/// The delivery counters of a geofence.
public struct GeofenceDeliveryAmendment: RecordAmendment {
    public static var kind: Kind { .geofence }
    public static let columns = DeliveryAmendment.columns
    public static var isReplaced: Bool { true }
    public let key: RecordKey
    public let delivery: Delivery

    public func write(to fields: inout some FieldWriter) { delivery.write(to: &fields) }
}

extension GeofenceRecord: JSONObjectEncodable {
    /// As requests answer with it and the change feed shows it; without `delivery` and the secret.
    package func encodeMembers(into writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("name", optional: name)
        writer.key("area")
        writer.raw(Array(area.utf8))
        if !devices.isEmpty { writer.member("devices", devices) }
        writer.member("exitMargin", rule.exitMargin)
        writer.member("dwell", Double(rule.dwell) / 1000)
        writer.member("staleAfter", optional: rule.staleAfter.map { Double($0) / 1000 })
        writer.member("accuracy", rule.accuracy.rawValue)
        writer.member("floor", rule.floor.rawValue)
        writer.member(pushers: pushers)
        writer.member(notification: notification)
        writer.member("enabled", isEnabled)
        writer.stamps(createdAt, updatedAt, owner: owner, revision)
    }
}

extension DurableChange {
    /// Removes the geofence with its visits; events on their way stay.
    package static func deleteGeofence(dataset: String, path: String) -> Self { .delete(RecordKey(.geofence, dataset, path)) }
    package static func putDelivery(dataset: String, geofence path: String, _ delivery: Delivery) -> Self {
        .amend(GeofenceDeliveryAmendment(key: RecordKey(.geofence, dataset, path), delivery: delivery))
    }
}
