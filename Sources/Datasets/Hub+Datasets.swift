import LiveTopics
import Wire
import Records

extension Hub {
    /// Whether first use may create this dataset; what a broker replays never creates a deleted one again.
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
        let dataset = Dataset(record, limits: configuration.limits)
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

    /// Lets go of a dataset with all it holds; the store has done so already.
    func removeDataset(_ dataset: Dataset, _ turn: inout Turn) {
        removeLiveSubscriptions(of: dataset, &turn)
        removeFollowers(of: dataset)
        datasets[dataset.id] = nil
        deletedDatasets[dataset.id] = turn.now
        let replies = dataset.replies.afterDeletion()
        if !replies.isEmpty { repliesOfDeleted[dataset.id] = replies }
        liveStates.removeAll { state in
            guard state.dataset === dataset else { return false }
            if state.payload != nil { clearances.append(Clearance(dataset: dataset.id, topic: state.topic)) }
            // Devices and states know each other, and states their dataset.
            state.device = nil
            return true
        }
        dirty.removeAll { $0.dataset === dataset }
        dueToWrite = min(dueToWrite, dirty.count)
        moved.removeAll { $0 === dataset }
        datasetsWithDeliveries.removeAll { $0 === dataset }
        for number in outbox.removeAll(where: { $0.dataset === dataset }) { outdated.remove(number) }
        dataset.reset()
        dataset.clearedStates = ClearedStates()
        clearances.prepend(Clearance(dataset: dataset.id, topic: nil))
        turn.effects.datasetsChanged = true
        turn.note(.datasetDeleted(dataset.id))
    }

    /// Tells the counters of a dataset every ten seconds when they changed.
    func tellStatus(of dataset: Dataset, _ turn: inout Turn) {
        guard dataset.statusToldAt == .min || turn.now - dataset.statusToldAt >= 10_000 || turn.now < dataset.statusToldAt else {
            return
        }
        let figures = dataset.statusFigures
        guard figures != dataset.statusTold else { return }
        dataset.statusTold = figures
        dataset.statusToldAt = turn.now
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("dataset", dataset.id)
        writer.member("at", turn.now)
        figures.encode(into: &writer)
        writer.endObject()
        turn.effects.output.append(.status, name: dataset.id, payload: writer.bytes)
    }

    /// Reports every dataset's status again: who kept it may have lost it.
    public func repeatStatus() {
        for dataset in datasets.values {
            dataset.statusTold = nil
            dataset.statusToldAt = .min
        }
    }
}

extension Hub {
    /// Creates a dataset that an operator names, unless it exists.
    public func ensureDataset(_ name: String, _ turn: inout Turn) {
        guard datasets[name] == nil else { return }
        _ = try? createDataset(name, &turn)
    }
}
