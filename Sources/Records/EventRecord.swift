/// A message that a circumstance occurred, or that a geofence or a region of beacons was entered or left, until its targets have it.
public struct EventRecord: Equatable, Sendable {
    /// What an event is about; also the level of its topic.
    public enum Source: String, Sendable, CaseIterable {
        case circumstance
        case beacon
        case geofence
    }

    /// Of the same sequence as the numbers of matches: the order of delivery.
    public var number: Int64
    public var dataset: String
    public var id: String
    public var source: Source
    /// Of the circumstance, the monitor, or the geofence.
    public var sourceID: String
    /// Whose tree it is delivered to.
    public var owner: String
    public var createdAt: Int64
    /// The JSON as published.
    public var body: [UInt8]
    /// Where it goes beside its topic, as that was when it was made.
    public var pushers: [String] = []
    public var secret: String?
    /// What push services are handed, as JSON; nil where it is for none.
    public var push: String?
    /// A bit for each target that is complete, and the worst that became of those.
    public var completed: UInt32 = 0
    public var fate = MatchFate.delivered

    public init(
        number: Int64, dataset: String, id: String, source: Source, sourceID: String, owner: String, createdAt: Int64,
        body: [UInt8]
    ) {
        self.number = number
        self.dataset = dataset
        self.id = id
        self.source = source
        self.sourceID = sourceID
        self.owner = owner
        self.createdAt = createdAt
        self.body = body
    }
}

/// How far the delivery of an event has come.
public struct EventProgress: RecordAmendment {
    public static var kind: Kind { .event }
    public static let columns = ["settled", "fate"]
    public let key: RecordKey
    /// A bit for each target that is complete.
    public let completed: UInt32
    public let fate: MatchFate

    public func write(to fields: inout some FieldWriter) {
        fields.write(Int64(completed))
        fields.write(fate.rank)
    }
}

extension EventRecord: DurableRecord {
    public static var kind: Kind { .event }

    public func write(to fields: inout some FieldWriter) {
        fields.write(number)
        fields.write(dataset)
        fields.write(id)
        fields.write(sourceID)
        fields.write(owner)
        fields.write(createdAt)
        fields.write(body)
        fields.write(source.rawValue)
        fields.write(list: pushers.isEmpty ? nil : pushers)
        fields.write(secret)
        fields.write(Int64(completed))
        fields.write(fate.rank)
        fields.write(push)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        let (number, dataset, id, sourceID) = (fields.int64(), fields.text(), fields.text(), fields.text())
        let (owner, createdAt, body) = (fields.text(), fields.int64(), fields.bytes())
        self.init(
            number: number, dataset: dataset, id: id, source: try fields.word(), sourceID: sourceID, owner: owner,
            createdAt: createdAt, body: body)
        pushers = try fields.optionalList() ?? []
        secret = fields.optionalText()
        completed = UInt32(truncatingIfNeeded: fields.int64())
        guard let fate = MatchFate(rank: fields.int()) else { throw MalformedRow() }
        self.fate = fate
        push = fields.optionalText()
    }
}

extension DurableChange {
    package static func eventProgress(number: Int64, completed: UInt32, fate: MatchFate) -> Self {
        .amend(EventProgress(key: RecordKey(.event, number: number), completed: completed, fate: fate))
    }
    /// All targets have the message.
    package static func eventCompleted(number: Int64) -> Self { .delete(RecordKey(.event, number: number)) }
}
