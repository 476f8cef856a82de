import Geodesy
import Matching
import Records

// From the engine's effects to matches: numbered, durable, then delivered.

extension Geomatching {
    /// - Parameter reason: What visits are said to end by, whatever the engine says; nil: what the engine says.
    func handleEffects(endingVisitsBy reason: VisitEnd.Reason? = nil, _ turn: inout Turn) {
        shared.noteExceeded(account)
        defer { keepOutside(&turn) }
        guard !effects.isEmpty else { return }
        for effect in effects {
            switch effect {
            case .met(let meeting): record(meeting, &turn)
            case .stay(let stay): record(stay, &turn)
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
        send(MatchMessage(id: turn.newID(), event: .matched, meeting), publication, subscription, &turn)
    }

    /// A visit began: it is remembered until it ends, so that a restart neither reports it again nor forgets its end.
    private func begin(_ meeting: Meeting, _ turn: inout Turn) {
        guard let publication = publication(meeting.publication), let subscription = subscription(meeting.subscription) else {
            return
        }
        let message = MatchMessage(id: turn.newID(), event: .began, meeting)
        keepVisit(message.id, since: meeting.at, subscription, publication, &turn)
        send(message, publication, subscription, &turn)
    }

    /// A pair stays for a `dwell`, which goes on over a restart: in the place of the visit that may follow.
    private func record(_ stay: PairStay, _ turn: inout Turn) {
        guard let publication = publication(stay.publication), let subscription = subscription(stay.subscription) else { return }
        if let since = stay.since {
            keepVisit("", since: since, subscription, publication, &turn)
        } else {
            _ = dropVisit(subscription, publication, &turn)
        }
    }

    /// A visit ended, unless that was reported already.
    private func end(_ end: VisitEnd, _ turn: inout Turn) {
        guard let publication = publication(end.publication), let subscription = subscription(end.subscription),
            let visit = dropVisit(subscription, publication, &turn), !visit.isEmpty
        else { return }
        send(MatchMessage(id: turn.newID(), visit: visit, end), publication, subscription, &turn)
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
        var message = message
        let owner = subscription.record.owner
        if devices.hides(device, from: owner) { message.subscriptionPosition = nil }
        if devices.hides(devices[publication.record.deviceId], from: owner) { message.publicationPosition = nil }
        shared.outbox.send(message, publication, subscription, of: device, account, &turn)
    }

    // MARK: Visits

    /// The fixes outside before a restart count with those after it.
    private func keepOutside(_ turn: inout Turn) {
        for (subscriptionRef, publicationRef) in engine.takeOutsideChanges() {
            guard let subscription = subscription(subscriptionRef), let publication = publication(publicationRef),
                let id = subscription.visits[publicationRef.index], let pair = engine.outside(subscriptionRef, publicationRef)
            else { continue }
            keepVisit(id, since: pair.since, outsideSince: pair.outsideSince, subscription, publication, &turn)
        }
    }

    private func keepVisit(
        _ id: String, since: Int64, outsideSince: Int64? = nil, _ subscription: Subscription, _ publication: Publication,
        _ turn: inout Turn
    ) {
        noteVisit(id, subscription, publication)
        guard subscription.isStored(with: publication) else { return }
        turn.keep(
            .put(
                VisitRecord(
                    dataset: dataset, subscriptionId: subscription.record.id, publicationId: publication.record.id, id: id,
                    since: since, outsideSince: outsideSince)))
    }

    /// - Returns: As ``forgetVisit(_:_:)``.
    private func dropVisit(_ subscription: Subscription, _ publication: Publication, _ turn: inout Turn) -> String? {
        guard let visit = forgetVisit(subscription, publication) else { return nil }
        // Also where an update by now lets it last no time.
        turn.keep(
            .deleteVisit(dataset: dataset, subscriptionId: subscription.record.id, publicationId: publication.record.id))
        return visit
    }

    func noteVisit(_ id: String, _ subscription: Subscription, _ publication: Publication) {
        subscription.visits[publication.reference.index] = id
        publication.visitors.insert(subscription.reference.index)
    }

    /// - Returns: The id of the visit's begin; empty: it was a stay. nil where there is neither.
    func forgetVisit(_ subscription: Subscription, _ publication: Publication) -> String? {
        publication.visitors.remove(subscription.reference.index)
        return subscription.visits.removeValue(forKey: publication.reference.index)
    }

    /// Ends all visits and stays of a device, on both sides, before the engine does.
    func endVisits(of device: Device, as reason: VisitEnd.Reason = .deleted, _ turn: inout Turn) {
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
                    publication: publication.reference, subscription: subscription.reference, reason: reason,
                    distance: distance(here, there), publicationPosition: here, subscriptionPosition: there, at: turn.now),
                &turn)
        }
    }

    private func distance(_ from: Position?, _ to: Position?) -> Double? {
        guard let from, let to else { return nil }
        return Geodesic.distance(
            fromLatitude: from.latitude, fromLongitude: from.longitude, toLatitude: to.latitude, toLongitude: to.longitude)
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
