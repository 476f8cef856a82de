import LiveTopics
import Wire

// Telling what was refused, late or skewed.

extension Hub {
    /// Counts and tells a refusal.
    ///
    /// - Parameters:
    ///   - name: The dataset it is about, where that is not the first level of the topic.
    ///   - counts: It was not yet counted as received.
    func refuse(_ error: WireError, published: UnsafeRawBufferPointer, of name: String? = nil, counts: Bool, _ turn: inout Turn) {
        let topic = String(decoding: published, as: UTF8.self)
        let level = name ?? String(topic.prefix { $0 != "/" })
        if let dataset = datasets[level] {
            if counts { dataset.counters.received += 1 }
            dataset.counters.refused += 1
            report(.init(topic: topic, refused: error), of: dataset, &turn)
        } else if Name.isDataset(level) {
            reportStranger(.init(topic: topic, refused: error), dataset: level, &turn)
        } else {
            malformedDatasets += 1
        }
    }

    func refuseLate(
        _ timestamp: Int64, _ newest: Int64, _ state: LiveState, _ published: UnsafeRawBufferPointer, _ turn: inout Turn
    ) {
        state.dataset.counters.late += 1
        report(
            .init(
                kind: .late, topic: String(decoding: published, as: UTF8.self), error: "late",
                message: "the update of \(timestamp) is older than the state of \(newest)", field: "timestamp", count: 1),
            of: state.dataset, &turn)
    }

    func tellSkewed(_ state: LiveState, _ published: UnsafeRawBufferPointer, _ turn: inout Turn) {
        state.dataset.counters.skewed += 1
        report(
            .init(
                kind: .skewed, topic: String(decoding: published, as: UTF8.self), error: "skewed",
                message: "the timestamp is more than 5 minutes ahead: the time of arrival was taken", field: "timestamp", count: 1
            ),
            of: state.dataset, &turn)
    }

    /// Tells that a match is lost for somebody, and why.
    func tellLoss(_ fate: String, _ recipient: Recipient, _ message: String, of dataset: Dataset, _ turn: inout Turn) {
        report(
            .init(kind: .delivery, topic: naming.name(of: recipient), error: fate, message: message, field: nil, count: 1),
            of: dataset, &turn)
    }

    /// Tells that so many matches were not made.
    func tellOverload(_ topic: String, _ message: String, count: Int, of dataset: Dataset, _ turn: inout Turn) {
        report(
            .init(kind: .overload, topic: topic, error: "limit", message: message, field: nil, count: count), of: dataset,
            &turn)
    }

    func report(_ diagnostic: DiagnosticsWindow.Diagnostic, of dataset: Dataset, _ turn: inout Turn) {
        if let told = dataset.diagnostics.report(diagnostic, at: turn.now) { tell(told, of: dataset.id, &turn) }
    }

    /// Datasets that do not exist have diagnostics too, of at most a thousand of them in a second.
    private func reportStranger(_ diagnostic: DiagnosticsWindow.Diagnostic, dataset: String, _ turn: inout Turn) {
        guard strangers[dataset] != nil || strangers.count < 1000 else { return }
        if let told = strangers[dataset, default: DiagnosticsWindow()].report(diagnostic, at: turn.now) {
            tell(told, of: dataset, &turn)
        }
    }

    func advanceStrangers(to now: Int64, _ turn: inout Turn) {
        for name in strangers.keys.sorted() {
            for diagnostic in strangers[name]?.end(at: now) ?? [] { tell(diagnostic, of: name, &turn) }
            if strangers[name]?.isIdle == true { strangers[name] = nil }
        }
    }

    func tell(_ diagnostic: DiagnosticsWindow.Diagnostic, of dataset: String, _ turn: inout Turn) {
        turn.effects.output.append(.diagnostic(diagnostic.kind.rawValue), name: dataset, payload: diagnostic.encode())
    }

    /// What only the log is told, at most once a second.
    func noteForLog(_ turn: inout Turn) {
        if malformedDatasets > 0 {
            turn.note(.malformedDataset(count: malformedDatasets))
            malformedDatasets = 0
        }
        for dataset in orderedDatasets where dataset.droppedMatches > 0 {
            turn.note(.matchesDropped(dataset: dataset.id, count: dataset.droppedMatches))
            dataset.droppedMatches = 0
        }
    }
}

extension WireError {
    static func unknownDataset(_ name: String) -> WireError {
        WireError(.unknownDataset, "there is no dataset `\(name)`", field: "dataset")
    }
}
