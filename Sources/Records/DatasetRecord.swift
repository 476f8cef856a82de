/// Who may know the positions and sightings of a dataset; the raw value is the `livePositions` on the wire.
public enum LivePositions: String, CaseIterable, Sendable {
    /// Every reader of its live data.
    case all
    /// Nobody but the owners of the devices and administrators.
    case none
}

/// What a dataset is durably: a tenant with its structure policy.
public struct DatasetRecord: Equatable, Sendable {
    /// 1–64 of `A-Z a-z 0-9 . _ -`, not `live` or `geomatch`.
    public var id: String
    public var name: String?
    /// `open` or `strict`.
    public var policy: String
    /// The domains that are active in a strict dataset; nil where all are.
    public var domains: [String]?
    public var autoCreateDevices: Bool
    public var derivedOccupancy: Bool
    /// IANA name.
    public var timeZone: String
    /// Who may know where devices are.
    public var livePositions: LivePositions
    public var createdAt: Int64
    public var updatedAt: Int64
    /// `N-<hash>`.
    public var revision: String

    public init(
        id: String, name: String? = nil, policy: String = "open", domains: [String]? = nil, autoCreateDevices: Bool = true,
        derivedOccupancy: Bool = false, timeZone: String = "UTC", livePositions: LivePositions = .all, createdAt: Int64,
        updatedAt: Int64, revision: String
    ) {
        self.id = id
        self.name = name
        self.policy = policy
        self.domains = domains
        self.autoCreateDevices = autoCreateDevices
        self.derivedOccupancy = derivedOccupancy
        self.timeZone = timeZone
        self.livePositions = livePositions
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}

extension DatasetRecord: DurableRecord {
    public static var kind: Kind { .dataset }
    public var dataset: String { id }

    public func write(to fields: inout some FieldWriter) {
        fields.write(id)
        fields.write(name)
        fields.write(policy)
        fields.write(list: domains)
        fields.write(autoCreateDevices)
        fields.write(derivedOccupancy)
        fields.write(timeZone)
        fields.write(createdAt)
        fields.write(updatedAt)
        fields.write(revision)
        fields.write(livePositions.rawValue)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        self.init(
            id: fields.text(), name: fields.optionalText(), policy: fields.text(), domains: try fields.optionalList(),
            autoCreateDevices: fields.flag(), derivedOccupancy: fields.flag(), timeZone: fields.text(), createdAt: fields.int64(),
            updatedAt: fields.int64(), revision: fields.text())
        livePositions = try fields.word()
    }
}

/// That a dataset was deleted with everything it held: devices, publications, subscriptions, pairs, matches, live state, replies. There
/// may be one of its name again.
public struct DatasetDeletionRecord: DurableRecord {
    public static var kind: Kind { .deletedDataset }
    public var dataset: String
    public var at: Int64

    public init(dataset: String, at: Int64) {
        self.dataset = dataset
        self.at = at
    }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(at)
    }

    public init(from fields: inout some FieldReader) {
        self.init(dataset: fields.text(), at: fields.int64())
    }
}

extension DurableChange {
    package static func deleteDataset(id: String, at instant: Int64) -> Self {
        .put(DatasetDeletionRecord(dataset: id, at: instant))
    }

    package static func forgetDeletion(ofDataset id: String) -> Self { .delete(RecordKey(.deletedDataset, id)) }
}
