import Datasets
import Records

/// What a store promises of durable changes, in a dictionary for each kind: rows are fields, and the table of kinds says what
/// they mean.
public struct MemoryStore {
    private struct Row {
        var fields: [Field]
        /// Of a record that can be owed: it was not deleted.
        var isListed = true
    }

    private var tables = [Rows<Row>](repeating: Rows(), count: Kind.allCases.count)
    private var filters: [String: [String]] = [:]
    private var feed = MemoryFeed()
    private var highest: [NumberSequence: Int64] = [:]
    private let repliesMax: Int

    /// - Parameter repliesMax: How many replies of one client are kept, the newest ones.
    public init(repliesMax: Int = 10_000) { self.repliesMax = repliesMax }

    public var highestLiveNumber: Int64 { highest[.live] ?? 0 }
    public var highestMatchNumber: Int64 { highest[.match] ?? 0 }

    // MARK: Changes

    public mutating func apply(_ change: DurableChange) {
        switch change {
        case .put(let record): put(record)
        case .delete(let key): delete(key)
        case .forget(let key): remove(key.kind.row.forgetting, key.text(0), key.id)
        case .amend(let amendment): amend(amendment)
        case .expire(let kind, let instant): expire(kind.row, before: instant)
        case .putDocument(let record): feed.put(record)
        case .countDocuments: break
        case .forgetTombstones(let instant, let now): feed.forgetTombstones(before: instant, at: now)
        case .putFilters(let broker, let list): filters[broker] = list.isEmpty ? nil : list
        }
    }

    private mutating func put(_ record: any DurableRecord) {
        let row = record.kind.row
        if let entry = record.feedEntry { feed.enter(entry, in: record.dataset) }
        if let counter = row.counter { highest[counter] = max(highest[counter] ?? 0, record.number) }
        var fields = FieldCollector()
        record.write(to: &fields)
        let key = Array(fields.fields[..<row.keyCount])
        remove(row.replacement, record.dataset, RecordKey(row.kind, fields: key).text(row.keyCount > 1 ? 1 : 0))
        if row.endsDataset { deleteDataset(record.dataset) }
        // One put again is the newest.
        if row.ageing != nil { tables[row.kind.rawValue][key] = nil }
        tables[row.kind.rawValue][key] = Row(fields: fields.fields)
    }

    private mutating func delete(_ key: RecordKey) {
        let row = key.kind.row
        if let type = row.document {
            for removal in row.deletion {
                guard let type = removal.kind.row.document else { continue }
                for row in tables[removal.kind.rawValue].filter({ leads($0, removal, key.text(0), key.id) }) {
                    feed.bury(type: type, id: RecordKey(removal.kind, fields: row.fields).id, in: key.text(0))
                }
            }
            feed.bury(type: type, id: key.id, in: key.text(0))
        }
        remove(row.deletion, key.text(0), key.id)
        if row.owed == nil {
            tables[row.kind.rawValue][key.fields] = nil
        } else {
            tables[row.kind.rawValue][key.fields]?.isListed = false
            clean(key)
        }
    }

    private mutating func amend(_ amendment: any RecordAmendment) {
        let key = amendment.key
        guard var known = tables[key.kind.rawValue][key.fields] else { return }
        var fields = FieldCollector()
        amendment.write(to: &fields)
        for (column, field) in zip(type(of: amendment).columns, fields.fields) {
            known.fields[key.kind.row.index(of: column)] = field
        }
        tables[key.kind.rawValue][key.fields] = known
        clean(key)
    }

    /// What is neither owed nor listed goes.
    private mutating func clean(_ key: RecordKey) {
        guard let known = tables[key.kind.rawValue][key.fields], !known.isListed, !isOwed(known, key.kind.row) else { return }
        tables[key.kind.rawValue][key.fields] = nil
    }

    private func isOwed(_ row: Row, _ kind: KindRow) -> Bool {
        kind.owed.map { row.fields[kind.index(of: $0.column)] == .integer(1) } ?? false
    }

    private mutating func remove(_ removals: [KindRow.Removal], _ dataset: String, _ id: String) {
        for removal in removals {
            let kind = removal.kind.row
            for row in tables[removal.kind.rawValue].filter({ leads($0, removal, dataset, id) }) {
                let key = Array(row.fields[..<kind.keyCount])
                if isOwed(row, kind) {
                    tables[removal.kind.rawValue][key]?.isListed = false
                } else {
                    tables[removal.kind.rawValue][key] = nil
                }
            }
        }
    }

