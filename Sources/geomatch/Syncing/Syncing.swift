import GeomatchClient

/// An exchange with the daemon, reported line by line.
struct Syncing: Sendable {
    private let store: OfflineStore
    private let asJSON: Bool

    init(_ store: OfflineStore, asJSON: Bool) {
        self.store = store
        self.asJSON = asJSON
    }

    /// - Parameter once: It ends when everything is exchanged.
    func run(_ client: GeomatchClient, once: Bool) async throws {
        let changes = store.changes
        let reporting = Task { await report(changes) }
        let progressing = Task { await report(store.progressUpdates) }
        defer {
            reporting.cancel()
            progressing.cancel()
        }
        if once {
            try await store.sync(with: client)
        } else {
            let states = store.progressUpdates
            try store.start(with: client)
            for await progress in states where progress.status == .stopped {
                if let error = progress.lastError { throw error }
            }
            store.stop()
        }
        // Lets the tasks report what waits.
        await Task.yield()
        let progress = store.progress
        StandardError.line("geomatch: \((try? store.count()) ?? 0) documents, \(progress.pending) pending")
    }

    func reportRefusals(once: Bool) throws {
        let refusals = try store.refusals
        for refusal in refusals {
            StandardError.line("geomatch: refused \(PlainText.printable("\(refusal.type) \(refusal.id)")): \(refusal.error)")
        }
        if once, !refusals.isEmpty { throw CommandFailure.failed("\(refusals.count) documents were refused") }
    }

    private func report(_ changes: BufferedSequence<OfflineChange, Never>) async {
        var output = StandardOutput()
        for await change in changes {
            output.line(line(change))
            output.flush()
        }
    }

    private func line(_ change: OfflineChange) -> String {
        let source: String =
            switch change.source {
            case .local: "."
            case .remote: "+"
            case .reverted: "-"
            }
        guard !asJSON else {
            let members: [String: PropertyValue] = [
                "source": .string("\(change.source)"), "type": .string(change.type), "id": .string(change.id),
                "revision": .string(change.revision), "deleted": .bool(change.isDeleted),
                "inConflict": .bool(change.isInConflict),
            ]
            return PropertyValue.object(members).description
        }
        return "\(source) \(PlainText.printable("\(change.type) \(change.id)")) \(change.revision)"
            + (change.isDeleted ? " deleted" : "") + (change.isInConflict ? " in conflict" : "")
    }

    private func report(_ updates: BufferedSequence<SyncProgress, Never>) async {
        var status = SyncProgress.Status.stopped
        for await progress in updates where progress.status != status {
            status = progress.status
            let error = progress.lastError.map { ": \($0)" } ?? ""
            StandardError.line("geomatch: \(status.rawValue)\(error)")
        }
    }
}
