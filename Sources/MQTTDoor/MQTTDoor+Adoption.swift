import Datasets
import Logging

// Before the daemon says it is online: after a kill, what the broker retains of the last second comes back; at each connection, what it
// retains of deleted datasets is found and cleared, as it may have come back with an older state than ours.

extension MQTTDoor {
    /// Reads the retained `live/…` messages where an earlier life did not end cleanly, else those of deleted datasets; where there are
    /// none it goes on at once.
    func beginAdoption() {
        let filters = retainedFilters
        guard !filters.isEmpty else {
            letGoOfStaleFilters()
            return
        }
        session.isAdopting = true
        session.phase = .adopting(id: subscribe(filters))
    }

    /// Brokers send what they retain when they grant a filter, so the probe comes behind it.
    func endAdoption() {
        session.mustAdopt = false
        guard session.isAdopting else { return }
        session.isAdopting = false
        let read = unwantedFilters
        if !read.isEmpty { _ = unsubscribe(read) }
    }

    /// Beside a shared broker only what is ours, or was.
    var retainedFilters: [BrokerFilters.Filter] {
        let live = String(decoding: topics.live, as: UTF8.self)
        var names = Set(core.hub.deletedDatasetNames)
        if mustAdopt {
            if configuration.readsEveryDataset, role == nil { return [BrokerFilters.Filter(filter: live + "#", qos: 0)] }
            names.formUnion(core.hub.datasetNames)
        }
        return names.sorted().map { BrokerFilters.Filter(filter: "\(live)\($0)/#", qos: 0) }
    }
}
