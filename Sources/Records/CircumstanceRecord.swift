import Circumstances

/// What one circumstance is durably. Its id is known once in its dataset.
public struct CircumstanceRecord: Equatable, Sendable {
    public var dataset: String
    public var id: String
    /// The client that registered it, which its events are sent to.
    public var owner: String
    /// As it was sent.
    public var expression: String
    /// nil: it is evaluated on demand only.
    public var trigger: CircumstanceRule.Trigger?
    public var name: String?
    public var tags: [String]
    /// Ids and groups of devices; empty for its owner's and those without an owner.
    public var devices: [String]
    /// Metres.
    public var nearRadius: Double
    /// Metres.
    public var exitMargin: Double
    /// A trace goes with each message.
    public var debug: Bool
    public var isEnabled: Bool
    /// Where its events go beside its topic.
    public var pushers: [String] = []
    /// `{"title","body"}` of its push messages, as it was sent.
    public var notification: String?
    public var createdAt: Int64
    public var updatedAt: Int64
    public var revision: String

    public init(
        dataset: String, id: String, owner: String, expression: String, trigger: CircumstanceRule.Trigger? = nil,
        name: String? = nil, tags: [String] = [], devices: [String] = [], nearRadius: Double = 250, exitMargin: Double = 10,
        debug: Bool = false, isEnabled: Bool = true, createdAt: Int64, updatedAt: Int64, revision: String = ""
    ) {
        self.dataset = dataset
        self.id = id
        self.owner = owner
        self.expression = expression
        self.trigger = trigger
        self.name = name
        self.tags = tags
        self.devices = devices
        self.nearRadius = nearRadius
        self.exitMargin = exitMargin
        self.debug = debug
        self.isEnabled = isEnabled
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}

/// The last definite value of a circumstance for a device was true.
public struct HeldRecord: Equatable, Sendable {
    public var dataset: String
    public var circumstanceID: String
    public var deviceID: String

    public init(dataset: String, circumstanceID: String, deviceID: String) {
        self.dataset = dataset
        self.circumstanceID = circumstanceID
        self.deviceID = deviceID
    }
}

/// The visits of a device to a place.
public struct PlaceVisitRecord: Equatable, Sendable {
    public var dataset: String
    public var deviceID: String
    public var visits: VisitRow

    public init(dataset: String, deviceID: String, visits: VisitRow) {
        self.dataset = dataset
        self.deviceID = deviceID
        self.visits = visits
    }
}

/// Since when a device is where it is.
public struct StayRecord: Equatable, Sendable {
    public var dataset: String
    public var deviceID: String
    public var stay: StayRow

    public init(dataset: String, deviceID: String, stay: StayRow) {
        self.dataset = dataset
        self.deviceID = deviceID
        self.stay = stay
    }
}

extension CircumstanceRecord: DurableRecord {
    public static var kind: Kind { .circumstance }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(id)
        fields.write(owner)
        fields.write(expression)
        fields.write(trigger?.rawValue)
        fields.write(name)
        fields.write(list: tags)
        fields.write(list: devices)
        fields.write(nearRadius)
        fields.write(exitMargin)
        fields.write(debug)
        fields.write(isEnabled)
        fields.write(createdAt)
        fields.write(updatedAt)
        fields.write(revision)
        fields.write(list: pushers.isEmpty ? nil : pushers)
        fields.write(notification)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        let (dataset, id, owner, expression) = (fields.text(), fields.text(), fields.text(), fields.text())
        var trigger: CircumstanceRule.Trigger?
        if fields.isNull { fields.skip() } else { trigger = try fields.word() as CircumstanceRule.Trigger }
        self.init(
            dataset: dataset, id: id, owner: owner, expression: expression, trigger: trigger, name: fields.optionalText(),
            tags: try fields.list(), devices: try fields.list(), nearRadius: fields.double(), exitMargin: fields.double(),
            debug: fields.flag(), isEnabled: fields.flag(), createdAt: fields.int64(), updatedAt: fields.int64(),
            revision: fields.text())
        pushers = try fields.optionalList() ?? []
        notification = fields.optionalText()
    }

    public var feedEntry: FeedEntry? {
        .object(type: .circumstance, id: id, revision: revision, owner: owner, reader: owner)
    }
}

extension HeldRecord: DurableRecord {
    public static var kind: Kind { .held }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(circumstanceID)
        fields.write(deviceID)
    }

    public init(from fields: inout some FieldReader) {
        self.init(dataset: fields.text(), circumstanceID: fields.text(), deviceID: fields.text())
    }
}

extension PlaceVisitRecord: DurableRecord {
    public static var kind: Kind { .placeVisit }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(deviceID)
        fields.write(visits.placeID)
        fields.write(visits.count)
        fields.write(list: visits.ends.map { String($0) })
        fields.write(visits.openSince)
        fields.write(Int64(visits.level.rawValue))
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        let (dataset, deviceID, placeID, count) = (fields.text(), fields.text(), fields.text(), fields.int())
        let ends = try fields.list().map { text throws(MalformedRow) in
            guard let end = Int64(text) else { throw MalformedRow() }
            return end
        }
        let (openSince, rank) = (fields.optionalInt64(), fields.int())
        guard let level = ThresholdLevel.allCases.first(where: { Int($0.rawValue) == rank }) else { throw MalformedRow() }
        self.init(
            dataset: dataset, deviceID: deviceID,
            visits: VisitRow(placeID: placeID, count: count, ends: ends, openSince: openSince, level: level))
    }
}

extension StayRecord: DurableRecord {
    public static var kind: Kind { .stay }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(deviceID)
        fields.write(stay.latitude)
        fields.write(stay.longitude)
        fields.write(stay.since)
        fields.write(stay.isMoving)
        fields.write(stay.delay)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), deviceID: fields.text(),
            stay: StayRow(
                latitude: fields.double(), longitude: fields.double(), since: fields.int64(), isMoving: fields.optionalFlag(),
                delay: fields.optionalInt64()))
    }
}

extension DurableChange {
    /// Removes the circumstance with what is held of it; messages on their way stay.
    package static func deleteCircumstance(dataset: String, id: String) -> Self { .delete(RecordKey(.circumstance, dataset, id)) }
    package static func deleteHeld(_ record: HeldRecord) -> Self { .delete(record.key) }
    package static func deletePlaceVisit(dataset: String, deviceId: String, placeId: String) -> Self {
        .delete(RecordKey(.placeVisit, dataset, deviceId, placeId))
    }
}
