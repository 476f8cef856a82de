import LiveTopics

/// Reports refused live updates of datasets that do not exist: of at most a thousand datasets in a second.
struct UnknownDatasets {
    private var diagnostics: [String: Diagnostics] = [:]
    /// Updates whose dataset level is malformed or reserved, since the log had them.
    private var malformedCount = 0

    private static let reportedMaximum = 1000

    /// How many datasets were reported of late.
    var count: Int { diagnostics.count }

    mutating func report(_ diagnostic: DiagnosticsWindow.Diagnostic, of dataset: String, _ turn: inout Turn) {
        guard Name.isDataset(dataset) else {
            malformedCount += 1
            return
        }
        guard diagnostics[dataset] != nil || diagnostics.count < Self.reportedMaximum else { return }
        let known = diagnostics[dataset] ?? Diagnostics(of: dataset)
        diagnostics[dataset] = known
        known.report(diagnostic, &turn)
    }

    mutating func advance(_ turn: inout Turn) {
        for name in diagnostics.keys.sorted() {
            diagnostics[name]?.advance(&turn)
            if diagnostics[name]?.isIdle == true { diagnostics[name] = nil }
        }
    }

    /// Logs what is reported nowhere else.
    mutating func note(_ turn: inout Turn) {
        guard malformedCount > 0 else { return }
        turn.note(.malformedDataset(count: malformedCount))
        malformedCount = 0
    }
}
