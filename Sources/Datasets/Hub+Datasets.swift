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
        guard datasets.count < configuration.limits.datasets else {
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
        datasets[record.id] = dataset
        deletedDatasets[record.id] = nil
        turn.keep(.put(record))
        turn.effects.datasetsChanged = true
        turn.note(.datasetCreated(record.id))
        return dataset
    }

    /// Takes back the creation of a dataset that nobody has seen yet.
    func undoCreation(of dataset: Dataset, deletedAt: Int64?) {
        datasets[dataset.id] = nil
        deletedDatasets[dataset.id] = deletedAt
        if !dataset.replies.isEmpty { repliesOfDeleted[dataset.id] = dataset.replies }
    }

    /// Removes a dataset with all it holds. Its deletion is durable, or its creation never was.
    func removeDataset(_ dataset: Dataset, _ turn: inout Turn) {
        figuresOfDeleted = .sum([figuresOfDeleted, dataset.figures.afterDeletion])
        liveSubscribers.removeAll(of: dataset, &turn)
        followers.removeAll(of: dataset.id)
        accessKeys.removeAll(of: dataset.id)
        datasets[dataset.id] = nil
        deletedDatasets[dataset.id] = turn.now
        let replies = dataset.replies.afterDeletion()
        if !replies.isEmpty { repliesOfDeleted[dataset.id] = replies }
        liveStates.removeAll(of: dataset) { state in
            if state.payload != nil { resync.clear(state.topic, of: dataset.id) }
            // Devices and states know each other, and states their dataset.
            state.device = nil
        }
        moved.removeAll { $0 === dataset }
        outbox.removeAll(of: dataset.id, dataset.matchAccount)
        dataset.reset()
        dataset.clearedStates = ClearedStates()
        resync.clearStatus(of: dataset.id)
        turn.effects.datasetsChanged = true
        turn.note(.datasetDeleted(dataset.id))
    }

    /// Reports every dataset's status again: who kept it may have lost it.
    public func repeatStatus() {
        for dataset in datasets.values { dataset.status.repeat() }
    }
}

extension Hub {
    /// Creates a dataset that an operator names, unless it exists.
    public func ensureDataset(_ name: String, _ turn: inout Turn) {
        guard datasets[name] == nil else { return }
        _ = try? createDataset(name, &turn)
    }
}
