/// One thing that must outlive the process.
///
/// The hub emits changes in the order they happened; the store applies a batch of them in one transaction and
/// gives the same kind back when it restores, so that a restart is a replay. What a change takes along is said by the table of
/// kinds, see ``Kind``.
public enum DurableChange: Sendable {
    /// Writes a record, replacing the one of the same key.
    case put(any DurableRecord)
    /// Removes a record with what refers to it.
    case delete(RecordKey)
    /// Removes what is remembered of a record, which stays.
    case forget(RecordKey)
    /// Replaces some fields of a record.
    case amend(any RecordAmendment)
    /// Removes the records of a kind that are older than an instant, and the oldest of each client that has too many.
    case expire(Kind, before: Int64)
    /// Replaces a document with all its leaves, where they are not what an object of ours says itself; its row in the feed is the newest.
    case putDocument(DocumentRecord)
    /// How many documents of an owner a dataset has that are no objects of ours. Only given back: who writes it changes nothing.
    case countDocuments(dataset: String, owner: String?, Int)
    /// Tombstones of the feed that were first seen here before an instant are forgotten; those that are new have been seen now.
    case forgetTombstones(before: Int64, at: Int64)
    /// The filters held at the broker of this name, replacing those known before. No record: it is of no dataset, and is written from the
    /// first difference on, as the list is long where datasets are many.
    case putFilters(broker: String, [String])
}

extension DurableChange {
    /// The dataset it belongs to; nil where it belongs to none, or only a number names what it changes.
    public var dataset: String? {
        switch self {
        case .put(let record): record.dataset
        case .delete(let key), .forget(let key): key.dataset
        case .amend(let amendment): amendment.key.dataset
        case .putDocument(let record): record.dataset
        case .countDocuments(let dataset, _, _): dataset
        case .expire, .forgetTombstones, .putFilters: nil
        }
    }

    /// What it means for the feed; nil where nothing. A deletion of a device deletes its child objects.
    public var feedEntry: FeedEntry? {
        switch self {
        case .put(let record): record.feedEntry
        case .delete(let key): key.kind.row.document.map { .burial(type: $0, id: key.id) }
        default: nil
        }
    }

    /// Followers of its dataset are to be notified.
    package var changesFeed: Bool {
        if case .putDocument = self { return true }
        return feedEntry != nil
    }

    /// A dataset that was deleted has something again that is read by its name.
    package var revivesDataset: Bool {
        switch self {
        case .put(let record): record.kind == .dataset || record.kind.row.document != nil
        case .delete(let key): key.kind.row.document != nil
        case .putDocument: true
        default: false
        }
    }

    /// The kind of the records that are put, removed or amended.
    package var kind: Kind? {
        switch self {
        case .put(let record): record.kind
        case .delete(let key): key.kind
        case .amend(let amendment): amendment.kind
        default: nil
        }
    }

    /// The records that it is about, of those that are read one by one.
    package var keys: [RecordKey] {
        guard kind?.row.isReadAlone == true else { return [] }
        switch self {
        case .put(let record): return [record.key]
        case .delete(let key):
            return [key] + key.kind.row.deletion.filter { $0.kind.row.isReadAlone }.map { RecordKey($0.kind, fields: key.fields) }
        default: return []
        }
    }
}

extension DurableChange: Equatable {
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.put(let left), .put(let right)): left.isEqual(to: right)
        case (.delete(let left), .delete(let right)), (.forget(let left), .forget(let right)): left == right
        case (.amend(let left), .amend(let right)): left.isEqual(to: right)
        case (.expire(let kind, let instant), .expire(let otherKind, let otherInstant)):
            kind == otherKind && instant == otherInstant
        case (.putDocument(let left), .putDocument(let right)): left == right
        case (
            .countDocuments(let dataset, let owner, let count), .countDocuments(let otherDataset, let otherOwner, let otherCount)
        ):
            dataset == otherDataset && owner == otherOwner && count == otherCount
        case (.forgetTombstones(let instant, let now), .forgetTombstones(let otherInstant, let otherNow)):
            instant == otherInstant && now == otherNow
        case (.putFilters(let broker, let list), .putFilters(let otherBroker, let otherList)):
            broker == otherBroker && list == otherList
        default: false
        }
    }
}
