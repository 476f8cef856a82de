import Geodesy
import Matching
import Records
import Selectors
import Wire

/// The publications and subscriptions of one dataset, and the engine that matches them.
///
/// What it finds leaves as durable changes of the turn and as matches in the outbox.
final class Geomatching {
    let engine: Engine
    private(set) var publications = ByteKeyed<Publication>()
    private(set) var subscriptions = ByteKeyed<Subscription>()
    /// By the engine's references, which are dense and reused.
    private var publicationsByReference: [Publication?] = []
    private var subscriptionsByReference: [Subscription?] = []
    /// What ended of late, for clients that ask why it did not match.
    private(set) var ended = EndedObjects()
    /// The instant of what is being handled; nothing is noted as ended before there is one.
    private var instant: Int64 = .min
    /// Positions that came in and were not yet shown to the engine, in order of arrival.
    private var moves: [Move] = []
    private var effects: [Effect] = []
    private let dataset: String
    private let devices: Devices
    private let account: MatchAccount
    private let shared: Shared

    init(_ dataset: String, _ devices: Devices, _ account: MatchAccount, _ shared: Shared) {
        let limits = shared.limits
        engine = Engine(
            limits: EngineLimits(partnersPerSubscription: limits.partnersPerSubscription, pairs: limits.pairs))
        self.dataset = dataset
        self.devices = devices
        self.account = account
        self.shared = shared
    }

    /// Another one, with nothing but what ended of late, for what the store gives back of a dataset.
    func emptied() -> Geomatching {
        for subscription in subscriptionsByReference { subscription?.isGone = true }
        let empty = Geomatching(dataset, devices, account, shared)
        empty.ended = ended
        empty.instant = instant
        return empty
    }

    // MARK: Publications

    func publications(of device: Device) -> [Publication] {
        engine.publications(of: device.reference).compactMap(publication)
    }

    private func publication(_ reference: PublicationRef) -> Publication? {
        let index = Int(reference.index)
        return index < publicationsByReference.count ? publicationsByReference[index] : nil
    }

    /// Adds a publication, in the place of an expired one of its id.
    func add(_ record: PublicationRecord, _ properties: Properties, on device: Device, _ turn: inout Turn) {
        if let expired = publications[record.id] { delete(expired, endingVisitsBy: .expired, &turn) }
        // What lasts no time is compared once with what is alive now: alive for this call only.
        let isLasting = record.duration > 0
        let reference = engine.addPublication(
            on: device.reference, topic: record.topic, range: record.range,
            expiresAt: isLasting ? deadline(from: record.createdAt, duration: record.duration) : .max, properties: properties,
            at: turn.now, into: &effects)
        let publication = Publication(record, reference: reference)
        register(publication)
        if isLasting { turn.keep(.put(record)) }
        handleEffects(&turn)
        if !isLasting { remove(publication, endingVisitsBy: .expired, &turn) }
    }

    func update(_ publication: Publication, to record: PublicationRecord, _ properties: Properties, _ turn: inout Turn) {
        publication.record = record
        turn.keep(.put(record))
        engine.update(
            publication.reference, topic: record.topic, range: record.range, expiresAt: publication.expiresAt,
            properties: properties, at: turn.now, into: &effects)
        handleEffects(&turn)
    }

    /// Deletes a publication; its visits end first.
    func delete(_ publication: Publication, endingVisitsBy reason: VisitEnd.Reason? = nil, _ turn: inout Turn) {
        remove(publication, endingVisitsBy: reason, &turn)
        turn.keep(.deletePublication(dataset: dataset, id: publication.record.id))
    }

    private func remove(_ publication: Publication, endingVisitsBy reason: VisitEnd.Reason?, _ turn: inout Turn) {
        engine.removePublication(publication.reference, at: turn.now, into: &effects)
        handleEffects(endingVisitsBy: reason, &turn)
        forget(publication)
    }

    private func register(_ publication: Publication) {
        publications[publication.record.id] = publication
        publicationsByReference.place(publication, at: publication.reference.index)
    }

