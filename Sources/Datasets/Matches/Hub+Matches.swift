import Geodesy
import LiveTopics
import Matching
import Wire

extension Hub {
    /// How many matches of a device are kept.
    static let matchesPerDevice = 100

    /// Shows every engine what moved since the last time; nothing else may happen to a dataset in between.
    func showMoves(at now: Int64, into effects: inout HubEffects) {
        guard !moved.isEmpty else { return }
        for dataset in moved {
            engineEffects.removeAll(keepingCapacity: true)
            dataset.engine.move(dataset.moves, at: now, into: &engineEffects)
            dataset.moves.removeAll(keepingCapacity: true)
            handleEngineEffects(of: dataset, at: now, into: &effects)
        }
        moved.removeAll(keepingCapacity: true)
    }

    func advanceEngine(of dataset: Dataset, to now: Int64, into effects: inout HubEffects) {
        dataset.instant = now
        engineEffects.removeAll(keepingCapacity: true)
        dataset.engine.advance(to: now, into: &engineEffects)
        handleEngineEffects(of: dataset, at: now, into: &effects)
    }

    func handleEngineEffects(of dataset: Dataset, at now: Int64, into effects: inout HubEffects) {
        for effect in engineEffects {
            switch effect {
            case .met(let meeting): record(meeting, in: dataset, into: &effects)
            case .visitBegan, .visitEnded, .crowded: continue
            case .publicationExpired(let reference):
                guard let publication = dataset.publication(reference) else { continue }
                dataset.forget(publication)
                effects.changes.append(.deletePublication(dataset: dataset.id, id: publication.record.id))
            case .subscriptionExpired(let reference):
                guard let subscription = dataset.subscription(reference) else { continue }
                dataset.forget(subscription)
                effects.changes.append(.deleteSubscription(dataset: dataset.id, id: subscription.record.id))
            case .mismatch(let reference, let hints):
                guard let subscription = dataset.subscription(reference) else { continue }
                let new = hints.filter { !subscription.record.hints.contains($0) }
                guard !new.isEmpty else { continue }
                subscription.record.hints += new
                effects.changes.append(
                    .putHints(dataset: dataset.id, subscriptionId: subscription.record.id, subscription.record.hints))
            }
        }
        engineEffects.removeAll(keepingCapacity: true)
    }

    /// A meeting becomes a match: numbered, durable, then delivered.
    private func record(_ meeting: Meeting, in dataset: Dataset, into effects: inout HubEffects) {
        guard let publication = dataset.publication(meeting.publication),
            let subscription = dataset.subscription(meeting.subscription),
            let device = dataset.devices[subscription.record.deviceId]
        else { return }
        let id = identifiers.uuid()
        let body = encodeMatch(id: id, meeting, publication.record, subscription.record)
        dataset.counters.matched += 1
        subscription.record.delivery.matched += 1
        subscription.record.delivery.lastMatchAt = meeting.at
        deliveryChanged(subscription, in: dataset)
        // What was compared once and is not stored leaves no trace of the pair.
        if publication.record.duration > 0, subscription.record.duration > 0 {
            effects.changes.append(.putPair(PairRecord(meeting, publication.record, subscription.record)))
        }
        let isRoom = dataset.counters.pending < configuration.limits.pendingMatches
        matchNumber += 1
        effects.changes.append(
            .putMatch(
                MatchRecord(
                    number: matchNumber, dataset: dataset.id, id: id, deviceId: device.record.id,
                    subscriptionId: subscription.record.id, publicationId: publication.record.id,
                    owner: subscription.record.owner, createdAt: meeting.at, body: body, pending: isRoom)))
        keep(matchNumber, of: device, into: &effects)
        guard isRoom else {
            dataset.counters.dropped += 1
            subscription.record.delivery.dropped += 1
            subscription.record.delivery.lastError =
                "\(configuration.limits.pendingMatches) matches wait for the broker, the maximum"
            dataset.droppedMatches += 1
            return
        }
        dataset.counters.pending += 1
        let entry = Outbox.Entry(
            dataset: dataset, subscription: subscription,
            topic: matchTopic(
                dataset: dataset.id, owner: subscription.record.owner, deviceId: subscription.record.deviceId,
                subscriptionId: subscription.record.id), body: body)
        outbox.append(matchNumber, entry)
    }

    /// Keeps the newest hundred of a device; one that still waits for the broker is forgotten when it was delivered.
    func keep(_ number: Int64, of device: Device, into effects: inout HubEffects) {
        device.matches.append(number)
        while device.matches.count > Self.matchesPerDevice {
            let oldest = device.matches.removeFirst()
            if outbox.entries[oldest] == nil {
                effects.changes.append(.forgetMatch(number: oldest))
            } else {
                outdated.insert(oldest)
            }
        }
    }

    func matchTopic(dataset: String, owner: String?, deviceId: String, subscriptionId: String) -> String {
        "geomatch/\(dataset)/\(owner ?? "-")/match/\(LevelCoding.encode(deviceId))/\(LevelCoding.encode(subscriptionId))"
    }

    // MARK: Delivery

