import Geodesy
import Matching
import Wire
import Records

// Visits: the begin and the end of being in range, tied together by the id of the begin.

extension Hub {
    /// A visit began: it is remembered until it ends, so that a restart neither tells it again nor forgets its end.
    func begin(_ meeting: Meeting, in dataset: Dataset, _ turn: inout Turn) {
        guard let publication = dataset.publication(meeting.publication),
            let subscription = dataset.subscription(meeting.subscription)
        else { return }
        let message = MatchMessage(id: turn.identifiers.uuid(), event: .began, meeting)
        dataset.noteVisit(message.id, subscription, publication)
        if subscription.isStored(with: publication) {
            turn.keep(
                .put(
                    VisitRecord(
                        dataset: dataset.id, subscriptionId: subscription.record.id, publicationId: publication.record.id,
                        id: message.id, since: meeting.at)))
        }
        send(message, publication, subscription, in: dataset, &turn)
    }

    /// A visit ended, unless it was told already.
    func end(_ end: VisitEnd, in dataset: Dataset, _ turn: inout Turn) {
        guard let publication = dataset.publication(end.publication),
            let subscription = dataset.subscription(end.subscription),
            let visit = dataset.forgetVisit(subscription, publication)
        else { return }
        if subscription.isStored(with: publication) {
            turn.keep(
                .deleteVisit(
                    dataset: dataset.id, subscriptionId: subscription.record.id, publicationId: publication.record.id))
        }
        send(MatchMessage(id: turn.identifiers.uuid(), visit: visit, end), publication, subscription, in: dataset, &turn)
    }

    /// Ends all visits of a device, on both sides, before the engine does.
    func endVisits(of device: Device, in dataset: Dataset, _ turn: inout Turn) {
        var pairs: [(subscription: Subscription, publication: Publication)] = []
        for subscription in dataset.subscriptions(of: device) {
            pairs += subscription.visits.keys.compactMap { dataset.publication(PublicationRef(index: $0)) }.map {
                (subscription, $0)
            }
        }
        for publication in dataset.publications(of: device) {
            pairs += publication.visitors.compactMap { dataset.subscription(SubscriptionRef(index: $0)) }.map {
                ($0, publication)
            }
        }
        pairs.sort {
            ($0.subscription.reference.index, $0.publication.reference.index)
                < ($1.subscription.reference.index, $1.publication.reference.index)
        }
        for (subscription, publication) in pairs {
            let sides = (
                dataset.engine.position(of: dataset.engine.device(of: publication.reference)),
                dataset.engine.position(of: dataset.engine.device(of: subscription.reference))
            )
            end(
                VisitEnd(
                    publication: publication.reference, subscription: subscription.reference, reason: .deleted,
                    distance: distance(sides.0, sides.1), publicationPosition: sides.0, subscriptionPosition: sides.1,
                    at: turn.now),
                in: dataset, &turn)
        }
    }

    private func distance(_ from: Position?, _ to: Position?) -> Double? {
        guard let from, let to else { return nil }
        return Geodesic.distance(
            fromLatitude: from.latitude, fromLongitude: from.longitude, toLatitude: to.latitude, toLongitude: to.longitude)
    }

    // MARK: Removing

    /// Removes a publication; its visits end first.
    func remove(
        _ publication: Publication, from dataset: Dataset, endingVisitsBy reason: VisitEnd.Reason? = nil, _ turn: inout Turn
    ) {
        engineEffects.removeAll(keepingCapacity: true)
        dataset.engine.removePublication(publication.reference, at: turn.now, into: &engineEffects)
        handleEngineEffects(of: dataset, endingVisitsBy: reason, &turn)
        dataset.forget(publication)
    }

    /// Removes a subscription; its visits end first.
    func remove(
        _ subscription: Subscription, from dataset: Dataset, endingVisitsBy reason: VisitEnd.Reason? = nil, _ turn: inout Turn
    ) {
        engineEffects.removeAll(keepingCapacity: true)
        dataset.engine.removeSubscription(subscription.reference, at: turn.now, into: &engineEffects)
        handleEngineEffects(of: dataset, endingVisitsBy: reason, &turn)
        dataset.forget(subscription)
    }

    // MARK: Restarting

    /// Has the engines of restored datasets take up work, before anything else comes in.
    func resume(_ turn: inout Turn) {
        for name in unresumed.sorted() {
            if let dataset = datasets[name] { resume(dataset: dataset, &turn) }
        }
        unresumed.removeAll()
    }

    func resume(dataset: Dataset, _ turn: inout Turn) {
        endUnseenVisits(of: dataset, &turn)
        engineEffects.removeAll(keepingCapacity: true)
        dataset.engine.resume(at: turn.now, into: &engineEffects)
        handleEngineEffects(of: dataset, &turn)
        resumeCircumstances(of: dataset, at: turn.now)
    }
}

extension Subscription {
    /// What is compared once is not stored, and nothing of its pairs.
    fileprivate func isStored(with publication: Publication) -> Bool {
        record.duration > 0 && publication.record.duration > 0
    }
}

extension Dataset {
    func noteVisit(_ id: String, _ subscription: Subscription, _ publication: Publication) {
        subscription.visits[publication.reference.index] = id
        publication.visitors.insert(subscription.reference.index)
    }

    /// - Returns: The id of the visit's begin; nil where there is no visit.
    func forgetVisit(_ subscription: Subscription, _ publication: Publication) -> String? {
        publication.visitors.remove(subscription.reference.index)
        return subscription.visits.removeValue(forKey: publication.reference.index)
    }
}
