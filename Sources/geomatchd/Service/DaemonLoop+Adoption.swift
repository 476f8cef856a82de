import Datasets
import Logging

// After a kill: what the broker retains of the last second comes back before the daemon says it is online.

extension DaemonLoop {
    /// Reads the retained `live/…` messages where an earlier life did not end cleanly; else goes on at once.
    func beginAdoption() {
        guard let link, session.mustAdopt else {
            letGoOfStaleFilters()
            return
        }
        session.isAdopting = true
        remember(session.held.union(session.stale).union(retainedFilters))
        session.phase = .adopting(id: link.subscribe(retainedFilters.map { ($0, 0) }))
    }

    /// Everything retained came before the probe.
    func endAdoption() {
        guard session.isAdopting else { return }
        session.isAdopting = false
        session.mustAdopt = false
        _ = link?.unsubscribe(retainedFilters)
        remember(session.held)
    }

    /// Beside a shared broker only what is ours.
    private var retainedFilters: [String] {
        let live = configuration.prefix + "live/"
        return configuration.readsEveryDataset ? [live + "#"] : hub.datasetNames.map { live + $0 + "/#" }
    }
}
