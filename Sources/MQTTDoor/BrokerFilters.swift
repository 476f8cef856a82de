import Wire

/// The topic filters a daemon holds at its broker.
///
/// They do not overlap: mosquitto delivers a message twice where they do. Without the seven-level filter nothing of another
/// tenant is read; with it an update for an unknown dataset is seen, too.
enum BrokerFilters {
    struct Filter: Equatable {
        var filter: String
        var qos: Int32
    }

    /// - Parameters:
    ///   - readsEveryDataset: With the embedded broker, or where an unknown dataset is created.
    ///   - mark: The topic of the retained mark.
    ///   - requestsOf: The datasets whose requests are read; nil: all.
    ///   - adapters: Whose filters neither overlap with each other nor with ours.
    static func wanted(
        datasets: [String], readsEveryDataset: Bool, prefix: String, inputQoS: Int32, mark: String,
        adapters: [AdapterRule] = [], requestsOf: [String]? = nil
    ) -> [Filter] {
        var filters: [Filter] = []
        for dataset in requestsOf ?? ["+"] {
            filters += requests(dataset, readsEveryDataset: readsEveryDataset).map { Filter(filter: prefix + $0, qos: 1) }
            filters += malformed(dataset).map { Filter(filter: prefix + $0, qos: 0) }
        }
        if readsEveryDataset { filters.append(Filter(filter: prefix + "+/+/+/+/+/+/+", qos: inputQoS)) }
        for dataset in datasets {
            filters += live(dataset, readsEveryDataset: readsEveryDataset).map { Filter(filter: prefix + $0, qos: inputQoS) }
        }
        filters.append(Filter(filter: mark, qos: 1))
        for adapter in adapters {
            let beside = readsEveryDataset ? adapter.filtersBesideSevenLevels(prefix: prefix) : [adapter.filter]
            filters += beside.map { Filter(filter: $0, qos: inputQoS) }
        }
        return filters
    }

    /// Requests on topics that are none, which nobody must be able to read: they meet those of a client called `request` only. The seven
    /// levels of some come by the filter for live topics, where that is held.
    private static func malformed(_ dataset: String) -> [String] {
        [
            "\(dataset)/request", "\(dataset)/request/+", "\(dataset)/request/+/+", "\(dataset)/+/requests",
            "\(dataset)/+/requests/+",
            "\(dataset)/+/requests/+/+", "\(dataset)/+/requests/+/+/+/+/#",
        ].map { "geomatch/" + $0 }
    }

    /// Whether the daemon goes on where the broker refuses it.
    static func isOptional(_ filter: String, prefix: String) -> Bool {
        let levels = filter.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard levels.count > 2 else { return false }
        return malformed(String(levels[1])).contains { filter == prefix + $0 }
    }

    private static func requests(_ dataset: String, readsEveryDataset: Bool) -> [String] {
        let request = "geomatch/\(dataset)/+/request"
        guard readsEveryDataset else { return [request + "/#"] }
        // Seven levels come by the filter for live topics.
        return [request, request + "/+", request + "/+/+", request + "/+/+/+/+/#"]
    }

    /// A dataset's topics with any number of levels, so that a wrong number is reported.
    private static func live(_ dataset: String, readsEveryDataset: Bool) -> [String] {
        guard readsEveryDataset else { return [dataset + "/#"] }
        let shorter = (0...5).map { dataset + String(repeating: "/+", count: $0) }
        return shorter + [dataset + String(repeating: "/+", count: 7) + "/#"]
    }
}
