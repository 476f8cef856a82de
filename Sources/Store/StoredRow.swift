import Records

/// One row of a store on its way into another one, whatever engine it is in.
public enum StoredRow: Sendable {
    /// A named value, such as the store's id.
    case named(key: String, value: String)
    case counter(name: String, value: Int64)
    case filter(broker: String, position: Int64, filter: String)
    case feed(dataset: String, last: Int64, purgedThrough: Int64)
    case document(StoredDocument)
    case leaf(of: DocumentName, revision: String, isDeleted: Bool, content: [UInt8])
    /// The child is empty where it is not known.
    case ancestor(of: DocumentName, generation: Int64, revision: String, child: String)
    /// A record as it was put. One that is no longer listed is still owed to somebody.
    case record(any DurableRecord, isListed: Bool)

    /// What it is counted as.
    public var table: String {
        switch self {
        case .named: "name"
        case .counter: "counter"
        case .filter: "filter"
        case .feed: "feed"
        case .document: "document"
        case .leaf: "leaf"
        case .ancestor: "ancestor"
        case .record(let record, _): record.kind.row.name
        }
    }
}

/// What names a document.
public struct DocumentName: Sendable {
    public let dataset: String
    public let type: String
    public let id: String

    var isPlace: Bool { type == DocumentType.place.rawValue }

    public init(_ dataset: String, _ type: String, _ id: String) {
        self.dataset = dataset
        self.type = type
        self.id = id
    }
}

/// A row of the change feed.
public struct StoredDocument: Sendable {
    public let name: DocumentName
    public let seq: Int64
    public let revision: String
    public let isDeleted: Bool
    public let owner: String?
    /// The only client that sees it; nil: all do.
    public let reader: String?
    /// When housekeeping saw first that it is deleted; milliseconds since 1970.
    public let buriedAt: Int64?
    /// nil for an object of ours, whose record says it.
    public let content: [UInt8]?

    public init(
        _ name: DocumentName, seq: Int64, revision: String, isDeleted: Bool, owner: String?, reader: String?, buriedAt: Int64?,
        content: [UInt8]?
    ) {
        self.name = name
        self.seq = seq
        self.revision = revision
        self.isDeleted = isDeleted
        self.owner = owner
        self.reader = reader
        self.buriedAt = buriedAt
        self.content = content
    }
}