    /// Forgets what the engine has already removed.
    private func forget(_ publication: Publication) {
        let record = publication.record
        if instant != .min { ended.publications.note(record, id: record.id, bytes: record.footprint, at: instant) }
        for number in publication.visitors {
            subscription(SubscriptionRef(index: number))?.visits[publication.reference.index] = nil
        }
        publications[record.id] = nil
        publicationsByReference[Int(publication.reference.index)] = nil
    }

    // MARK: Subscriptions

    func subscriptions(of device: Device) -> [Subscription] {
        engine.subscriptions(of: device.reference).compactMap(subscription)
    }

    private func subscription(_ reference: SubscriptionRef) -> Subscription? {
        let index = Int(reference.index)
        return index < subscriptionsByReference.count ? subscriptionsByReference[index] : nil
    }

    /// Adds a subscription, in the place of an expired one of its id.
    func add(
        _ record: SubscriptionRecord, _ selector: Selector, _ pushers: [Pusher], on device: Device, _ turn: inout Turn
    ) -> Subscription {
        if let expired = subscriptions[record.id] { delete(expired, endingVisitsBy: .expired, &turn) }
        // What lasts no time is compared once with what is alive now: alive for this call only.
        let isLasting = record.duration > 0
        let reference = engine.addSubscription(
            on: device.reference, topic: record.topic, range: record.range,
            expiresAt: isLasting ? deadline(from: record.createdAt, duration: record.duration) : .max, selector: selector,
            options: record.options, at: turn.now, into: &effects)
        let subscription = Subscription(record, pushers: pushers, reference: reference)
        register(subscription)
        if isLasting { turn.keep(.put(record)) }
        handleEffects(&turn)
        if !isLasting { remove(subscription, endingVisitsBy: .expired, &turn) }
        return subscription
    }

    func update(
        _ subscription: Subscription, to record: SubscriptionRecord, _ selector: Selector, _ pushers: [Pusher],
        _ turn: inout Turn
    ) {
        subscription.record = record
        subscription.pushers = pushers
        turn.keep(.put(record))
        engine.update(
            subscription.reference, topic: record.topic, range: record.range, expiresAt: subscription.expiresAt,
            selector: selector, options: record.options, at: turn.now, into: &effects)
        handleEffects(&turn)
    }

    /// Deletes a subscription; its visits end first.
    func delete(_ subscription: Subscription, endingVisitsBy reason: VisitEnd.Reason? = nil, _ turn: inout Turn) {
        remove(subscription, endingVisitsBy: reason, &turn)
        turn.keep(.deleteSubscription(dataset: dataset, id: subscription.record.id))
    }

    private func remove(_ subscription: Subscription, endingVisitsBy reason: VisitEnd.Reason?, _ turn: inout Turn) {
        engine.removeSubscription(subscription.reference, at: turn.now, into: &effects)
        handleEffects(endingVisitsBy: reason, &turn)
        forget(subscription)
    }

    private func register(_ subscription: Subscription) {
        subscriptions[subscription.record.id] = subscription
        subscriptionsByReference.place(subscription, at: subscription.reference.index)
    }

    private func forget(_ subscription: Subscription) {
        if instant != .min {
            var record = subscription.record
            // Nothing is signed with it any more.
            record.secret = nil
            ended.subscriptions.note(record, id: record.id, bytes: record.footprint, at: instant)
        }
        for number in subscription.visits.keys {
            publication(PublicationRef(index: number))?.visitors.remove(subscription.reference.index)
        }
        subscription.isGone = true
        subscriptions[subscription.record.id] = nil
        subscriptionsByReference[Int(subscription.reference.index)] = nil
    }

    // MARK: Devices

    /// Removes a device with its publications and subscriptions. Nothing is sent: their visits have ended before, or never were.
    func remove(_ device: Device) {
        var unsent: [Effect] = []
        let gone = engine.removeDevice(device.reference, at: 0, into: &unsent)
        gone.publications.compactMap(publication).forEach(forget)
        gone.subscriptions.compactMap(subscription).forEach(forget)
    }

    /// A device has moved; the engine is shown that with ``showMoves(knownSince:_:)``.
    ///
    /// - Returns: Whether it is the first since the last time.
    func note(_ move: Move) -> Bool {
        moves.append(move)
        return moves.count == 1
    }

