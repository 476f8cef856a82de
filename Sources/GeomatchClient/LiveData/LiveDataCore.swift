internal import Foundation
internal import Wire

/// The live subscriptions of one manager. Guarded by the session's lock, as everything on it.
final class LiveDataCore: SessionComponent {
    enum Phase {
        case subscribing, active, unsubscribing
    }

    /// A class, so that what it remembers is changed where it is.
    final class Entry {
        let order: UInt64
        var subscription: LiveSubscription
        let filter: String
        var phase = Phase.subscribing
        /// When the lease is renewed, on ``SteadyClock``.
        var renewAt = Int64.max
        /// The request that is under way for it.
        var request: [UInt8]?
        /// The last update of each topic it let through: what must be reported as left when it is gone after a recovery.
        var known: [LiveUpdateTopic: LiveUpdate] = [:]
        var recovery: LiveRecovery?

        init(order: UInt64, subscription: LiveSubscription, filter: String) {
            self.order = order
            self.subscription = subscription
            self.filter = filter
        }
    }

    /// Topics remembered for each subscription; beyond them what is gone after a recovery is not reported as left.
    static let knownMax = 100_000

    var number = 0
    /// By the ids this library gave.
    var entries: [String: Entry] = [:]
    /// When something is due for one of them, on ``SteadyClock``.
    var nextDue = Int64.max
    private(set) var state = ConnectionState.closed
    let events = Broadcast<LiveDataEvent, Never>()
    let updates = Broadcast<LiveUpdate, GeomatchError>()

    /// Is notified of everything first.
    var observer: (any LiveDataObserver)?

    typealias Done = @Sendable (Result<LiveSubscription, GeomatchError>) -> Void

    func send(_ event: LiveDataEvent) {
        observer?.happened(event)
        events.send(event)
    }

    // MARK: Subscribing

    /// - Returns: The id it will have.
    func subscribe(_ criteria: LiveCriteria, _ core: SessionCore, _ done: @escaping Done) -> String {
        let id = RequestID.new()
        let subscription = LiveSubscription(id: id, criteria: criteria)
        let filter = core.topics.live(id)
        core.addFilter(filter, component: number)
        core.hold(number)
        // The connection may have been refused at once.
        guard core.holds(number) else {
            core.removeFilter(filter)
            done(.failure(.closed))
            return id
        }
        join(core.phase.state)
        entries[id] = Entry(order: core.nextNumber(), subscription: subscription, filter: filter)
        let parameters = criteria.parameters(
            id: id, lease: core.configuration.leaseSeconds, snapshot: criteria.isSnapshotWanted)
        let request = core.request(
            "live/subscribe", parameters, requiredFilter: filter, timeout: core.configuration.requestTimeout
        ) { [unowned self, unowned core] result in
            subscribed(id, result, core, done)
        }
        entries[id]?.request = request
        return id
    }

    private func subscribed(
        _ id: String, _ result: Result<JSONObject, GeomatchError>, _ core: SessionCore, _ done: Done
    ) {
        guard var subscription = entries[id]?.subscription else { return done(.failure(.closed)) }
        switch result {
        case .success(let reply):
            subscription.hints = reply["hints"]?.asArray?.compactMap(\.asString) ?? []
            entries[id]?.subscription = subscription
            entries[id]?.phase = .active
            entries[id]?.request = nil
            renew(id, at: renewal(core))
            send(.subscribed(subscription))
            done(.success(subscription))
        case .failure(let error):
            // After a time-out or a cancellation it may be active all the same: its lease would keep it for nobody.
            if error.kind == .timeout || error.kind == .cancelled { forget(at: id, core) }
            fail(id, error, core)
            done(.failure(error))
        }
    }

    /// Notifies the daemon once, without waiting for the answer.
    private func forget(at id: String, _ core: SessionCore) {
        guard core.phase == .connected else { return }
        core.request("live/unsubscribe", ["id": .string(id)], timeout: .seconds(5)) { _ in }
    }

