import CPrefetch

// Pairs that met for the first time: remembered in one order, as far as the limits allow.
extension EngineState {
    /// Remembers the pairs that came together with this input, and what follows from it.
    mutating func admitNewcomers() {
        guard newcomers.count > 0 else { return }
        newcomers.sort(from: 0)
        for place in 0..<min(EngineState.newcomersAhead, newcomers.count) { prefetchNewcomer(place) }
        for place in 0..<newcomers.count {
            if place + EngineState.newcomersAhead < newcomers.count { prefetchNewcomer(place + EngineState.newcomersAhead) }
            admit(UInt32(truncatingIfNeeded: newcomers[place] >> 32), UInt32(truncatingIfNeeded: newcomers[place]))
        }
        newcomers.truncate(to: 0)
    }

    /// How many pairs ahead of the one that is made the records of its devices are asked for.
    private static let newcomersAhead = 8

    /// Asks for what making a pair reads beside its two entries, which were read to find it.
    @inline(__always)
    private func prefetchNewcomer(_ place: Int) {
        let subscription = UInt32(truncatingIfNeeded: newcomers[place] >> 32)
        let publication = UInt32(truncatingIfNeeded: newcomers[place])
        geomatch_prefetch(devices.base + Int(subscriptions[subscription].device))
        geomatch_prefetch(devices.base + Int(publications[publication].device))
        partners.prefetch(subscription)
        if subscriptions[subscription].isVisit { visitOptions.prefetch(subscription) }
        index.prefetch(subscription, publication)
    }

    private mutating func admit(_ subscription: UInt32, _ publication: UInt32) {
        guard Int(partners[subscription]) < limits.partnersPerSubscription, index.pairs.count < limits.pairs else {
            return turnAway(subscription)
        }
        let pair = link(subscription, publication)
        if subscriptions[subscription].isVisit {
            index.enter(.silent, pair, at: newcomersAt)
            attend(pair, at: newcomersAt)
        } else {
            fire(pair, at: newcomersAt)
        }
    }

    private mutating func turnAway(_ subscription: UInt32) {
        if let last = exceeded.indices.last, exceeded[last].subscription.index == subscription {
            exceeded[last].missed += 1
        } else {
            exceeded.append(CapacityExceeded(subscription: SubscriptionRef(index: subscription), missed: 1, at: newcomersAt))
        }
    }
}
