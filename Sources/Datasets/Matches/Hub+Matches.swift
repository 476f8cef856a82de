import Records

extension Hub {
    /// Shows every engine what moved since the last time; nothing else may happen to a dataset in between.
    ///
    /// - Parameter knownSince: When an earlier life that forgot it showed the same; `Int64.max`: it is new.
    func showMoves(knownSince: Int64 = .max, _ turn: inout Turn) {
        guard !moved.isEmpty else { return }
        for dataset in moved { dataset.geomatching.showMoves(knownSince: knownSince, &turn) }
        moved.removeAll(keepingCapacity: true)
    }

    /// Has the engines of restored datasets take up work, before anything else comes in.
    func resume(_ turn: inout Turn) {
        let names = unresumed.sorted()
        for name in names { datasets[name]?.resume(&turn) }
        unresumed.removeAll()
        for name in names {
            if let dataset = datasets[name] { resumeGeofences(of: dataset, &turn) }
        }
    }
}
