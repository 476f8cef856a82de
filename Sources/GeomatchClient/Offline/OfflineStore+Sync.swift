internal import Foundation
internal import Synchronization
internal import Wire

extension OfflineStore {
    /// How far the exchange with the daemon is.
    public var progress: SyncProgress {
        let pending = (try? database.pendingCount()) ?? 0
        return replication.withLock { $0.progress(pending: pending) }
    }

    /// Every change of ``progress`` from now on. Each call gives a consumer of its own.
    public var progressUpdates: BufferedSequence<SyncProgress, Never> {
        let mailbox = Mailbox<SyncProgress, Never>(capacity: 1000)
        replication.withLock { $0.observers }.add(mailbox)
        return BufferedSequence(mailbox: mailbox)
    }

    /// Asked once about each document with revisions that lost; without it, or with ``OfflineConflict/Resolution/leave``, they stay
    /// beside the winner. Where it merges, the same of the same makes replicas agree at once.
    public func onConflict(_ resolve: (@Sendable (OfflineConflict) async -> OfflineConflict.Resolution)?) {
        replication.withLock { replication in
            replication.resolver = resolve
            replication.asked.removeAll()
        }
        wake()
    }

    /// Exchanges everything there is, once.
    ///
    /// - Parameter client: Of this store's dataset and name.
    /// - Throws: `invalid` for another dataset's client, `conflict` while ``start(with:)`` runs, and what the exchange threw. What was
    ///   done until then is done.
    @discardableResult
    public func sync(with client: GeomatchClient) async throws(GeomatchError) -> SyncProgress {
        try check(client)
        guard replication.withLock({ $0.begin() }) else {
            throw GeomatchError(.conflict, "the store is being replicated already")
        }
        let pending = try database.pendingCount()
        tell { replication in
            replication.isReachable = true
            replication.lastError = nil
            replication.begin(pending: pending)
        }
        defer {
            tell { replication in
                replication.end()
                replication.isRunning = false
            }
        }
        do throws(GeomatchError) {
            try await Exchange(self, client).run()
        } catch {
            tell { $0.lastError = error }
            throw error
        }
        return progress
    }

    /// Keeps the store and the daemon together until ``stop()``: continuously, across lost connections, for weeks.
    ///
    /// It returns at once; ``progress`` reports what happens. Without effect where it runs already.
    ///
    /// - Parameter client: Of this store's dataset and name; its connection is held meanwhile.
    public func start(with client: GeomatchClient) throws(GeomatchError) {
        try check(client)
        guard replication.withLock({ $0.begin() }) else { return }
        let feed = client.changeFeed()
        // A free task: it ends with `stop()`, which the end of the store calls.
        let task = Task { [weak self] in
            await Self.replicate(with: client, feed) { self }
            feed.end()
            self?.tell { replication in
                replication.end()
                replication.isRunning = false
                replication.news = nil
            }
        }
        replication.withLock { replication in
            replication.task = task
            replication.news = feed.news
        }
    }

    /// Ends what ``start(with:)`` began. What is under way may still arrive; nothing is lost by it.
    public func stop() {
        let task = replication.withLock { replication in
            defer { replication.task = nil }
            return replication.task
        }
        task?.cancel()
    }

    private func check(_ client: GeomatchClient) throws(GeomatchError) {
        let configuration = client.configuration
        guard configuration.dataset == dataset, configuration.client == self.client else {
            throw GeomatchError(
                .invalid,
                "the store is that of \(self.client) in \(dataset), not of \(configuration.client) in \(configuration.dataset)",
                field: "client")
        }
    }

    // MARK: Parts

    /// Something is to be pushed.
    func wake() { replication.withLock { $0.news }?.send(.turn) }

    /// Changes how far the replication is, and notifies its observers.
    func tell(_ change: (inout Replication) -> Void) {
        let pending = (try? database.pendingCount()) ?? 0
        let (before, after, observers) = replication.withLock { replication in
            let before = replication.progress(pending: pending)
            change(&replication)
            return (before, replication.progress(pending: pending), replication.observers)
        }
        if before != after { observers.send(after) }
    }