    /// A subscription error: reported, removed, never tried again.
    func fail(_ id: String, _ error: GeomatchError, _ core: SessionCore) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        core.removeFilter(entry.filter)
        if error.kind != .cancelled { send(.subscriptionFailed(entry.subscription, error)) }
        releaseIfEmpty(core)
    }

    /// Makes the request that is under way for `id` end.
    func giveUp(_ id: String, _ core: SessionCore) {
        guard let request = entries[id]?.request else { return }
        core.cancelRequest(request, with: .cancelled)
    }

    // MARK: Unsubscribing

    func unsubscribe(_ id: String, _ core: SessionCore, _ done: @escaping Done) {
        guard let entry = entries[id], entry.phase == .active else {
            return done(
                .failure(GeomatchError(.notFound, "this manager has no such subscription", field: "subscription")))
        }
        if let request = entry.request { core.cancelRequest(request, with: .cancelled) }
        entries[id]?.phase = .unsubscribing
        let request = core.request(
            "live/unsubscribe", ["id": .string(id)], timeout: core.configuration.requestTimeout
        ) { [unowned self, unowned core] result in
            unsubscribed(id, result, core, done)
        }
        entries[id]?.request = request
    }

    private func unsubscribed(
        _ id: String, _ result: Result<JSONObject, GeomatchError>, _ core: SessionCore, _ done: Done
    ) {
        guard let subscription = entries[id]?.subscription else { return done(.failure(.closed)) }
        switch result {
        case .failure(let error) where error.kind != .notFound:
            send(.unsubscriptionFailed(subscription, error))
            if error.code > 0 {
                // The daemon says that it is still active.
                entries[id]?.phase = .active
                entries[id]?.request = nil
            } else {
                // Nobody renews it any more, so that the daemon forgets it too.
                remove(id, core)
            }
            done(.failure(error))
        default:
            send(.unsubscribed(subscription))
            remove(id, core)
            done(.success(subscription))
        }
    }

    private func remove(_ id: String, _ core: SessionCore) {
        if let entry = entries.removeValue(forKey: id) { core.removeFilter(entry.filter) }
        releaseIfEmpty(core)
    }

    func releaseIfEmpty(_ core: SessionCore) {
        guard entries.isEmpty, core.holds(number) else { return }
        core.release(number)
        // Where others keep the connection, this manager has ended its part of it.
        if core.phase != .disconnecting {
            move(to: .disconnecting)
            move(to: .closed)
        }
    }

    /// Ends without a word to the daemon.
    func close(_ core: SessionCore) {
        let ended = entries.values
        entries.removeAll()
        for entry in ended {
            core.removeFilter(entry.filter)
            if let request = entry.request { core.cancelRequest(request, with: .closed) }
        }
        core.components[number] = nil
        core.release(number)
        updates.finish(nil)
        events.finish(nil)
    }

    // MARK: What the session reports

    func stateChanged(_ state: ConnectionState, _ core: SessionCore) {
        if core.holds(number) {
            move(to: state)
        } else if self.state != .closed {
            move(to: state == .connecting || state == .connected ? .closed : state)
        }
    }

    func failed(_ error: GeomatchError, _ core: SessionCore) {
        let subscriptions = sortedEntries.map(\.subscription)
        for entry in entries.values { core.removeFilter(entry.filter) }
        entries.removeAll()
        for subscription in subscriptions { send(.subscriptionFailed(subscription, error)) }
        if error.kind != .closed { send(.failed(error)) }
        updates.finish(error.kind == .closed ? nil : error)
    }

    func troubled(_ error: GeomatchError) {
        if !entries.isEmpty { send(.failed(error)) }
    }

    func filterRefused(_ filter: String, _ error: GeomatchError, _ core: SessionCore) {
        guard let entry = entry(of: filter) else { return }
        // Ends the subscription where it waits for an answer.
        if let request = entry.request { core.cancelRequest(request, with: error) }
        fail(entry.subscription.id, error, core)
    }

    // MARK: Parts

    /// An open connection: the states on the way there are reported all the same.
    private func join(_ state: ConnectionState) {
        guard self.state == .closed, state == .connecting || state == .connected else { return }
        move(to: .connecting)
        move(to: state)
    }

    func move(to state: ConnectionState) {
        guard state != self.state else { return }
        self.state = state
        send(.stateChanged(state))
    }

    var sortedEntries: [Entry] { entries.values.sorted { $0.order < $1.order } }

    /// The last level of a topic or filter is the id.
    func entry(of topic: String) -> Entry? {
        topic.utf8.lastIndex(of: UInt8(ascii: "/")).flatMap { entries[String(topic[topic.utf8.index(after: $0)...])] }
    }

    /// Half of the lease from now.
    func renewal(_ core: SessionCore) -> Int64 { SteadyClock.now() + Int64(core.configuration.leaseSeconds) * 500 }

    func renew(_ id: String, at instant: Int64) {
        entries[id]?.renewAt = instant
        nextDue = min(nextDue, instant)
    }
}