    /// Shows the engine what moved since the last time.
    ///
    /// - Parameter knownSince: When an earlier life that forgot it showed the same; `Int64.max`: it is new.
    func showMoves(knownSince: Int64 = .max, _ turn: inout Turn) {
        engine.move(moves, at: turn.now, knownSince: knownSince, into: &effects)
        moves.removeAll(keepingCapacity: true)
        handleEffects(&turn)
    }

    /// Shows the engine one move at once.
    ///
    /// - Parameter position: nil: it is nowhere.
    func move(_ device: Device, to position: Position?, floor: FloorRef = .unknown, _ turn: inout Turn) {
        engine.move(device.reference, to: position, floor: floor, at: turn.now, into: &effects)
        handleEffects(&turn)
    }

    /// Devices are on other floors than before, though they did not move.
    func setFloors(_ floors: [(device: Device, floor: FloorRef)], _ turn: inout Turn) {
        for (device, floor) in floors { engine.setFloor(of: device.reference, to: floor, at: turn.now, into: &effects) }
        handleEffects(&turn)
    }

    func see(_ sighting: DeviceSighting, _ turn: inout Turn) {
        engine.see(
            sighting.beacon, by: sighting.observer, distance: sighting.distance, seenAt: sighting.seenAt, at: turn.now,
            into: &effects)
        handleEffects(&turn)
    }

    func loseSighting(of beacon: DeviceRef, by observer: DeviceRef, _ turn: inout Turn) {
        engine.loseSighting(of: beacon, by: observer, at: turn.now, into: &effects)
        handleEffects(&turn)
    }

    // MARK: Time

    /// Has the engine be what it is by now, before a request is handled.
    func prepare(_ turn: inout Turn) {
        instant = turn.now
        advance(&turn)
    }

    func advance(_ turn: inout Turn) {
        guard let deadline = engine.nextDeadline, deadline <= turn.now else { return }
        instant = turn.now
        engine.advance(to: turn.now, into: &effects)
        handleEffects(&turn)
    }

    /// Forgets what ended a day ago.
    func forgetEnded(at now: Int64) { ended.expire(at: now) }

    // MARK: Effects

    /// - Parameter reason: What visits are said to end by, whatever the engine says; nil: what the engine says.
    private func handleEffects(endingVisitsBy reason: VisitEnd.Reason? = nil, _ turn: inout Turn) {
        guard !effects.isEmpty else { return }
        for effect in effects {
            switch effect {
            case .met(let meeting): record(meeting, &turn)
            case .visitBegan(let meeting): begin(meeting, &turn)
            case .visitEnded(var end):
                end.reason = reason ?? end.reason
                self.end(end, &turn)
            case .capacityExceeded(let exceeded): count(exceeded, &turn)
            case .publicationExpired(let reference):
                guard let publication = publication(reference) else { continue }
                forget(publication)
                turn.keep(.deletePublication(dataset: dataset, id: publication.record.id))
            case .subscriptionExpired(let reference):
                guard let subscription = subscription(reference) else { continue }
                forget(subscription)
                turn.keep(.deleteSubscription(dataset: dataset, id: subscription.record.id))
            case .mismatch(let reference, let hints):
                guard let subscription = subscription(reference) else { continue }
                let new = hints.filter { !subscription.record.hints.contains($0) }
                guard !new.isEmpty else { continue }
                subscription.record.hints += new
                turn.keep(
                    .putHints(dataset: dataset, subscriptionId: subscription.record.id, subscription.record.hints))
            }
        }
        effects.removeAll(keepingCapacity: true)
    }

    /// A pair met, and is remembered for what `matchTTL` and `matchDTL` count from.
    private func record(_ meeting: Meeting, _ turn: inout Turn) {
        guard let publication = publication(meeting.publication), let subscription = subscription(meeting.subscription) else {
            return
        }
        if subscription.isStored(with: publication) {
            turn.keep(.put(PairRecord(meeting, publication.record, subscription.record)))
        }
        send(MatchMessage(id: turn.identifiers.uuid(), event: .matched, meeting), publication, subscription, &turn)
    }

