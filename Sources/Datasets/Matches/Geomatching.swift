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
    /// Those whose matches are events of Home Assistant, by their numbers.
    private(set) var eventSubscriptions: [UInt32: Subscription] = [:]
    /// Changes with those, and is never the same for other ones; 0: there never was one.
    private(set) var eventsVersion = 0
    /// What ended of late, for clients that ask why it did not match.
    private(set) var ended = EndedObjects()
    /// The instant of what is being handled; nothing is noted as ended before there is one.
    private var instant: Int64 = .min
    /// Positions that came in and were not yet shown to the engine, in order of arrival.
    private var moves: [Move] = []
    var effects: [Effect] = []
    let dataset: String
    let devices: Devices
    let account: MatchAccount
    let shared: Shared

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

    func publication(_ reference: PublicationRef) -> Publication? {
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

    func register(_ publication: Publication) {
        publications[publication.record.id] = publication
        publicationsByReference.place(publication, at: publication.reference.index)
    }

    /// Forgets what the engine has already removed.
    func forget(_ publication: Publication) {
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

    func subscription(_ reference: SubscriptionRef) -> Subscription? {
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
        noteEvents(of: subscription, isThere: true)
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

    func register(_ subscription: Subscription) {
        subscriptions[subscription.record.id] = subscription
        subscriptionsByReference.place(subscription, at: subscription.reference.index)
        noteEvents(of: subscription, isThere: true)
    }

    func noteEvents(of subscription: Subscription, isThere: Bool) {
        let (number, isEvent) = (subscription.reference.index, isThere && subscription.record.homeAssistant)
        guard isEvent || eventSubscriptions[number] != nil else { return }
        eventSubscriptions[number] = isEvent ? subscription : nil
        shared.lastEventsVersion += 1
        eventsVersion = shared.lastEventsVersion
    }

    func forget(_ subscription: Subscription) {
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
        noteEvents(of: subscription, isThere: false)
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

    /// A device has moved; the engine is shown that with ``reportMoves(knownSince:_:)``.
    ///
    /// - Returns: Whether it is the first since the last time.
    func note(_ move: Move) -> Bool {
        moves.append(move)
        return moves.count == 1
    }

    /// Shows the engine what moved since the last time.
    ///
    /// - Parameter knownSince: When an earlier life that forgot it showed the same; `Int64.max`: it is new.
    func reportMoves(knownSince: Int64 = .max, _ turn: inout Turn) {
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
}
