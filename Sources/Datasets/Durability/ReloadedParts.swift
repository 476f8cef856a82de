import LiveTopics
import Places
import Records
import Wire

/// What was found of what is loaded again one by one.
struct ReloadedParts {
    private var records: [RecordKey: any DurableRecord] = [:]
    /// How often places were verified, by hour.
    private var verifications: [RecordKey: [Int: Int]] = [:]

    mutating func add(_ change: DurableChange) {
        guard change.isLoadedAlone else { return }
        switch change {
        case .put(let record as VerificationRecord):
            let key = RecordKey.place(dataset: record.dataset, id: record.placeID)
            if record.count > 0 { verifications[key, default: [:]][record.hour] = record.count }
        case .put(let record): records[record.key] = record
        case .delete(let key): records[key] = nil
        default: break
        }
    }

    func record<Record: DurableRecord>(_ key: RecordKey, as type: Record.Type = Record.self) -> Record? {
        records[key] as? Record
    }

    /// How often the place was verified, by hour.
    func verifications(_ placeID: String, in dataset: String) -> [Int: Int] {
        verifications[.place(dataset: dataset, id: placeID)] ?? [:]
    }
}

extension Hub {
    func reload(place id: String, _ found: ReloadedParts, in name: String) throws {
        guard let book = datasets[name]?.places else { return }
        if let place = found.record(.place(dataset: name, id: id), as: PlaceRecord.self)?.place {
            try book.restore(place)
            let hours = found.verifications(id, in: name)
            if !hours.isEmpty { book.setVerifications(of: id, to: hours) }
        } else {
            book.remove(id)
        }
    }

    func reload(category id: String, _ found: ReloadedParts, in name: String) {
        guard let table = datasets[name]?.places.table else { return }
        if let category = found.record(.category(dataset: name, id: id), as: CategoryRecord.self)?.category {
            _ = try? table.declare([category])
        } else {
            table.removeCategory(id)
        }
    }

    func reload(verification key: RecordKey, _ found: ReloadedParts) {
        guard let book = dataset(of: key)?.places, case .integer(let hour) = key.fields[2] else { return }
        let count = found.verifications(key.id, in: key.text(0))[Int(hour)] ?? 0
        book.setVerifications(of: key.id, in: Int(hour), to: count)
        // Devices may say again what did not become durable.
        book.forgetVerified()
    }

    func reload(live key: RecordKey, _ found: ReloadedParts) throws {
        guard let dataset = dataset(of: key) else { return }
        if let record = found.record(key, as: LiveSubscriptionRecord.self) {
            try liveSubscribers.restore(record, in: dataset, again: true)
        } else if let known = dataset.liveSubscriptions[key.text(1), key.text(2)] {
            liveSubscribers.remove(known)
        }
    }

    func reload(follower key: RecordKey, _ found: ReloadedParts) {
        guard let dataset = key.dataset else { return }
        let known = followers[dataset, key.text(1)]
        if let record = found.record(key, as: FollowerRecord.self) {
            if known?.record.since != record.since { followers.restore(record) }
        } else if let known {
            followers.remove(known)
        }
    }
}
