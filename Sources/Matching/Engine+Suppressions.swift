import Geodesy

extension Engine {
    /// The last match of a pair; nil: it never matched, one of the two is gone, or the subscription is of mode `visit`.
    public func suppression(of s: SubscriptionRef, _ p: PublicationRef) -> Suppression? {
        guard isAlive(s), isAlive(p), !state.pointee.subscriptions[s.index].isVisit else { return nil }
        return state.pointee.index.find(s.index, p.index).map { state.pointee.index.pairs[$0].suppression }
    }

    /// The last matches of a subscription, in order of the publications' numbers.
    public func suppressions(of s: SubscriptionRef) -> [(PublicationRef, Suppression)] {
        guard isAlive(s), !state.pointee.subscriptions[s.index].isVisit else { return [] }
        var found: [(PublicationRef, Suppression)] = []
        var pair = state.pointee.subscriptions[s.index].firstPair
        while pair != none {
            let record = state.pointee.index.pairs[pair]
            found.append((PublicationRef(index: record.publication), record.suppression))
            pair = record.nextOfSubscription
        }
        return found.sorted { $0.0.index < $1.0.index }
    }

    /// The last matches of a publication, in order of the subscriptions' numbers.
    public func suppressions(of p: PublicationRef) -> [(SubscriptionRef, Suppression)] {
        guard isAlive(p) else { return [] }
        var found: [(SubscriptionRef, Suppression)] = []
        var pair = state.pointee.publications[p.index].firstPair
        while pair != none {
            let record = state.pointee.index.pairs[pair]
            if !state.pointee.subscriptions[record.subscription].isVisit {
                found.append((SubscriptionRef(index: record.subscription), record.suppression))
            }
            pair = record.nextOfPublication
        }
        return found.sorted { $0.0.index < $1.0.index }
    }

    /// Restores the last match of a pair. Nothing is evaluated before either side moves or is updated or the TTL elapses,
    /// which may be due at once. Nothing happens where the
    /// subscription is of mode `visit`.
    public func restoreSuppression(_ s: SubscriptionRef, _ p: PublicationRef, _ suppression: Suppression) {
        guard isAlive(s), isAlive(p), !state.pointee.subscriptions[s.index].isVisit else { return }
        let pair = state.pointee.index.find(s.index, p.index) ?? state.pointee.link(s.index, p.index)
        let record = state.pointee.index.pairs.base + Int(pair)
        record.pointee.changedAt = suppression.lastMatchAt
        record.pointee.publicationPoint = suppression.publicationPosition?.gridPoint ?? .nowhere
        record.pointee.subscriptionPoint = suppression.subscriptionPosition?.gridPoint ?? .nowhere
        state.pointee.arm(pair)
        // How far the devices may travel is reckoned with their next movement.
        state.pointee.lowerBudget(state.pointee.publications[p.index].device, to: 0)
        state.pointee.lowerBudget(state.pointee.subscriptions[s.index].device, to: 0)
    }
}

extension Pair {
    var suppression: Suppression {
        Suppression(
            lastMatchAt: changedAt, publicationPosition: publicationPoint.isNowhere ? nil : publicationPoint.position,
            subscriptionPosition: subscriptionPoint.isNowhere ? nil : subscriptionPoint.position)
    }
}

extension Position {
    fileprivate var gridPoint: GridPoint { GridPoint(latitude: latitude, longitude: longitude) }
}
