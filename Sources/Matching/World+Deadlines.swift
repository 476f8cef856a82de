// Deadlines: lifetimes that end, TTLs and stays that elapse, silences that last. Whatever depends on them also compares instants itself, so that a
// deadline handled late is never wrong.
extension World {
    enum DeadlineKind: UInt32 {
        case publication = 0
        case subscription = 1
        case pair = 2
    }

    mutating func addDeadline(_ deadline: Int64, _ kind: DeadlineKind, _ index: UInt32) {
        deadlines.add(DeadlineHeap.Item(deadline: deadline, kind: kind.rawValue, index: index))
        if deadlines.count > 2 * deadlinesWanted + 1024 { rebuildDeadlines() }
    }

    /// Whether the deadline still stands for something.
    func isCurrent(_ item: DeadlineHeap.Item) -> Bool {
        switch DeadlineKind(rawValue: item.kind) {
        case .publication: isCurrent(publications, item)
        case .subscription: isCurrent(subscriptions, item)
        case .pair: Int(item.index) < index.pairs.used && index.pairs[item.index].armed == item.deadline
        case nil: false
        }
    }

    private func isCurrent(_ entries: Slab<some EntryRecord>, _ item: DeadlineHeap.Item) -> Bool {
        guard Int(item.index) < entries.used else { return false }
        let entry = entries[item.index]
        return entry.isAlive && entry.expiresAt == item.deadline
    }

    private func hasElapsed(_ pair: UInt32, at now: Int64) -> Bool {
        let record = index.pairs[pair]
        let ttl = subscriptions[record.subscription].matchTTL
        return ttl > 0 && ttl != .max && now >= saturating(record.changedAt, ttl)
    }

    /// Drops the stale deadlines: they would otherwise gather under churn, up to the longest duration.
    private mutating func rebuildDeadlines() {
        deadlines.removeAll(expecting: deadlinesWanted)
        for index in 0..<publications.used where publications.base[index].isAlive {
            readd(publications.base[index].expiresAt, .publication, index)
        }
        for index in 0..<subscriptions.used where subscriptions.base[index].isAlive {
            readd(subscriptions.base[index].expiresAt, .subscription, index)
        }
        for number in 0..<index.pairs.used { readd(index.pairs.base[number].armed, .pair, number) }
    }

    private mutating func readd(_ deadline: Int64, _ kind: DeadlineKind, _ index: Int) {
        guard deadline != .max else { return }
        deadlines.add(DeadlineHeap.Item(deadline: deadline, kind: kind.rawValue, index: UInt32(truncatingIfNeeded: index)))
    }

    /// The next instant at which something may be due.
    mutating func nextDeadline() -> Int64? {
        while let first = deadlines.first {
            if isCurrent(first) { return first.deadline }
            deadlines.removeFirst()
        }
        return nil
    }

    /// Handles what is due, at most `limit` deadlines: first the lives that end, then pairs.
    mutating func advance(to now: Int64, limit: Int, into effects: inout [Effect]) {
        var pairs: [DeadlineHeap.Item] = []
        var handled = 0
        while handled < limit, let first = deadlines.first, first.deadline <= now {
            deadlines.removeFirst()
            handled += 1
            guard isCurrent(first) else { continue }
            switch DeadlineKind(rawValue: first.kind) {
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
            default: pairs.append(first)
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
        finish(into: &effects)
    }
}
