extension Engine {
    /// The visits of a subscription that are under way, in order of the publications' numbers.
    public func visits(of s: SubscriptionRef) -> [Visit] {
        guard isAlive(s), state.pointee.subscriptions[s.index].isVisit else { return [] }
        var found: [Visit] = []
        var pair = state.pointee.subscriptions[s.index].firstPair
        while pair != none {
            let record = state.pointee.index.pairs[pair]
            if state.pointee.index.phases[pair] == .visiting {
                found.append(Visit(publication: PublicationRef(index: record.publication), since: record.changedAt))
            }
            pair = record.nextOfSubscription
        }
        return found.sorted { $0.publication.index < $1.publication.index }
    }

    /// Restores a visit that is under way, silently. Nothing happens unless the subscription is of mode `visit`.
    ///
    /// It is looked at with the next movement of either side, the first one after a restart included, or when a side is silent
    /// for `staleAfter`. A device that was not placed counts as heard of now.
    ///
    /// - Parameters:
    ///   - since: When it began, milliseconds since 1970 UTC.
    ///   - outsideSince: As ``outside(_:_:)`` says it.
    public func restoreVisit(
        _ s: SubscriptionRef, _ p: PublicationRef, since: Int64, outsideSince: Int64? = nil, at now: Int64
    ) {
        guard isAlive(s), isAlive(p), state.pointee.subscriptions[s.index].isVisit else { return }
        state.pointee.restore(.visiting, s.index, p.index, since: since, outsideSince: outsideSince, at: now)
    }

    /// Restores a stay that may become a visit, silently, as ``restoreVisit(_:_:since:at:)`` does a visit: its `dwell` goes on,
    /// and was over meanwhile where nobody moved.
    ///
    /// - Parameter since: Of the ``PairStay``.
    public func restoreStay(
        _ s: SubscriptionRef, _ p: PublicationRef, since: Int64, outsideSince: Int64? = nil, at now: Int64
    ) {
        guard isAlive(s), isAlive(p), state.pointee.subscriptions[s.index].isVisit else { return }
        state.pointee.restore(.staying, s.index, p.index, since: since, outsideSince: outsideSince, at: now)
    }

    /// The pairs of likely subscriptions of which ``outside(_:_:)`` may say something else than at the last call.
    public func takeOutsideChanges() -> [(subscription: SubscriptionRef, publication: PublicationRef)] {
        guard !state.pointee.leavingChanged.isEmpty else { return [] }
        defer { state.pointee.leavingChanged.removeAll(keepingCapacity: true) }
        return state.pointee.leavingChanged.map {
            (SubscriptionRef(index: $0.subscription), PublicationRef(index: $0.publication))
        }
    }

    /// Since when the visit or stay of a pair goes on, and when the first of its last usable fixes was that are all outside, of accuracy
    /// `likely`; nil where there is neither.
    public func outside(_ s: SubscriptionRef, _ p: PublicationRef) -> (since: Int64, outsideSince: Int64?)? {
        guard isAlive(s), isAlive(p), state.pointee.subscriptions[s.index].isVisit,
            let pair = state.pointee.index.find(s.index, p.index), state.pointee.index.phases[pair] != .silent
        else { return nil }
        return (state.pointee.index.pairs[pair].changedAt, state.pointee.leaving[pair])
    }

    /// Removes a restored visit or stay that ended since, silently: the pair is as if it had never been in range.
    public func restoreEnd(_ s: SubscriptionRef, _ p: PublicationRef) {
        guard isAlive(s), isAlive(p), state.pointee.subscriptions[s.index].isVisit,
            let pair = state.pointee.index.find(s.index, p.index)
        else { return }
        state.pointee.unlink(pair)
    }

    /// Takes up work after a restart, once everything is restored: what is in range of a subscription of mode `visit` and has
    /// neither visit nor stay begins its stay now, or its visit where `dwell` is 0. Nothing else happens.
    public func resume(at now: Int64, into effects: inout [Effect]) {
        for index in 0..<state.pointee.subscriptions.used {
            let subscription = state.pointee.subscriptions.base[index]
            guard subscription.isAlive && subscription.isVisit else { continue }
            state.pointee.resumePairs(of: UInt32(truncatingIfNeeded: index), at: now)
            state.pointee.probeAll(.subscription, UInt32(truncatingIfNeeded: index), at: now, sparesKnown: true)
        }
        state.pointee.finish(into: &effects)
    }
}