    /// How soon what another program wrote into the file is noticed.
    private static let lookingInterval = Duration.seconds(2)

    /// - Parameter store: Gives the store as long as somebody has it.
    private static func replicate(
        with client: GeomatchClient, _ feed: ChangeFeed, _ store: () -> OfflineStore?
    ) async {
        var mustExchange = true
        var mustFollow = true
        var failures = 0
        // Another program of the same client may have ended the stream meanwhile: half a lease is longer than that may go unnoticed.
        let renewal = min(Duration.seconds(client.configuration.leaseSeconds) / 2, .seconds(300))
        var renewAt = ContinuousClock.now + renewal
        while !Task.isCancelled {
            guard let store = store() else { return }
            store.tell { $0.isReachable = client.connectionState == .connected && client.isDaemonOnline != false }
            if mustExchange || mustFollow {
                do throws(GeomatchError) {
                    let pending = try store.database.pendingCount()
                    store.tell { $0.begin(pending: pending) }
                    if mustExchange { try await Exchange(store, client).run() }
                    if mustFollow {
                        try await store.follow(client)
                        renewAt = .now + renewal
                    }
                    (mustExchange, mustFollow, failures) = (false, false, 0)
                    store.tell { replication in
                        replication.end()
                        replication.isReachable = true
                        replication.lastError = nil
                    }
                } catch {
                    guard await store.endures(error, failures: failures, client) else { return }
                    failures += 1
                    mustExchange = true
                    continue
                }
            }
            guard ContinuousClock.now < renewAt else {
                (mustExchange, mustFollow) = (true, true)
                continue
            }
            switch await feed.next(within: min(renewAt - .now, Self.lookingInterval)) {
            case .page(let page)?:
                do throws(GeomatchError) {
                    if try !Exchange(store, client).take(page) { mustExchange = true }
                    if try store.database.hasUnaskedConflicts(store) { mustExchange = true }
                } catch {
                    store.tell { $0.lastError = error }
                    mustExchange = true
                }
            case .turn?: mustExchange = true
            case .recovered?: (mustExchange, mustFollow) = (true, true)
            case .stateChanged?: break
            case .failed(let error)?:
                store.tell { $0.lastError = error }
                return
            case nil: mustExchange = store.progress.pending > 0
            }
        }
    }

    private func follow(_ client: GeomatchClient) async throws(GeomatchError) {
        let checkpoint = try database.checkpoint()
        _ = try await client.send(
            "changes/follow",
            [
                "since": .integer(checkpoint.since), "storeId": .string(checkpoint.storeId),
                "lease": .integer(Int64(client.configuration.leaseSeconds)),
            ])
    }

    /// Waits before another try.
    ///
    /// - Returns: false where another try cannot help.
    private func endures(_ error: GeomatchError, failures: Int, _ client: GeomatchClient) async -> Bool {
        let isFinal = [.closed, .cancelled, .refused, .topicRefused, .file].contains(error.kind)
        tell { replication in
            replication.end()
            if error.kind != .cancelled { replication.lastError = error }
            replication.isReachable = client.connectionState == .connected && client.isDaemonOnline != false
        }
        guard !isFinal else { return false }
        // A time-out has waited already.
        guard error.kind != .timeout, error.kind != .connectionLost else { return true }
        let seconds = Double.random(in: 0.2...1) * min(30, 0.5 * pow(2, Double(min(failures, 8))))
        return (try? await Task.sleep(for: .seconds(seconds))) != nil
    }
}

extension Replication {
    /// - Returns: false where it runs already.
    fileprivate mutating func begin() -> Bool {
        guard !isRunning else { return false }
        isRunning = true
        isReachable = false
        return true
    }
}

extension LocalDatabase {
    /// The application has not been asked about one.
    fileprivate func hasUnaskedConflicts(_ store: OfflineStore) throws(GeomatchError) -> Bool {
        guard store.replication.withLock({ $0.resolver != nil }) else { return false }
        let known = try conflicts()
        return store.replication.withLock { replication in
            known.contains { !replication.asked.contains("\($0.type) \($0.id) \($0.revision) \($0.conflicts)") }
        }
    }
}
