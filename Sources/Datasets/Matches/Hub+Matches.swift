import Geodesy
import Matching
import Wire
import Records

// From the engine's effects to matches: numbered, durable, then delivered.

extension Hub {
    /// Shows every engine what moved since the last time; nothing else may happen to a dataset in between.
    ///
    /// - Parameter knownSince: When an earlier life that forgot it showed the same; `Int64.max`: it is new.
    func showMoves(knownSince: Int64 = .max, _ turn: inout Turn) {
        guard !moved.isEmpty else { return }
        for dataset in moved {
            engineEffects.removeAll(keepingCapacity: true)
            dataset.engine.move(dataset.moves, at: turn.now, knownSince: knownSince, into: &engineEffects)
            dataset.moves.removeAll(keepingCapacity: true)
            handleEngineEffects(of: dataset, &turn)
        }
        moved.removeAll(keepingCapacity: true)
    }

    func advanceEngine(of dataset: Dataset, to now: Int64, _ turn: inout Turn) {
        dataset.instant = now
        engineEffects.removeAll(keepingCapacity: true)
        dataset.engine.advance(to: now, into: &engineEffects)
        handleEngineEffects(of: dataset, &turn)
    }

    /// - Parameter reason: What visits are told to end by, whatever the engine says; nil: what the engine says.
    func handleEngineEffects(of dataset: Dataset, endingVisitsBy reason: VisitEnd.Reason? = nil, _ turn: inout Turn) {
        for effect in engineEffects {
            switch effect {
            case .met(let meeting): record(meeting, in: dataset, &turn)
            case .visitBegan(let meeting): begin(meeting, in: dataset, &turn)
            case .visitEnded(var end):
                end.reason = reason ?? end.reason
                self.end(end, in: dataset, &turn)
            case .crowded(let crowd): count(crowd, in: dataset, &turn)
            case .publicationExpired(let reference):
                guard let publication = dataset.publication(reference) else { continue }
                dataset.forget(publication)
                turn.keep(.deletePublication(dataset: dataset.id, id: publication.record.id))
            case .subscriptionExpired(let reference):
                guard let subscription = dataset.subscription(reference) else { continue }
                dataset.forget(subscription)
                turn.keep(.deleteSubscription(dataset: dataset.id, id: subscription.record.id))
            case .mismatch(let reference, let hints):
                guard let subscription = dataset.subscription(reference) else { continue }
                let new = hints.filter { !subscription.record.hints.contains($0) }
                guard !new.isEmpty else { continue }
                subscription.record.hints += new
                turn.keep(
                    .putHints(dataset: dataset.id, subscriptionId: subscription.record.id, subscription.record.hints))
            }
        }
        engineEffects.removeAll(keepingCapacity: true)
    }

    /// A pair met, and is remembered for what `matchTTL` and `matchDTL` count from.
    private func record(_ meeting: Meeting, in dataset: Dataset, _ turn: inout Turn) {
        guard let publication = dataset.publication(meeting.publication),
            let subscription = dataset.subscription(meeting.subscription)
        else { return }
        // What was compared once and is not stored leaves no trace of the pair.
        if publication.record.duration > 0, subscription.record.duration > 0 {
            turn.keep(.put(PairRecord(meeting, publication.record, subscription.record)))
        }
        let message = MatchMessage(id: turn.identifiers.uuid(), event: .matched, meeting)
        send(message, publication, subscription, in: dataset, &turn)
    }

    /// More would match than is remembered: what was not made counts as dropped.
    private func count(_ crowd: Crowd, in dataset: Dataset, _ turn: inout Turn) {
        guard let subscription = dataset.subscription(crowd.subscription), crowd.missed > 0 else { return }
        let limits = configuration.limits
        let reason =
            "\(crowd.missed) matches were not made: a subscription has \(limits.partnersPerSubscription) partners and a dataset \(limits.pairs) pairs at most"
        outbox.countUnmade(crowd.missed, of: subscription, dataset.matchAccount, because: reason, &turn)
    }

    /// Has a match delivered.
    func send(
        _ message: MatchMessage, _ publication: Publication, _ subscription: Subscription, in dataset: Dataset, _ turn: inout Turn
    ) {
        guard let device = dataset.devices[subscription.record.deviceId] else { return }
        outbox.send(message, publication, subscription, of: device, dataset.matchAccount, &turn)
    }
}

extension PairRecord {
    init(_ meeting: Meeting, _ publication: PublicationRecord, _ subscription: SubscriptionRecord) {
        self.init(
            dataset: subscription.dataset, subscriptionId: subscription.id, publicationId: publication.id,
            lastMatchAt: meeting.at, publicationLatitude: meeting.publicationPosition?.latitude,
            publicationLongitude: meeting.publicationPosition?.longitude,
            subscriptionLatitude: meeting.subscriptionPosition?.latitude,
            subscriptionLongitude: meeting.subscriptionPosition?.longitude)
    }
}

extension Position {
    /// nil where a side stood nowhere.
    init?(_ latitude: Double?, _ longitude: Double?) {
        guard let latitude, let longitude else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}
