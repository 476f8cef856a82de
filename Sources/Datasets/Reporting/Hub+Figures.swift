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

    /// The kinds of objects that are counted.
    public static let kinds = ["devices", "publications", "subscriptions", "live_subscriptions", "circumstances", "places"]
}

extension Hub {
    /// The figures of every dataset, in order.
    public var figures: [DatasetFigures] { orderedDatasets.map(\.figures) }

    /// The same with what former datasets of each name counted: a counter does not fall where a dataset is made again.
    public var figuresOverLives: [DatasetFigures] {
        orderedDatasets.map { dataset in
            guard let former = figuresOfFormer[dataset.id] else { return dataset.figures }
            var figures = DatasetFigures.sum([dataset.figures, former])
            figures.dataset = dataset.id
            return figures
        }
    }

    /// So many names are remembered; beyond, those that have no dataset begin anew.
    private static let formerMax = 10_000

    /// A dataset is deleted, or made not to have been.
    func noteFigures(of dataset: Dataset) {
        let figures = dataset.figures.afterDeletion
        figuresOfDeleted = .sum([figuresOfDeleted, figures])
        if figuresOfFormer.count >= Self.formerMax { figuresOfFormer = figuresOfFormer.filter { datasets[$0.key] != nil } }
        figuresOfFormer[dataset.id] = .sum([figures] + (figuresOfFormer[dataset.id].map { [$0] } ?? []))
    }

    /// How many updates and requests wait for datasets that take nothing in at present.
    public var waitingInputCount: Int { waiting.count }
}

extension DatasetFigures {
    /// All of them together, without a name.
    public static func sum(_ all: [DatasetFigures]) -> DatasetFigures {
        DatasetFigures(
            dataset: "", updates: sum(all.flatMap(\.updates), of: \.outcome, \.count),
            requests: sum(all.flatMap(\.requests), of: { "\($0.request) \($0.outcome)" }, \.count),
            matches: sum(all.flatMap(\.matches), of: \.outcome, \.count),
            matchesPending: all.reduce(0) { $0 + $1.matchesPending }, objects: sum(all.flatMap(\.objects), of: \.kind, \.count))
    }

    /// Those of one name as one, where it came first.
    public static func united(_ all: [DatasetFigures]) -> [DatasetFigures] {
        var united: [DatasetFigures] = []
        var positions: [String: Int] = [:]
        for figures in all {
            guard let position = positions[figures.dataset] else {
                positions[figures.dataset] = united.count
                united.append(figures)
                continue
            }
            united[position] = .sum([united[position], figures])
            united[position].dataset = figures.dataset
        }
        return united
    }

    private static func sum<Entry>(
        _ entries: [Entry], of name: (Entry) -> String, _ count: WritableKeyPath<Entry, Int>
    ) -> [Entry] {
        var sums: [Entry] = []
        var positions: [String: Int] = [:]
        for entry in entries {
            if let position = positions[name(entry)] {
                sums[position][keyPath: count] += entry[keyPath: count]
            } else {
                positions[name(entry)] = sums.count
                sums.append(entry)
            }
        }
        return sums
    }

    /// What still counts of a dataset that another node has now: what is pending is pending there, and counts there as matched again.
    public var afterHandOver: DatasetFigures {
        var figures = self
        (figures.matchesPending, figures.objects) = (0, [])
        return figures
    }

    /// What still counts of a dataset that is deleted: what was pending is dropped.
    var afterDeletion: DatasetFigures {
        var figures = self
        for index in matches.indices where matches[index].outcome == "dropped" { figures.matches[index].count += matchesPending }
        figures.matchesPending = 0
        figures.objects = []
        return figures
    }
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
            objects: zip(
                DatasetFigures.kinds,
                [
                    devices.count, geomatching.publications.count, geomatching.subscriptions.count, liveSubscriptions.count,
                    circumstances.count, places.table.count,
                ]
            ).map { (kind: $0, count: $1) })
    }
}
