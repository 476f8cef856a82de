import DequeModule

/// The datasets in which something goes on that follows from a request about very many devices, the next first.
struct UnfinishedDatasets {
    private var order = Deque<String>()
    private var names: Set<String> = []

    var isEmpty: Bool { order.isEmpty }
    var count: Int { order.count }

    func contains(where isWanted: (String) -> Bool) -> Bool { order.contains(where: isWanted) }

    mutating func append(_ name: String) { if names.insert(name).inserted { order.append(name) } }

    mutating func popFirst() -> String? {
        guard let name = order.popFirst() else { return nil }
        names.remove(name)
        return name
    }
}

extension Hub {
    /// Whether work is left that goes on in portions, and not in a dataset that is halted.
    public var isUnfinished: Bool {
        !shared.unfinished.isEmpty && shared.unfinished.contains { datasets[$0].map { !$0.isHalted } ?? false }
    }

    /// Does a portion of the work of the dataset whose turn it is.
    ///
    /// - Returns: Whether there was some.
    func continueWork(_ turn: inout Turn) -> Bool {
        for _ in 0..<shared.unfinished.count {
            guard let name = shared.unfinished.popFirst(), let dataset = datasets[name] else { continue }
            guard !dataset.isHalted else {
                shared.unfinished.append(name)
                continue
            }
            dataset.advancedTo = max(dataset.advancedTo, turn.now)
            live.reportMoves(&turn)
            let areCircumstancesDone = dataset.circumstances.goOn(configuration.limits.portion, &turn)
            let areGeofencesDone = dataset.geofences.goOn(configuration.limits.portion, &turn)
            let areFloorsDone = dataset.refreshMoreFloors(configuration.limits.portion, &turn)
            if !areCircumstancesDone || !areGeofencesDone || !areFloorsDone { shared.unfinished.append(name) }
            return true
        }
        return false
    }
}
