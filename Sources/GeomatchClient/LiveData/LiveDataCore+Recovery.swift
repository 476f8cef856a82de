internal import MQTTValues
internal import Wire

/// Making up for what was missed: the daemon is asked again, sends what is there now, and what is not there any more is
/// reported as left.
struct LiveRecovery {
    /// Topics that were known when it was asked and have not come again.
    var missing: Set<LiveUpdateTopic>
    /// How many topics came, each counted once (beyond what is remembered: each update).
    var came = 0
    /// How many updates the snapshot has; nil until the daemon answered.
    var expected: Int?
    /// When it counts as complete if nothing more comes: at QoS 0 an update may be lost. On ``SteadyClock``.
    var until = Int64.max
}

extension LiveDataCore {
    private static let snapshotPatience: Int64 = 5_000
    private static let renewalPause: Int64 = 30_000

    func recover(_ core: SessionCore) {
        for entry in sortedEntries where entry.phase == .active { subscribeAgain(entry.subscription.id, core) }
    }

    /// Under the same id, which replaces what the daemon may still have. Only a subscription that had succeeded.
    private func subscribeAgain(_ id: String, _ core: SessionCore) {
        guard let entry = entries[id] else { return }
        if let request = entry.request { core.cancelRequest(request, with: .cancelled) }
        let criteria = entry.subscription.criteria
        entry.recovery = criteria.isSnapshotWanted ? LiveRecovery(missing: Set(entry.known.keys)) : nil
        let parameters = criteria.parameters(
            id: id, lease: core.configuration.leaseSeconds, snapshot: criteria.isSnapshotWanted)
        // Without a time limit: the daemon may be away for long, and it had said yes.
        let request = core.request("live/subscribe", parameters, requiredFilter: entry.filter, timeout: nil) {
            [unowned self, unowned core] result in
            subscribedAgain(id, result, core)
        }
        entries[id]?.request = request
    }

    private func subscribedAgain(_ id: String, _ result: Result<JSONObject, GeomatchError>, _ core: SessionCore) {
        switch result {
        case .success(let reply):
            entries[id]?.request = nil
            renew(id, at: renewal(core))
            observer?.restored()
            guard let entry = entries[id], entry.recovery != nil else { return }
            let until = SteadyClock.now() + Self.snapshotPatience
            entry.recovery?.expected = reply["snapshot"]?.asInt64.flatMap { Int(exactly: $0) } ?? 0
            entry.recovery?.until = until
            nextDue = min(nextDue, until)
            finishRecoveryIfComplete(entry)
        case .failure(let error) where error.kind == .cancelled: break
        case .failure(let error): fail(id, error, core)
        }
    }

    func received(_ message: InboundMessage, _ core: SessionCore) {
        guard let entry = entry(of: String(decoding: message.topic, as: UTF8.self)) else { return }
        do throws(GeomatchError) {
            let update = try LiveUpdate(core.parse(message.payload), subscriptionID: entry.subscription.id)
            observer?.received(update, message.payload)
            take(update, entry)
        } catch {
            send(.failed(error))
        }
    }

    func receivedAll() { observer?.receivedAll() }
    func daemonLeft() { observer?.daemonLeft() }

    private func take(_ update: LiveUpdate, _ entry: Entry) {
        let isKnown = entry.known[update.topic] != nil
        if update.hasLeft {
            entry.known[update.topic] = nil
        } else if isKnown || entry.known.count < Self.knownMax {
            entry.known[update.topic] = update
        }
        report(update)
        guard entry.recovery != nil else { return }
        let wasMissing = entry.recovery?.missing.remove(update.topic) != nil
        if wasMissing || !isKnown { entry.recovery?.came += 1 }
        if entry.recovery?.expected != nil { entry.recovery?.until = SteadyClock.now() + Self.snapshotPatience }
        finishRecoveryIfComplete(entry)
    }

    private func report(_ update: LiveUpdate) {
        updates.send(update)
        events.send(.received(update))
    }

    private func finishRecoveryIfComplete(_ entry: Entry) {
        guard let recovery = entry.recovery, let expected = recovery.expected, recovery.came >= expected else { return }
        finishRecovery(entry)
    }

    /// What was known and did not come again is gone.
    private func finishRecovery(_ entry: Entry) {
        guard let recovery = entry.recovery else { return }
        entry.recovery = nil
        let gone = recovery.missing.compactMap { entry.known.removeValue(forKey: $0) }
        for var update in gone.sorted(by: { $0.topic.encoded < $1.topic.encoded }) {
            update.hasLeft = true
            observer?.received(update, nil)
            report(update)
        }
    }

    // MARK: Leases

    func tick(_ now: Int64, _ core: SessionCore) -> Int64 {
        let time = WallClock.now()
        let wanted = observer?.turn(now: time) ?? .max
        let turn = wanted == .max ? .max : now + (wanted - time)
        guard now >= nextDue else { return min(nextDue, turn) }
        for entry in sortedEntries where entry.phase == .active {
            let id = entry.subscription.id
            if let recovery = entry.recovery, now >= recovery.until { finishRecovery(entry) }
            if now >= entry.renewAt, entry.request == nil { renewLease(id, core) }
        }
        nextDue = entries.values.map { min($0.renewAt, $0.recovery?.until ?? .max) }.min() ?? .max
        return min(nextDue, turn)
    }

    private func renewLease(_ id: String, _ core: SessionCore) {
        entries[id]?.renewAt = .max
        let request = core.request(
            "live/renew", ["id": .string(id)], timeout: core.configuration.requestTimeout
        ) { [unowned self, unowned core] result in
            renewed(id, result, core)
        }
        // Nil where it has failed already.
        if entries[id]?.renewAt == .max { entries[id]?.request = request }
    }

    private func renewed(_ id: String, _ result: Result<JSONObject, GeomatchError>, _ core: SessionCore) {
        guard entries[id]?.phase == .active else { return }
        switch result {
        case .success:
            entries[id]?.request = nil
            renew(id, at: renewal(core))
        case .failure(let error) where error.kind == .cancelled: break
        case .failure(let error) where error.kind == .notFound:
            // The machine slept, or the daemon forgot: the lease ran out, and the subscription had been active.
            entries[id]?.request = nil
            subscribeAgain(id, core)
        case .failure(let error):
            entries[id]?.request = nil
            renew(id, at: SteadyClock.now() + Self.renewalPause)
            send(.failed(error))
        }
    }
}