    /// The changes of a batch are durable: its matches may go out.
    public func durable(matchesThrough number: Int64, into effects: inout HubEffects) {
        outbox.durable(through: number)
        sendMatches(into: &effects)
    }

    /// The broker took a match, or refused it for good.
    public func acknowledged(_ token: UInt64, reason: UInt8, into effects: inout HubEffects) {
        let number = Int64(bitPattern: token)
        guard let entry = outbox.remove(number) else { return }
        let dataset = entry.dataset
        dataset.counters.pending -= 1
        let isDelivered = reason < 0x80
        dataset.counters.delivered += isDelivered ? 1 : 0
        dataset.counters.dropped += isDelivered ? 0 : 1
        if let subscription = entry.subscription, !subscription.isGone, subscription.record.delivery.pending > 0 {
            subscription.record.delivery.delivered += isDelivered ? 1 : 0
            subscription.record.delivery.dropped += isDelivered ? 0 : 1
            if !isDelivered { subscription.record.delivery.lastError = "the broker refused the match with reason \(reason)" }
            deliveryChanged(subscription, in: dataset)
        }
        settledMatches.append(number)
        sendMatches(into: &effects)
    }

    /// A match could not be handed over: it waits for the next connection.
    public func returned(_ token: UInt64) { outbox.takeBack(Int64(bitPattern: token)) }

    /// The broker is there: what waits goes out, and again what was sent over the former connection and has not been acknowledged
    /// by now. It may come twice, under the same id.
    public func brokerConnected(into effects: inout HubEffects) {
        outbox.isOpen = true
        for number in outbox.takeBackAll() {
            guard let entry = outbox.entries[number] else { continue }
            entry.dataset.counters.retried += 1
            guard let subscription = entry.subscription else { continue }
            subscription.record.delivery.retried += 1
            deliveryChanged(subscription, in: entry.dataset)
        }
        sendMatches(into: &effects)
    }

    public func brokerLost() { outbox.isOpen = false }

    private func sendMatches(into effects: inout HubEffects) {
        while let (number, entry) = outbox.next(inflightMaximum: configuration.limits.inflightMatches) {
            effects.messages.append(
                topic: entry.topic, prefix: configuration.topicsPrefix, qos: 1, retain: false,
                token: UInt64(bitPattern: number), payload: entry.body)
        }
    }

    private func deliveryChanged(_ subscription: Subscription, in dataset: Dataset) {
        guard !subscription.deliveryChanged, !subscription.isGone else { return }
        subscription.deliveryChanged = true
        dataset.deliveriesChanged.append(subscription)
        if dataset.deliveriesChanged.count == 1 { datasetsWithDeliveries.append(dataset) }
    }

    /// Makes the delivery counters durable together with what changed them.
    func tellDeliveries(into effects: inout HubEffects) {
        for number in settledMatches {
            effects.changes.append(.matchDelivered(number: number))
            if outdated.remove(number) != nil { effects.changes.append(.forgetMatch(number: number)) }
        }
        settledMatches.removeAll(keepingCapacity: true)
        for dataset in datasetsWithDeliveries {
            for subscription in dataset.deliveriesChanged {
                subscription.deliveryChanged = false
                guard !subscription.isGone else { continue }
                // Only what a request led to can be refused.
                if effects.hasRequests {
                    effects.formerMatchInstants[effects.changes.count] = .some(subscription.lastMatchAtTold)
                }
                subscription.lastMatchAtTold = subscription.record.delivery.lastMatchAt
                effects.changes.append(
                    .putDelivery(
                        dataset: dataset.id, subscriptionId: subscription.record.id, subscription.record.delivery))
            }
            dataset.deliveriesChanged.removeAll(keepingCapacity: true)
        }
        datasetsWithDeliveries.removeAll(keepingCapacity: true)
    }

    // MARK: Encoding

    private func encodeMatch(
        id: String, _ meeting: Meeting, _ publication: PublicationRecord, _ subscription: SubscriptionRecord
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", id)
        writer.member("event", "matched")
        writer.member("createdAt", meeting.at)
        writer.member("distance", (meeting.distance * 1000).rounded() / 1000)
        writer.key("publication")
        writer.beginObject()
        publication.encodeMembers(into: &writer)
        writer.key("location")
        meeting.publicationPosition.encode(into: &writer)
        writer.endObject()
        writer.key("subscription")
        writer.beginObject()
        subscription.encodeMembers(into: &writer)
        writer.key("location")
        meeting.subscriptionPosition.encode(into: &writer)
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }
}

extension PairRecord {
    init(_ meeting: Meeting, _ publication: PublicationRecord, _ subscription: SubscriptionRecord) {
        self.init(
            dataset: subscription.dataset, subscriptionId: subscription.id, publicationId: publication.id,
            lastMatchAt: meeting.at, publicationLatitude: meeting.publicationPosition.latitude,
            publicationLongitude: meeting.publicationPosition.longitude,
            subscriptionLatitude: meeting.subscriptionPosition.latitude,
            subscriptionLongitude: meeting.subscriptionPosition.longitude)
    }
}
