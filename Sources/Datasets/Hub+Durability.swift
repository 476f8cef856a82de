import Geodesy
import LiveTopics
import Matching
import Selectors
import Wire

// How the hub comes back: a restart is a replay of what is durable.

extension Hub {
    /// Takes back one durable change; datasets come first, then devices, what hangs on them, and the rest.
    ///
    /// - Throws: A ``WireError`` when a row cannot be what this program wrote.
    public func restore(_ change: DurableChange, at now: Int64) throws(WireError) {
        switch change {
        case .putDataset(let record):
            if let dataset = datasets[record.id] { dataset.record = record } else { datasets[record.id] = Dataset(record) }
        case .deleteDataset(let id, let at): deletedDatasets[id] = at
        case .putDevice(let record): restore(record)
        case .putPublication(let record): try restore(record, at: now)
        case .putSubscription(let record): try restore(record, at: now)
        case .putPair(let record): restore(record, at: now)
        case .putLiveState(let record): restore(record)
        case .putMatch(let record): restore(record)
        case .putReply(let record):
            datasets[record.dataset]?.replies.remember(
                record.body, to: record.requestId, of: record.client, at: record.at, limits: configuration.limits)
        case .putDelivery(let dataset, let id, let delivery): datasets[dataset]?.subscriptions[id]?.record.delivery = delivery
        case .putHints(let dataset, let id, let hints): datasets[dataset]?.subscriptions[id]?.record.hints = hints
        case .deleteDevice(let dataset, let id):
            if let dataset = datasets[dataset], let device = dataset.devices[id] { dataset.remove(device) }
        case .deletePublication(let dataset, let id):
            if let dataset = datasets[dataset], let publication = dataset.publications[id] { dataset.remove(publication) }
        case .deleteSubscription(let dataset, let id):
            if let dataset = datasets[dataset], let subscription = dataset.subscriptions[id] { dataset.remove(subscription) }
        case .matchDelivered, .forgetMatch, .forgetLiveState, .forgetReplies, .putFilters: break
        }
    }

    /// Ends a restoration: what waits for the broker may go out, numbers go on behind the highest one.
    ///
    /// - Parameters:
    ///   - liveNumber: The highest number of a `live/…` message that the store knows.
    ///   - matchNumber: The highest number of a match that the store knows.
    public func endRestoration(liveNumber: Int64, matchNumber: Int64) {
        self.liveNumber = max(self.liveNumber, liveNumber)
        self.matchNumber = max(self.matchNumber, matchNumber)
        outbox.durable(through: self.matchNumber)
        for dataset in datasets.values { dataset.diagnostics = DiagnosticsWindow() }
    }

    private func restore(_ record: DeviceRecord) {
        guard let dataset = datasets[record.dataset] else { return }
        if let device = dataset.devices[record.id] {
            device.record = record
            return
        }
        dataset.register(Device(record, reference: dataset.engine.addDevice()))
    }

    private func restore(_ record: PublicationRecord, at now: Int64) throws(WireError) {
        guard let dataset = datasets[record.dataset], let device = dataset.devices[record.deviceId] else { return }
        if let known = dataset.publications[record.id] { dataset.remove(known) }
        let properties = try PropertiesCoding.decode(text: record.properties)
        engineEffects.removeAll(keepingCapacity: true)
        let reference = dataset.engine.addPublication(
            on: device.reference, topic: record.topic, range: record.range,
            expiresAt: deadline(from: record.createdAt, duration: record.duration), properties: properties, at: now,
            evaluate: false, into: &engineEffects)
        dataset.register(Publication(record, reference: reference))
    }

    private func restore(_ record: SubscriptionRecord, at now: Int64) throws(WireError) {
        guard let dataset = datasets[record.dataset], let device = dataset.devices[record.deviceId] else { return }
        if let known = dataset.subscriptions[record.id] { dataset.remove(known) }
        let selector = try Selector(checking: record.selector)
        engineEffects.removeAll(keepingCapacity: true)
        let reference = dataset.engine.addSubscription(
            on: device.reference, topic: record.topic, range: record.range,
            expiresAt: deadline(from: record.createdAt, duration: record.duration), selector: selector,
            matchTTL: record.matchTTLMilliseconds, matchDTL: record.effectiveMatchDTL, excludeSelf: record.excludeSelf, at: now,
            evaluate: false, into: &engineEffects)
        dataset.register(Subscription(record, reference: reference))
    }

