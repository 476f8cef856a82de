import Datasets
import Logging

// After a kill: what the broker retains of the last second comes back before the daemon says it is online.

extension MQTTDoor {
    /// Reads the retained `live/…` messages where an earlier life did not end cleanly; else goes on at once.
    func beginAdoption() {
        guard session.mustAdopt, !retainedFilters.isEmpty else {
            letGoOfStaleFilters()
            return
        }
        session.isAdopting = true
        session.phase = .adopting(id: subscribe(retainedFilters))
    }

    /// Brokers send what they retain when they grant a filter, so the probe comes behind it.
    func endAdoption() {
        session.mustAdopt = false
        guard session.isAdopting else { return }
        session.isAdopting = false
        _ = unsubscribe(Set(retainedFilters.map(\.filter)))
    }

    /// Beside a shared broker only what is ours.
    var retainedFilters: [BrokerFilters.Filter] {
        let live = String(decoding: topics.live, as: UTF8.self)
        let names = configuration.readsEveryDataset && role == nil ? ["#"] : core.hub.datasetNames.map { $0 + "/#" }
        return names.map { BrokerFilters.Filter(filter: live + $0, qos: 0) }
    }
}
