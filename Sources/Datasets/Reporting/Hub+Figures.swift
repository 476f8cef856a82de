/// What a dataset holds, and what it counted since the daemon started.
public struct DatasetFigures: Sendable {
    public var dataset: String
    /// By outcome.
    public var updates: [(outcome: String, count: Int)]
    /// By resource, verb and outcome.
    public var requests: [(request: String, outcome: String, count: Int)]
    /// By outcome: `matched` is the sum of `delivered`, `expired`, `dropped` and of what is pending.
    public var matches: [(outcome: String, count: Int)]
    public var matchesPending: Int
    /// By kind.
    public var objects: [(kind: String, count: Int)]
}

extension Hub {
    /// The figures of every dataset, in order.
    public var figures: [DatasetFigures] { orderedDatasets.map(\.figures) }
}

extension Dataset {
    var figures: DatasetFigures {
        let (updates, matches) = (counters.updates, counters.matches)
        return DatasetFigures(
            dataset: id,
            updates: [
                ("accepted", updates.accepted), ("refused", updates.refused), ("late", updates.late), ("skewed", updates.skewed),
                ("conflated", updates.conflated),
            ],
            requests: requestOutcomes.map { ($0.request, $0.error?.rawValue ?? "ok", $1) }.sorted { ($0.0, $0.1) < ($1.0, $1.1) },
            matches: [
                ("matched", matches.matched), ("delivered", matches.delivered), ("retried", matches.retried),
                ("expired", matches.expired), ("dropped", matches.dropped),
            ],
            matchesPending: matches.pending,
            objects: [
                ("devices", devices.count), ("publications", geomatching.publications.count),
                ("subscriptions", geomatching.subscriptions.count),
                ("live_subscriptions", liveSubscriptions.count), ("circumstances", circumstances.count),
                ("places", places.table.count),
            ])
    }
}