    /// Whether a path of references leads from a row to a record.
    private func leads(_ row: Row, _ removal: KindRow.Removal, _ dataset: String, _ id: String) -> Bool {
        var (kind, row) = (removal.kind.row, row)
        guard row.fields[kind.index(of: kind.datasetColumn)] == .text(dataset) else { return false }
        for (index, reference) in removal.path.enumerated() {
            let value = row.fields[kind.index(of: reference.column)]
            if index == removal.path.count - 1 { return value == .text(id) }
            guard let owner = tables[reference.owner.rawValue][[.text(dataset), value]] else { return false }
            (kind, row) = (reference.owner.row, owner)
        }
        return false
    }

    private mutating func deleteDataset(_ id: String) {
        for kind in Kind.allCases where !kind.row.endsDataset {
            let index = kind.row.index(of: kind.row.datasetColumn)
            tables[kind.rawValue].remove { $0.fields[index] == .text(id) }
        }
        feed.deleteDataset(id)
    }

    private mutating func expire(_ row: KindRow, before instant: Int64) {
        guard let ageing = row.ageing else { return }
        let index = row.index(of: ageing.column)
        tables[row.kind.rawValue].remove { if case .integer(let at) = $0.fields[index] { at < instant } else { true } }
        let kept = Set(newest(row, ageing, of: nil).map { Array($0.fields[..<row.keyCount]) })
        tables[row.kind.rawValue].remove { !kept.contains(Array($0.fields[..<row.keyCount])) }
    }

    // MARK: Reading

    /// In the order a store gives back; of one dataset, or all.
    public func restored(_ dataset: String? = nil, repliesSince: Int64 = .min) -> [DurableChange] {
        var changes: [DurableChange] = []
        for kind in Kind.allCases where dataset == nil || kind.row.isRestoredWithDataset {
            changes += rows(of: kind.row, dataset, since: repliesSince).map { row in
                var fields = row.fields
                // What is not owed is read when it is asked for.
                if kind.row.owed != nil, !isOwed(row, kind.row) { fields[fields.count - 1] = .null }
                return .put(record(kind, fields))
            }
        }
        for (name, owners) in feed.counts where dataset == nil || name == dataset {
            changes += owners.map { .countDocuments(dataset: name, owner: $0.key, $0.value) }
        }
        if dataset == nil { changes += filters.map { .putFilters(broker: $0.key, $0.value) } }
        return changes
    }

    private func rows(of kind: KindRow, _ dataset: String?, since: Int64) -> [Row] {
        if let ageing = kind.ageing {
            let index = kind.index(of: ageing.column)
            return newest(kind, ageing, of: dataset).filter {
                if case .integer(let at) = $0.fields[index] { at >= since } else { false }
            }
        }
        let index = kind.index(of: kind.datasetColumn)
        let rows = tables[kind.kind.rawValue].filter { dataset == nil || $0.fields[index] == dataset.map { .text($0) } }
        return kind.columns[0] == "number" ? rows.sorted { number($0) < number($1) } : rows
    }

    private func number(_ row: Row) -> Int64 { if case .integer(let number) = row.fields[0] { number } else { 0 } }

    /// Oldest first, and of each owner so many as are kept.
    private func newest(_ kind: KindRow, _ ageing: KindRow.Ageing, of dataset: String?) -> [Row] {
        let owner = kind.index(of: ageing.owner)
        var counts: [[Field]: Int] = [:]
        let newest = tables[kind.kind.rawValue].all.reversed().filter { row in
            guard dataset == nil || row.fields[0] == dataset.map({ .text($0) }) else { return false }
            counts[[row.fields[0], row.fields[owner]], default: 0] += 1
            return counts[[row.fields[0], row.fields[owner]], default: 0] <= repliesMax
        }
        return newest.reversed()
    }

    private func record(_ kind: Kind, _ fields: [Field]) -> any DurableRecord {
        var reader = CollectedFields(fields)
        do {
            return try kind.row.type.init(from: &reader)
        } catch {
            preconditionFailure("a \(kind) is read as it was written: \(fields)")
        }
    }

