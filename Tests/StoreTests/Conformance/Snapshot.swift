import MemoryStore

@testable import Records

/// What a restore gives back, whatever its order where none is promised.
struct Snapshot: Equatable {
    private var records: [RecordKey: any DurableRecord] = [:]
    /// By number.
    private(set) var incidents: [EventRecord] = []
    private(set) var matches: [MatchRecord] = []
    /// Oldest first.
    private(set) var replies: [ReplyRecord] = []
    private(set) var filters: [String: [String]] = [:]
    private var rank = 0

    struct OutOfOrder: Error {
        var change: DurableChange
    }

    /// Takes one change of a restore; throws where it comes in the wrong order, or twice.
    mutating func take(_ change: DurableChange) throws {
        var isNew = true
        let next: Int
        switch change {
        case .put(let record):
            next = record.kind.rawValue
            isNew = records.updateValue(record, forKey: record.key) == nil
            if let record = record as? EventRecord {
                isNew = isNew && (incidents.last?.number ?? 0) < record.number
                incidents.append(record)
            } else if let record = record as? MatchRecord {
                isNew = isNew && (matches.last?.number ?? 0) < record.number
                matches.append(record)
            } else if let record = record as? ReplyRecord {
                replies.append(record)
            }
        case .countDocuments: next = Kind.allCases.count
        case .putFilters(let broker, let list):
            (next, isNew) = (Kind.allCases.count + 1, filters.updateValue(list, forKey: broker) == nil)
        default: throw OutOfOrder(change: change)
        }
        guard isNew, next >= rank else { throw OutOfOrder(change: change) }
        rank = next
    }

    static func == (left: Self, right: Self) -> Bool { left.difference(from: right).isEmpty }

    /// The kinds that are not equal.
    func difference(from other: Self) -> [String] {
        var kinds: Set<String> = []
        for (key, record) in records where other.records[key].map({ record.isEqual(to: $0) }) != true {
            kinds.insert("\(key.kind)")
        }
        for key in other.records.keys where records[key] == nil { kinds.insert("\(key.kind)") }
        if replies != other.replies { kinds.insert("replies") }
        if filters != other.filters { kinds.insert("filters") }
        return kinds.sorted()
    }
}

extension Snapshot {
    init(_ memory: MemoryStore) throws {
        self.init()
        for change in memory.restored() { try take(change) }
    }

    func of<Record: DurableRecord>(_ type: Record.Type) -> [Record] { records.values.compactMap { $0 as? Record } }

    /// Without what belongs to other datasets.
    func of(dataset: String) -> Self {
        var part = self
        part.records = records.filter { $0.value.dataset == dataset && $0.key.kind.row.isRestoredWithDataset }
        part.incidents = incidents.filter { $0.dataset == dataset }
        part.matches = matches.filter { $0.dataset == dataset }
        part.replies = replies.filter { $0.dataset == dataset }
        part.filters = [:]
        return part
    }

    var datasets: [String: DatasetRecord] { Dictionary(uniqueKeysWithValues: of(DatasetRecord.self).map { ($0.id, $0) }) }
    var deletedDatasets: [String: Int64] {
        Dictionary(uniqueKeysWithValues: of(DatasetDeletionRecord.self).map { ($0.dataset, $0.at) })
    }
    var devices: [DeviceRecord] { of(DeviceRecord.self) }
    var places: [PlaceRecord] { of(PlaceRecord.self) }
    var publications: [PublicationRecord] { of(PublicationRecord.self) }
    var subscriptions: [SubscriptionRecord] { of(SubscriptionRecord.self) }
    var pairs: [PairRecord] { of(PairRecord.self) }
    var liveStates: [LiveStateRecord] { of(LiveStateRecord.self) }
}
