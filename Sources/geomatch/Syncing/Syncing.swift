import Dispatch
import GeomatchClient
import Synchronization

/// An exchange with the daemon, told line by line.
struct Syncing {
    private let store: OfflineStore
    private let configuration: GeomatchConfiguration
    private let asJSON: Bool

    init(_ store: OfflineStore, _ configuration: GeomatchConfiguration, asJSON: Bool) {
        self.store = store
        self.configuration = configuration
        self.asJSON = asJSON
    }

    /// Blocks until everything is exchanged, or until Ctrl-C.
    func run(once: Bool) throws {
        let done = DispatchSemaphore(value: 0)
        let outcome = Mutex<Result<Void, GeomatchError>>(.success(()))
        // A free task: the thread of the command waits for it.
        let task = Task {
            let result = await exchange(once: once)
            outcome.withLock { $0 = result }
            done.signal()
        }
        let interrupt = Interrupt { task.cancel() }
        done.wait()
        withExtendedLifetime(interrupt) {}
        switch outcome.withLock({ $0 }) {
        case .success: break
        case .failure(let error) where error.kind == .cancelled: break
        case .failure(let error): throw CommandFailure(error)
        }
        let refusals = try store.refusals
        for refusal in refusals {
            StandardError.line("geomatch: refused \(PlainText.printable("\(refusal.type) \(refusal.id)")): \(refusal.error)")
        }
        if once, !refusals.isEmpty { throw CommandFailure.failed("\(refusals.count) documents were refused") }
    }

    private func exchange(once: Bool) async -> Result<Void, GeomatchError> {
        let changes = store.changes
        let telling = Task { await tell(changes) }
        let progressing = Task { await tell(store.progressUpdates) }
        defer {
            telling.cancel()
            progressing.cancel()
        }
        do throws(GeomatchError) {
            let client = try GeomatchClient(configuration)
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
            await client.close()
            // What waits to be told is told.
            await Task.yield()
            let progress = store.progress
            StandardError.line("geomatch: \((try? store.count()) ?? 0) documents, \(progress.pending) pending")
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func tell(_ changes: BufferedSequence<OfflineChange, Never>) async {
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

    private func tell(_ updates: BufferedSequence<SyncProgress, Never>) async {
        var status = SyncProgress.Status.stopped
        for await progress in updates where progress.status != status {
            status = progress.status
            let error = progress.lastError.map { ": \($0)" } ?? ""
            StandardError.line("geomatch: \(status.rawValue)\(error)")
        }
    }
}
