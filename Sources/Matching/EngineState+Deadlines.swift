import HeapModule

// Deadlines: lifetimes that end, TTLs and stays that elapse, silences that last. Whatever depends on them also compares instants itself, so that a
// deadline handled late is never wrong.
extension EngineState {
    mutating func addDeadline(_ instant: Int64, _ kind: Deadline.Kind, _ index: UInt32) {
        deadlines.insert(Deadline(instant: instant, kind: kind, index: index))
        if deadlines.count > 2 * deadlinesWanted + 1024 { rebuildDeadlines() }
    }

    /// Whether the deadline is still that of something.
    func isCurrent(_ item: Deadline) -> Bool {
        switch item.kind {
        case .publication: isCurrent(publications, item)
        case .subscription: isCurrent(subscriptions, item)
        case .pair: Int(item.index) < index.pairs.used && index.pairs[item.index].armed == item.instant
        }
    }

    private func isCurrent(_ entries: Slab<some EntryRecord>, _ item: Deadline) -> Bool {
        guard Int(item.index) < entries.used else { return false }
        let entry = entries[item.index]
        return entry.isAlive && entry.expiresAt == item.instant
    }

    private func hasElapsed(_ pair: UInt32, at now: Int64) -> Bool {
        let record = index.pairs[pair]
        let ttl = subscriptions[record.subscription].matchTTL
        return ttl > 0 && ttl != .max && now >= saturating(record.changedAt, ttl)
    }

    /// Drops the stale deadlines: they would otherwise gather under churn, up to the longest duration.
    private mutating func rebuildDeadlines() {
        var kept: [Deadline] = []
        kept.reserveCapacity(deadlinesWanted)
        func keep(_ instant: Int64, _ kind: Deadline.Kind, _ index: Int) {
            guard instant != .max else { return }
            kept.append(Deadline(instant: instant, kind: kind, index: UInt32(truncatingIfNeeded: index)))
        }
        for index in 0..<publications.used where publications.base[index].isAlive {
            keep(publications.base[index].expiresAt, .publication, index)
        }
        for index in 0..<subscriptions.used where subscriptions.base[index].isAlive {
            keep(subscriptions.base[index].expiresAt, .subscription, index)
        }
        for number in 0..<index.pairs.used { keep(index.pairs.base[number].armed, .pair, number) }
        deadlines = Heap(kept)
    }

    /// The next instant at which something may be due.
    mutating func nextDeadline() -> Int64? {
        if hasPostponed { return .min }
        while let first = deadlines.min {
            if isCurrent(first) { return first.instant }
            deadlines.removeMin()
        }
        return nil
    }

    /// Handles what is due, at most `limit` deadlines: first the lives that end, then pairs.
    mutating func advance(to now: Int64, limit: Int, into effects: inout [Effect]) {
        var pairs: [Deadline] = []
        var handled = 0
        while handled < limit, let first = deadlines.min, first.instant <= now {
            deadlines.removeMin()
            handled += 1
            guard isCurrent(first) else { continue }
            switch first.kind {
            case .publication:
                endVisits(.publication, first.index, .expired, at: now)
                deliverEnds(into: &effects)
                effects.append(.publicationExpired(PublicationRef(index: first.index)))
                remove(.publication, first.index)
            case .subscription:
                endVisits(.subscription, first.index, .expired, at: now)
                deliverEnds(into: &effects)
                effects.append(.subscriptionExpired(SubscriptionRef(index: first.index)))
                remove(.subscription, first.index)
            case .pair: pairs.append(first)
            }
        }
        for item in pairs where isCurrent(item) {
            index.pairs[item.index].armed = .max
            deadlinesWanted -= 1
            if subscriptions[index.pairs[item.index].subscription].isVisit {
                attend(item.index, at: now)
                continue
            }
            guard isPossible(item.index, at: now) else { continue }
            // An update may have lengthened the TTL, or taken the pair's right to a timer away.
            if !hasElapsed(item.index, at: now) {
                arm(item.index)
            } else if isTrue(item.index) {
                fire(item.index, at: now)
            }
        }
        evaluatePostponed(at: now)
        finish(into: &effects)
    }
}
