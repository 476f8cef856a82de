import Geodesy
import Matching
import Ranging
import Records
import Selectors
import Wire

// How publications and subscriptions come back, with their pairs and visits.

extension Geomatching {
    /// Everything is back: the engine takes up work.
    ///
    /// - Parameter beacons: The devices that are beacons. Visits with those that nobody is known to have seen of late are lost,
    ///   before a dwell that is over by now begins one.
    func resume(beacons: some Sequence<String>, _ turn: inout Turn) {
        for beacon in beacons.sorted(by: { ByteKey($0) < ByteKey($1) }).compactMap({ devices[$0] }) {
            var others: Set<DeviceRef> = []
            for publication in publications(of: beacon) {
                for number in publication.visitors { others.insert(engine.device(of: SubscriptionRef(index: number))) }
            }
            for subscription in subscriptions(of: beacon) {
                for number in subscription.visits.keys { others.insert(engine.device(of: PublicationRef(index: number))) }
            }
            for other in others.sorted(by: { $0.index < $1.index }) {
                let seenAt = engine.sighting(beacon.reference, other)?.seenAt
                if let seenAt, turn.now - seenAt < ProximityTable.factMilliseconds { continue }
                loseSighting(of: beacon.reference, by: other, &turn)
            }
        }
        engine.resume(at: turn.now, into: &effects)
        handleEffects(&turn)
    }

    /// - Throws: Where the record is not what this program wrote.
    func restore(_ record: PublicationRecord, at now: Int64) throws(WireError) {
        guard let device = devices[record.deviceId] else { return }
        let properties = try PropertiesCoding.decode(text: record.properties)
        var unsent: [Effect] = []
        if let known = publications[record.id], known.record.deviceId.hasSameBytes(as: record.deviceId) {
            // It keeps its pairs and visits.
            known.record = record
            return engine.update(
                known.reference, topic: record.topic, range: record.range, expiresAt: known.expiresAt, properties: properties,
                at: now, evaluate: false, into: &unsent)
        }
        restoreDeleted(publication: record.id)
        let reference = engine.addPublication(
            on: device.reference, topic: record.topic, range: record.range,
            expiresAt: deadline(from: record.createdAt, duration: record.duration), properties: properties, at: now,
            evaluate: false, into: &unsent)
        register(Publication(record, reference: reference))
    }

    /// - Throws: Where the record is not what this program wrote.
    func restore(_ record: SubscriptionRecord, at now: Int64) throws(WireError) {
        guard let device = devices[record.deviceId] else { return }
        let selector = try Selector(checking: record.selector)
        let pushers = try record.readPushers(shared.naming)
        var unsent: [Effect] = []
        if let known = subscriptions[record.id], known.record.deviceId.hasSameBytes(as: record.deviceId) {
            (known.record, known.pushers) = (record, pushers)
            noteEvents(of: known, isThere: true)
            return engine.update(
                known.reference, topic: record.topic, range: record.range, expiresAt: known.expiresAt, selector: selector,
                options: record.options, at: now, evaluate: false, into: &unsent)
        }
        restoreDeleted(subscription: record.id)
        let reference = engine.addSubscription(
            on: device.reference, topic: record.topic, range: record.range,
            expiresAt: deadline(from: record.createdAt, duration: record.duration), selector: selector,
            options: record.options, at: now, evaluate: false, into: &unsent)
        register(Subscription(record, pushers: pushers, reference: reference))
    }

    func restoreDeleted(publication id: String) {
        guard let publication = publications[id] else { return }
        var unsent: [Effect] = []
        engine.removePublication(publication.reference, at: 0, into: &unsent)
        forget(publication)
    }

    func restoreDeleted(subscription id: String) {
        guard let subscription = subscriptions[id] else { return }
        var unsent: [Effect] = []
        engine.removeSubscription(subscription.reference, at: 0, into: &unsent)
        forget(subscription)
    }

    func restore(_ record: PairRecord) {
        guard let publication = publications[record.publicationId], let subscription = subscriptions[record.subscriptionId]
        else { return }
        let suppression = Suppression(
            lastMatchAt: record.lastMatchAt,
            publicationPosition: Position(record.publicationLatitude, record.publicationLongitude),
            subscriptionPosition: Position(record.subscriptionLatitude, record.subscriptionLongitude))
        engine.restoreSuppression(subscription.reference, publication.reference, suppression)
    }

    func restore(_ record: VisitRecord, at now: Int64) {
        guard let publication = publications[record.publicationId], let subscription = subscriptions[record.subscriptionId]
        else { return }
        if record.isStay {
            engine.restoreStay(
                subscription.reference, publication.reference, since: record.since, outsideSince: record.outsideSince, at: now)
        } else {
            engine.restoreVisit(
                subscription.reference, publication.reference, since: record.since, outsideSince: record.outsideSince, at: now)
        }
        noteVisit(record.id, subscription, publication)
    }

    /// The visit of a pair, or its stay, is over.
    func restoreEnd(of subscriptionID: String, _ publicationID: String) {
        guard let subscription = subscriptions[subscriptionID], let publication = publications[publicationID] else { return }
        engine.restoreEnd(subscription.reference, publication.reference)
        _ = forgetVisit(subscription, publication)
    }

    func restore(_ amendment: any RecordAmendment) {
        guard let subscription = subscriptions[amendment.key.id] else { return }
        if let amendment = amendment as? DeliveryAmendment { subscription.record.delivery = amendment.delivery }
        if let amendment = amendment as? HintsAmendment { subscription.record.hints = amendment.hints }
    }

    func restore(_ sighting: DeviceSighting) {
        engine.restoreSighting(
            of: sighting.beacon, by: sighting.observer, distance: sighting.distance, seenAt: sighting.seenAt)
    }
}

extension Position {
    /// nil where a side was nowhere.
    fileprivate init?(_ latitude: Double?, _ longitude: Double?) {
        guard let latitude, let longitude else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}