    /// A visit began: it is remembered until it ends, so that a restart neither reports it again nor forgets its end.
    private func begin(_ meeting: Meeting, _ turn: inout Turn) {
        guard let publication = publication(meeting.publication), let subscription = subscription(meeting.subscription) else {
            return
        }
        let message = MatchMessage(id: turn.identifiers.uuid(), event: .began, meeting)
        noteVisit(message.id, subscription, publication)
        if subscription.isStored(with: publication) {
            turn.keep(
                .put(
                    VisitRecord(
                        dataset: dataset, subscriptionId: subscription.record.id, publicationId: publication.record.id,
                        id: message.id, since: meeting.at)))
        }
        send(message, publication, subscription, &turn)
    }

    /// A visit ended, unless that was reported already.
    private func end(_ end: VisitEnd, _ turn: inout Turn) {
        guard let publication = publication(end.publication), let subscription = subscription(end.subscription),
            let visit = forgetVisit(subscription, publication)
        else { return }
        if subscription.isStored(with: publication) {
            turn.keep(
                .deleteVisit(
                    dataset: dataset, subscriptionId: subscription.record.id, publicationId: publication.record.id))
        }
        send(MatchMessage(id: turn.identifiers.uuid(), visit: visit, end), publication, subscription, &turn)
    }

    /// More would match than is remembered: what was not made counts as dropped.
    private func count(_ exceeded: CapacityExceeded, _ turn: inout Turn) {
        guard let subscription = subscription(exceeded.subscription), exceeded.missed > 0 else { return }
        let limits = shared.limits
        let reason =
            "\(exceeded.missed) matches were not made: a subscription has \(limits.partnersPerSubscription) partners and a dataset \(limits.pairs) pairs at most"
        shared.outbox.countUnmade(exceeded.missed, of: subscription, account, because: reason, &turn)
    }

    /// Has a match delivered.
    private func send(
        _ message: MatchMessage, _ publication: Publication, _ subscription: Subscription, _ turn: inout Turn
    ) {
        guard let device = devices[subscription.record.deviceId] else { return }
        shared.outbox.send(message, publication, subscription, of: device, account, &turn)
    }

    // MARK: Visits

    private func noteVisit(_ id: String, _ subscription: Subscription, _ publication: Publication) {
        subscription.visits[publication.reference.index] = id
        publication.visitors.insert(subscription.reference.index)
    }

    /// - Returns: The id of the visit's begin; nil where there is no visit.
    private func forgetVisit(_ subscription: Subscription, _ publication: Publication) -> String? {
        publication.visitors.remove(subscription.reference.index)
        return subscription.visits.removeValue(forKey: publication.reference.index)
    }

    /// Ends all visits of a device, on both sides, before the engine does.
    func endVisits(of device: Device, _ turn: inout Turn) {
        var pairs: [(subscription: Subscription, publication: Publication)] = []
        for subscription in subscriptions(of: device) {
            pairs += subscription.visits.keys.compactMap { publication(PublicationRef(index: $0)) }.map { (subscription, $0) }
        }
        for publication in publications(of: device) {
            pairs += publication.visitors.compactMap { subscription(SubscriptionRef(index: $0)) }.map { ($0, publication) }
        }
        pairs.sort {
            ($0.subscription.reference.index, $0.publication.reference.index)
                < ($1.subscription.reference.index, $1.publication.reference.index)
        }
        for (subscription, publication) in pairs {
            let here = engine.position(of: engine.device(of: publication.reference))
            let there = engine.position(of: engine.device(of: subscription.reference))
            end(
                VisitEnd(
                    publication: publication.reference, subscription: subscription.reference, reason: .deleted,
                    distance: distance(here, there), publicationPosition: here, subscriptionPosition: there, at: turn.now),
                &turn)
        }
    }

    private func distance(_ from: Position?, _ to: Position?) -> Double? {
        guard let from, let to else { return nil }
        return Geodesic.distance(
            fromLatitude: from.latitude, fromLongitude: from.longitude, toLatitude: to.latitude, toLongitude: to.longitude)
    }

    // MARK: Restarting