    private func restore(_ record: PairRecord, at now: Int64) {
        guard let dataset = datasets[record.dataset], let publication = dataset.publications[record.publicationId],
            let subscription = dataset.subscriptions[record.subscriptionId]
        else { return }
        let suppression = Suppression(
            lastMatchAt: record.lastMatchAt,
            publicationPosition: Position(
                latitude: record.publicationLatitude, longitude: record.publicationLongitude),
            subscriptionPosition: Position(
                latitude: record.subscriptionLatitude, longitude: record.subscriptionLongitude))
        dataset.engine.restoreSuppression(subscription.reference, publication.reference, suppression, at: now)
    }

    private func restore(_ record: LiveStateRecord) {
        guard let dataset = datasets[record.dataset], liveStates[record.topic] == nil,
            let live = try? LiveTopic(encoded: record.topic)
        else { return }
        let state = LiveState(
            dataset: dataset, topic: record.topic, domain: live.domain, itemID: live.itemID, timestamp: record.timestamp,
            receivedAt: record.receivedAt, number: record.number, payload: record.payload)
        liveStates[record.topic] = state
        if record.payload != nil { dataset.countLiveTopic(live.domain, by: 1) }
        liveNumber = max(liveNumber, record.number)
        settle(state)
    }

    /// Ties a known position to the device it names, and stands it there without asking what it meets.
    private func settle(_ state: LiveState) {
        guard state.domain == "position", state.itemIsLocation, let payload = state.payload else { return }
        let dataset = state.dataset
        guard let device = dataset.devices[state.itemID], device.record.type != .beacon else {
            dataset.positionsWithoutDevice[state.itemID] = state
            return
        }
        if let known = device.positionTopic, known.timestamp > state.timestamp { return }
        state.device = device
        device.positionTopic = state
        if let position = LiveMessage.position(inPayload: payload) { dataset.engine.place(device.reference, at: position) }
    }

    private func restore(_ record: MatchRecord) {
        matchNumber = max(matchNumber, record.number)
        guard let dataset = datasets[record.dataset] else { return }
        dataset.devices[record.deviceId]?.matches.append(record.number)
        guard record.pending, outbox.entries[record.number] == nil else { return }
        // It may have been sent before; the broker gets it again under the same id.
        dataset.counters.pending += 1
        dataset.counters.retried += 1
        dataset.subscriptions[record.subscriptionId]?.record.delivery.retried += 1
        outbox.append(
            record.number,
            Outbox.Entry(
                dataset: dataset, subscriptionId: record.subscriptionId,
                topic: matchTopic(
                    dataset: record.dataset, owner: record.owner, deviceId: record.deviceId,
                    subscriptionId: record.subscriptionId), body: record.body))
    }

    // MARK: When the store refuses

    /// The changes of these effects are durable: deletions take effect.
    public func committed(_ deletions: [Deletion], at now: Int64, into effects: inout HubEffects) {
        for deletion in deletions {
            switch deletion {
            case .dataset(let id):
                if let dataset = datasets[id] { removeDataset(dataset, at: now, into: &effects) }
            case .device(let dataset, let id):
                guard let dataset = datasets[dataset], let device = dataset.devices[id] else { continue }
                if let state = device.positionTopic {
                    device.positionTopic = nil
                    state.device = nil
                    forgetState(state, at: now, into: &effects)
                }
                dataset.remove(device)
            }
        }
    }

