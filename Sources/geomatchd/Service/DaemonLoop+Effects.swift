import Datasets
import Logging
import Store
import Wire
import Records

// What the hub wants: to be durable first where a request waits for it, then to be told.

extension DaemonLoop {
    func finishBatch(at now: Int64) {
        hub.endBatch(at: now, into: &effects)
        perform(at: now)
    }

    /// Does what the hub wants, and what it wants then.
    func perform(at now: Int64) {
        while !effects.isEmpty {
            // What changed a counter is durable together with it, whichever way it came.
            hub.endBatch(at: now, into: &effects)
            swap(&effects, &current)
            publish(current.messages)
            webhooks?.post(current.posts)
            keep(&current, at: now)
            for query in current.queries { ask(query) }
            for notice in current.notices { log.notice(notice) }
            let filtersChanged = current.filtersChanged
            current.removeAll()
            if filtersChanged { updateFilters() }
        }
    }

    /// Makes changes durable. Requests wait for it, with everything behind them; what nobody asked for does not.
    private func keep(_ current: inout HubEffects, at now: Int64) {
        guard !current.changes.isEmpty else {
            publish(current.gated)
            return
        }
        guard current.hasRequests else {
            append(current.changes)
            return
        }
        do throws(StoreError) {
            guard let journal else { throw .other("the journal is closed") }
            try journal.commitNow(current.changes)
            while let first = unconfirmed.first { confirm(first.token) }
            publish(current.gated)
            hub.committed(current.deletions, at: now, into: &effects)
            hub.durable(matchesThrough: hub.matchNumber, into: &effects)
        } catch {
            refuse(current, error, at: now)
        }
    }

    private func append(_ changes: [DurableChange]) {
        lastToken += 1
        unconfirmed.append((lastToken, changes, hub.matchNumber))
        journal?.append(changes, token: lastToken)
    }

    func confirm(_ token: UInt64) {
        guard let first = unconfirmed.first, first.token <= token else { return }
        while let first = unconfirmed.first, first.token <= token {
            unconfirmed.removeFirst()
            hub.durable(matchesThrough: first.matchNumber, into: &effects)
        }
    }

    /// The store took nothing of what was asked: memory goes back to what is durable, and to what waits to be.
    private func refuse(_ refused: HubEffects, _ error: StoreError, at now: Int64) {
        let (waiting, datasets) = hub.refused(refused, reason: error.description, at: now, into: &effects)
        if !waiting.isEmpty { append(waiting) }
        var known = Set<String>()
        hub.beginRebuilding(datasets)
        let restore = { [hub] (change: DurableChange) throws(WireError) in
            switch change {
            // Memory knows these better: it was never changed by what was refused.
            case .putReply, .putLiveState: return
            case .putDataset(let record): known.insert(record.id)
            default: break
            }
            try hub.restore(change, at: now)
        }
        do {
            for name in datasets {
                try store.restore(dataset: name) { try restore($0) }
                for (_, changes, _) in unconfirmed {
                    for change in changes where change.dataset == name { try restore(change) }
                }
            }
        } catch {
            log.critical("store cannot be read", metadata: ["error": "\(error)"])
            health.fail(.storeUnreadable("\(error)"))
        }
        hub.endRebuilding(datasets, known: known, at: now, into: &effects)
    }

    func ask(_ query: StoreQuery) {
        lastToken += 1
        queries[lastToken] = query
        journal?.ask(query.kind, token: lastToken)
    }
}

extension Logger {
    fileprivate func notice(_ notice: Notice) {
        switch notice {
        case .datasetCreated(let name): info("dataset created", metadata: ["dataset": "\(name)"])
        case .datasetDeleted(let name): info("dataset deleted", metadata: ["dataset": "\(name)"])
        case .malformedDataset(let count):
            warning("live updates refused: malformed dataset level", metadata: ["count": "\(count)"])
        case .internalFailure(let id, let request):
            error("request failed", metadata: ["id": "\(id)", "request": "\(request)"])
        case .matchesDropped(let dataset, let count):
            error("matches dropped", metadata: ["dataset": "\(dataset)", "count": "\(count)"])
        }
    }
}
