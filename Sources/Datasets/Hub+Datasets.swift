import LiveTopics
import Wire
import Records

extension Hub {
    /// Whether first use may create this dataset; a repeated update never creates a deleted one again.
    func mayCreateDataset(_ name: String, replayed: Bool) -> Bool {
        configuration.autoCreateDatasets && Name.isDataset(name) && configuration.reservedDatasets[name] == nil
            && !(replayed && deletedDatasets[name] != nil)
    }

    func createDataset(_ name: String, _ turn: inout Turn) throws(WireError) -> Dataset {
        try createDataset(DatasetRecord(id: name, createdAt: turn.now, updatedAt: turn.now, revision: ""), &turn)
    }

    func createDataset(_ record: DatasetRecord, _ turn: inout Turn) throws(WireError) -> Dataset {
        guard datasets.count + (configuration.datasetCountElsewhere?() ?? 0) < configuration.limits.datasets else {
            throw WireError(
                .limit, "there are \(configuration.limits.datasets) datasets, the maximum", field: "dataset")
        }
        if let filter = configuration.reservedDatasets[record.id] {
            throw WireError(
                .invalid, "`\(record.id)` cannot be a dataset: its topics are those of the adapter that reads `\(filter)`",
                field: "dataset")
        }
        var record = record
        record.revision = Revision.next(after: nil, content: record.encoded())
        let dataset = Dataset(record, shared)
        dataset.replies = repliesOfDeleted.removeValue(forKey: record.id) ?? ReplyMemory()
        dataset.isDurable = false
        datasets[record.id] = dataset
        turn.keep(.put(record))
        turn.effects.sequels.append(.creation(dataset: record.id))
        turn.effects.datasetsChanged = true
        turn.note(.datasetCreated(record.id))
        return dataset
    }

    // MARK: dataset/create · list

    func createDataset(
        _ parameters: Parameters, _ context: ReplyContext, _ turn: inout Turn
    ) throws(WireError) -> [UInt8] {
        guard Name.isDataset(context.dataset) else {
            throw WireError(
                .invalid, "a dataset's name has 1 to 64 of A-Z a-z 0-9 . _ - and is not `live` or `geomatch`", field: "dataset")
        }
        guard datasets[context.dataset] == nil else {
            throw WireError(.conflict, "the dataset `\(context.dataset)` exists")
        }
        var record = DatasetRecord(id: context.dataset, createdAt: turn.now, updatedAt: turn.now, revision: "")
        try record.apply(parameters, configuration)
        let dataset = try createDataset(record, &turn)
        dataset.requestCounters.received += 1
        return dataset.description
    }

    func listDatasets(_ parameters: Parameters, _ client: RequestingClient) throws(WireError) -> [UInt8] {
        let page = try Page(parameters)
        let elsewhere = Dictionary((configuration.datasetsElsewhere?() ?? []).map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        let visible = (Array(datasets.keys) + elsewhere.keys).filter { configuration.administers($0, client) }
        let shown = page.first(of: visible) { $0 }
        let contents = elsewhere.isEmpty ? [:] : configuration.contentsElsewhere?(shown.filter { elsewhere[$0] != nil }) ?? [:]
        return page.encode("datasets", shown, id: { $0 }) { id in
            datasets[id]?.description ?? elsewhere[id].map { Self.describe($0, holding: contents[id]) }
        }
    }

    private static func describe(_ record: DatasetRecord, holding contents: [UInt8]?) -> [UInt8] {
        JSONWriter.object { writer in
            record.encodeMembers(into: &writer)
            let members = contents.flatMap { try? JSONValue.parse($0) }?.asObject?.members ?? []
            for member in members {
                writer.key(member.key)
                writer.raw(member.value.serialised())
            }
        }
    }

    /// The router knows which datasets there are that a key may be for.
    func createAccessKey(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        try accessKeys.create(
            call,
            { name in datasets[name] != nil || configuration.datasetsElsewhere?().contains { $0.id == name } == true }, &turn)
    }

    // MARK: Deleting

    /// Takes back the creation of a dataset that nobody has seen yet.
    func undoCreation(of dataset: Dataset) {
        datasets[dataset.id] = nil
        if !dataset.replies.isEmpty { repliesOfDeleted[dataset.id] = dataset.replies }
    }

    /// Removes a dataset with all it holds. Its deletion is durable, or its creation never was.
    func removeDataset(_ dataset: Dataset, _ turn: inout Turn) {
        noteFigures(of: dataset)
        configuration.noteContents?(dataset.id, nil)
        liveSubscribers.removeAll(of: dataset, &turn)
        followers.removeAll(of: dataset.id)
        accessKeys.removeAll(of: dataset.id)
        datasets[dataset.id] = nil
        deletedDatasets[dataset.id] = turn.now
        let replies = dataset.replies.afterDeletion()
        if !replies.isEmpty { repliesOfDeleted[dataset.id] = replies }
        live.removeAll(of: dataset)
        outbox.removeAll(of: dataset.id, dataset.matchAccount)
        dataset.reset()
        dataset.clearedStates = ClearedStates()
        live.resync.clearStatus(of: dataset.id)
        turn.effects.datasetsChanged = true
        turn.effects.forgotten.append(Forgotten(dataset: dataset.id))
        turn.note(.datasetDeleted(dataset.id))
    }

    /// Reports every dataset's status again: who kept it may have lost it.
    public func repeatStatus() {
        for dataset in datasets.values { dataset.status.repeat() }
    }

    /// Creates a dataset that an operator names, unless it exists.
    public func ensureDataset(_ name: String, _ turn: inout Turn) {
        guard datasets[name] == nil else { return }
        _ = try? createDataset(name, &turn)
    }
}