    /// Everything is back: the engine takes up work.
    ///
    /// - Parameter beacons: The devices that are beacons. Visits with those that nobody is known to see are lost.
    func resume(beacons: some Sequence<String>, _ turn: inout Turn) {
        for beacon in beacons.sorted(by: { ByteKey($0) < ByteKey($1) }).compactMap({ devices[$0] }) {
            var others: Set<DeviceRef> = []
            for publication in publications(of: beacon) {
                for number in publication.visitors { others.insert(engine.device(of: SubscriptionRef(index: number))) }
            }
            for subscription in subscriptions(of: beacon) {
                for number in subscription.visits.keys { others.insert(engine.device(of: PublicationRef(index: number))) }
            }
            for other in others.sorted(by: { $0.index < $1.index }) where engine.sighting(beacon.reference, other) == nil {
                loseSighting(of: beacon.reference, by: other, &turn)
            }
        }
        engine.resume(at: turn.now, into: &effects)
        handleEffects(&turn)
    }

    /// - Throws: Where the record is not what this program wrote.
    func restore(_ record: PublicationRecord, at now: Int64) throws(WireError) {
        guard let device = devices[record.deviceId] else { return }
        restoreDeleted(publication: record.id)
        let properties = try PropertiesCoding.decode(text: record.properties)
        var unsent: [Effect] = []
        let reference = engine.addPublication(
            on: device.reference, topic: record.topic, range: record.range,
            expiresAt: deadline(from: record.createdAt, duration: record.duration), properties: properties, at: now,
            evaluate: false, into: &unsent)
        register(Publication(record, reference: reference))
    }

    /// - Throws: Where the record is not what this program wrote.
    func restore(_ record: SubscriptionRecord, at now: Int64) throws(WireError) {
        guard let device = devices[record.deviceId] else { return }
        restoreDeleted(subscription: record.id)
        let selector = try Selector(checking: record.selector)
        var unsent: [Effect] = []
        let reference = engine.addSubscription(
            on: device.reference, topic: record.topic, range: record.range,
            expiresAt: deadline(from: record.createdAt, duration: record.duration), selector: selector,
            options: record.options, at: now, evaluate: false, into: &unsent)
        register(Subscription(record, pushers: try record.readPushers(shared.naming), reference: reference))
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

    func restore(_ record: PairRecord, at now: Int64) {
        guard let publication = publications[record.publicationId], let subscription = subscriptions[record.subscriptionId]
        else { return }
        let suppression = Suppression(
            lastMatchAt: record.lastMatchAt,
            publicationPosition: Position(record.publicationLatitude, record.publicationLongitude),
            subscriptionPosition: Position(record.subscriptionLatitude, record.subscriptionLongitude))
        engine.restoreSuppression(subscription.reference, publication.reference, suppression, at: now)
    }

    func restore(_ record: VisitRecord, at now: Int64) {
        guard let publication = publications[record.publicationId], let subscription = subscriptions[record.subscriptionId]
        else { return }
        engine.restoreVisit(subscription.reference, publication.reference, since: record.since, at: now)
        noteVisit(record.id, subscription, publication)
    }

    /// The visit of a pair is over.
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

extension Subscription {
    /// What is compared once is not stored, and nothing of its pairs.
    fileprivate func isStored(with publication: Publication) -> Bool {
        record.duration > 0 && publication.record.duration > 0
    }
}

extension PairRecord {
    fileprivate init(_ meeting: Meeting, _ publication: PublicationRecord, _ subscription: SubscriptionRecord) {
        self.init(
            dataset: subscription.dataset, subscriptionId: subscription.id, publicationId: publication.id,
            lastMatchAt: meeting.at, publicationLatitude: meeting.publicationPosition?.latitude,
            publicationLongitude: meeting.publicationPosition?.longitude,
            subscriptionLatitude: meeting.subscriptionPosition?.latitude,
            subscriptionLongitude: meeting.subscriptionPosition?.longitude)
    }
}

extension Position {
    /// nil where a side was nowhere.
    fileprivate init?(_ latitude: Double?, _ longitude: Double?) {
        guard let latitude, let longitude else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}