    /// The store refused the changes of these effects: whoever asked is told `internal`.
    ///
    /// - Returns: The changes nobody asked for (matches, devices made by their position), which wait; and the datasets
    ///   whose memory now says more than the store: to be rebuilt by ``beginRebuilding(_:)``, restoring those datasets
    ///   from the store and then the changes that wait, and ``endRebuilding(_:at:)``.
    public func refused(
        _ refused: HubEffects, reason: String, at now: Int64, into effects: inout HubEffects
    ) -> (waiting: [DurableChange], datasets: [String]) {
        storeIsWritable = false
        let id = identifiers.uuid()
        for context in refused.replies {
            if let requestId = context.requestId {
                datasets[context.dataset]?.replies.forget(requestId: requestId, of: context.client)
            }
            datasets[context.dataset]?.counters.failedRequests += 1
            let error = WireError(.internal, "the store cannot be written (\(reason)); nothing was changed, see the log at \(id)")
            effects.messages.append(
                topic: context.topic, prefix: configuration.topicsPrefix, qos: 1, retain: false,
                correlation: context.correlation, payload: context.encode(error))
        }
        effects.notices.append(.internalFailure(id: id, request: refused.replies.first?.request ?? "-"))
        var asked = Set<Int>()
        for range in refused.requested { asked.formUnion(range) }
        for index in asked.sorted() {
            if case .putMatch(let record) = refused.changes[index], let entry = outbox.remove(record.number) {
                entry.dataset.counters.pending -= 1
                entry.dataset.counters.matched -= 1
            }
        }
        let waiting = refused.changes.indices.filter { !asked.contains($0) }.map { refused.changes[$0] }
        return (waiting, Set(refused.replies.map(\.dataset)).sorted())
    }

    /// Lets go of what the store gives back of these datasets.
    public func beginRebuilding(_ names: [String]) {
        for name in names { datasets[name]?.reset() }
        datasetsWithDeliveries.removeAll { dataset in names.contains(dataset.id) }
        for state in liveStates.values where names.contains(state.dataset.id) { state.device = nil }
    }

    /// Stands the devices where they are again. Datasets that the store does not know are gone.
    public func endRebuilding(_ names: [String], known: Set<String>, at now: Int64, into effects: inout HubEffects) {
        for name in names where !known.contains(name) {
            if let dataset = datasets[name] { removeDataset(dataset, at: now, into: &effects) }
            deletedDatasets[name] = nil
        }
        for state in liveStates.values where names.contains(state.dataset.id) { settle(state) }
    }

    /// The changes of a state that are still only in memory.
    func writeBehind(into effects: inout HubEffects) {
        guard storeIsWritable else { return }
        for state in dirty {
            state.dirty = false
            effects.changes.append(.putLiveState(LiveStateRecord(state)))
        }
        dirty.removeAll(keepingCapacity: true)
    }

    /// Everything that is only in memory, for a clean stop.
    public func finish(into effects: inout HubEffects) {
        storeIsWritable = true
        writeBehind(into: &effects)
        tellDeliveries(into: &effects)
    }
}

/// What is let go of in memory once the store has.
public enum Deletion: Equatable, Sendable {
    case dataset(String)
    case device(dataset: String, id: String)
}

extension LiveStateRecord {
    init(_ state: LiveState) {
        self.init(
            dataset: state.dataset.id, topic: state.topic, timestamp: state.timestamp, receivedAt: state.receivedAt,
            number: state.number, payload: state.payload)
    }
}

extension SubscriptionRecord {
    var matchTTLMilliseconds: Int64 {
        let milliseconds = effectiveMatchTTL * 1000
        return milliseconds < 4e18 ? Int64(milliseconds.rounded(.up)) : .max
    }
}

extension PropertiesCoding {
    /// Reads what a record holds.
    static func decode(text: String) throws(WireError) -> Properties {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(text)
        } catch {
            throw WireError(error)
        }
        return try decode(value)
    }
}

extension Selector {
    /// Compiles with the error a reply gives.
    convenience init(checking text: String) throws(WireError) {
        do throws(SelectorError) {
            try self.init(text)
        } catch {
            throw WireError(.invalid, error.message, field: "selector", position: error.position)
        }
    }
}
