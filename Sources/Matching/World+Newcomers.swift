// Pairs that met for the first time: remembered in one order, as far as the limits allow.
extension World {
    /// Remembers the pairs that came together with this input, and what follows from it.
    mutating func admitNewcomers() {
        guard newcomers.count > 0 else { return }
        newcomers.sort(from: 0)
        for place in 0..<newcomers.count {
            admit(UInt32(truncatingIfNeeded: newcomers[place] >> 32), UInt32(truncatingIfNeeded: newcomers[place]))
        }
        newcomers.truncate(to: 0)
    }

    private mutating func admit(_ subscription: UInt32, _ publication: UInt32) {
        guard Int(partners[subscription]) < limits.partnersPerSubscription, index.pairs.count < limits.pairs else {
            return turnAway(subscription)
        }
        let pair = link(subscription, publication)
        if subscriptions[subscription].isVisit {
            index.pairs[pair].enter(.silent, at: newcomersAt)
            attend(pair, at: newcomersAt)
        } else {
            fire(pair, at: newcomersAt)
        }
    }

    private mutating func turnAway(_ subscription: UInt32) {
        if let last = crowds.indices.last, crowds[last].subscription.index == subscription {
            crowds[last].missed += 1
        } else {
            crowds.append(Crowd(subscription: SubscriptionRef(index: subscription), missed: 1, at: newcomersAt))
        }
    }
}