    private func records<Record: DurableRecord>(_ type: Record.Type = Record.self) -> [Record] {
        rows(of: Record.kind.row, nil, since: .min).compactMap { record(Record.kind, $0.fields) as? Record }
    }

    private func record<Record: DurableRecord>(_ key: Field..., as type: Record.Type = Record.self) -> Record? {
        tables[Record.kind.rawValue][key].flatMap { record(Record.kind, $0.fields) as? Record }
    }

    /// What is there of each key, or the change that removes it; all that is below a key with fewer fields than its kind has.
    public func records(_ keys: [RecordKey]) -> [DurableChange] {
        keys.flatMap { key -> [DurableChange] in
            let table = tables[key.kind.rawValue]
            if key.fields.count < key.kind.row.keyCount {
                return table.filter { $0.fields.starts(with: key.fields) }.map { .put(record(key.kind, $0.fields)) }
            }
            return [table[key.fields].map { .put(record(key.kind, $0.fields)) } ?? .delete(key)]
        }
    }

    /// The newest matches of a device, as ``MatchRecord/page(of:after:limit:)`` says.
    public func matches(dataset: String, deviceId: String, after: String?, limit: Int = 100) -> [MatchRecord]? {
        let newest = listedMatches.filter { $0.dataset == dataset && $0.deviceId.hasSameBytes(as: deviceId) }
            .suffix(MatchRecord.listedMax).reversed()
        return MatchRecord.page(of: newest.map { ($0.number, $0.id) }, after: after, limit: limit)?.compactMap {
            record(.integer($0))
        }
    }

    public func match(dataset: String, id: String) -> MatchRecord? {
        listedMatches.last { $0.dataset == dataset && $0.id.hasSameBytes(as: id) }
    }

    public func feedPage(_ query: FeedQuery) -> FeedPage { feed.page(query) }

    /// What is known of documents, in the order asked.
    public func documents(_ lookups: [DocumentLookup]) -> [KnownDocument?] {
        var budget = ContentBudget()
        return lookups.map { feed.document($0, &budget) }
    }

    private var listedMatches: [MatchRecord] {
        rows(of: Kind.match.row, nil, since: .min).filter(\.isListed).compactMap { record(.match, $0.fields) as? MatchRecord }
    }
}

// MARK: What the tests of the daemon ask

extension MemoryStore {
    public var datasets: [String: DatasetRecord] { Dictionary(uniqueKeysWithValues: records().map { ($0.id, $0) }) }
    public var places: [PlaceRecord] { records() }
    public var held: [HeldRecord] { records() }
    public var placeVisits: [PlaceVisitRecord] { records() }
    public var stays: [StayRecord] { records() }
    public var visits: [VisitRecord] { records() }
    /// By number, the order of delivery.
    public var incidents: [EventRecord] { records() }
    public var liveStateCount: Int { tables[Kind.liveState.rawValue].count }
    public var pendingMatches: [MatchRecord] { records().filter(\.pending) }

    public func liveState(_ topic: String) -> LiveStateRecord? { records().first { $0.topic.hasSameBytes(as: topic) } }

    public func delivery(_ dataset: String, _ id: String) -> Delivery? {
        record(.text(dataset), .text(id), as: SubscriptionRecord.self)?.delivery
    }

    /// The durable reply to a request.
    public func reply(dataset: String, client: String, requestId: String) -> [UInt8]? {
        record(.text(dataset), .text(client), .text(requestId), as: ReplyRecord.self)?.body
    }

    /// Whether the pair's last match is remembered.
    public func hasPair(dataset: String, subscriptionId: String, publicationId: String) -> Bool {
        tables[Kind.pair.rawValue][[.text(dataset), .text(subscriptionId), .text(publicationId)]] != nil
    }

    public func finding(_ kind: StoreQuery.Kind) -> StoreAnswer {
        switch kind {
        case .feed(let query): .feed(feedPage(query))
        case .documents(let lookups): .documents(documents(lookups))
        case .match(let dataset, let id): .match(match(dataset: dataset, id: id))
        case .matches(let dataset, let device, let after):
            matches(dataset: dataset, deviceId: device, after: after).map { .matches($0) } ?? .noSuchMatch
        }
    }
}
