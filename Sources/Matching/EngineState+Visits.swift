import Geodesy

/// The state of a pair of a subscription of mode visit.
///
/// It is remembered while in range, so that every change is seen; a pair on a visit also within the exit margin.
enum Phase: UInt8, BitwiseCopyable {
    /// In range, but a side was not heard of for too long: it waits for that one to be heard.
    case silent
    /// In range, but not yet for the time a visit takes to begin.
    case staying
    case visiting
}

// Visits: pairs that begin, last and end.
extension EngineState {
    /// Brings a pair of mode visit, whose selector is TRUE and whose topics are equal, up to date with where its sides are and
    /// when they were heard of.
    ///
    /// - Parameter isUpdated: One of the two was updated.
    mutating func attend(_ pair: UInt32, isUpdated: Bool = false, at now: Int64) {
        let record = index.pairs[pair]
        let subscription = subscriptions[record.subscription]
        let publication = publications[record.publication]
        // What is over is ended by its own deadline.
        guard now < subscription.expiresAt, now < publication.expiresAt else { return }
        let isSilent = now >= silentFrom(record)
        guard areLocated(subscription, publication) else {
            // Restored, and not heard of since.
            if isSilent { end(pair, .lost, at: now) } else { watch(pair) }
            return
        }
        if isLikely(subscription, publication) {
            return attendLikely(pair, isSilent: isSilent, isUpdated: isUpdated, at: now)
        }
        let phase = index.phases[pair]
        let isNear = isInReach(subscription, publication)
        let margin = visitOptions[record.subscription].exitMargin
        let mayStay = isNear || phase == .visiting && margin > 0 && isInReach(subscription, publication, widenedBy: margin)
        if phase == .visiting && isSilent {
            note(pair, .lost, at: now)
            index.enter(.silent, pair, at: now)
            if !isNear { return unlink(pair) }
        } else if !mayStay {
            return end(pair, .left, at: now)
        } else if phase != .visiting {
            proceed(pair, isSilent, dwell: visitOptions[record.subscription].dwell, at: now)
        }
        watch(pair)
        lowerVisitBudgets(pair, at: now)
    }

    /// A pair in range that is not on a visit: it waits, stays or begins one.
    private mutating func proceed(_ pair: UInt32, _ isSilent: Bool, dwell: Int64, at now: Int64) {
        if isSilent { return fallSilent(pair, at: now) }
        let isNew = index.phases[pair] == .silent
        if isNew { index.enter(.staying, pair, at: now) }
        guard now >= saturating(index.pairs[pair].changedAt, dwell) else {
            if isNew { noteStay(pair, since: now) }
            return
        }
        index.enter(.visiting, pair, at: now)
        addMeeting(pair, at: now)
    }

    /// A side of a pair that is not on a visit was not heard of for too long.
    mutating func fallSilent(_ pair: UInt32, at now: Int64) {
        if index.phases[pair] == .staying { noteStay(pair, since: nil) }
        index.enter(.silent, pair, at: now)
    }

    /// The first instant at which a side counts as not heard of; `Int64.max`: never.
    private func silentFrom(_ record: Pair) -> Int64 {
        let limit = visitOptions[record.subscription].staleAfter
        guard limit != .max else { return .max }
        if let sighting = sighting(subscriptions[record.subscription], publications[record.publication]) {
            return saturating(sighting.seenAt, limit)
        }
        let heardAt = min(
            heard[publications[record.publication].device].at, heard[subscriptions[record.subscription].device].at)
        return saturating(heardAt, limit)
    }

    /// Sees to it that the pair is looked at when time alone can change it.
    mutating func watch(_ pair: UInt32) {
        let record = index.pairs[pair]
        guard index.phases[pair] != .silent else { return }
        var due = silentFrom(record)
        // One that was restored waits for the sides to be heard of.
        let publication = publications[record.publication]
        if index.phases[pair] == .staying, areLocated(subscriptions[record.subscription], publication) {
            let dwell = visitOptions[record.subscription].dwell
            let isLikely = isLikely(subscriptions[record.subscription], publication)
            due = min(due, isLikely ? likelyDue(pair, dwell: dwell) : saturating(record.changedAt, dwell))
        }
        if due != .max { arm(pair, for: due) }
    }

    /// Both devices may travel no further than this pair allows before it is looked at again: half of what is left each, since
    /// both may travel. Where accuracy or floor count, any fix can change it; so can any fix of a side that was silent.
    mutating func lowerVisitBudgets(_ pair: UInt32, at now: Int64) {
        let record = index.pairs[pair]
        let subscription = subscriptions[record.subscription]
        let publication = publications[record.publication]
        let options = visitOptions[record.subscription]
        // Who sees a beacon may go where it wants: only another sighting changes their distance.
        guard devices[publication.device].isPlaced && devices[subscription.device].isPlaced else { return }
        var half: Float = 0
        if !subscription.isAccuracyAware {
            var reach = Double(subscription.range &+ publication.range) / GridPoint.unitsPerMetre
            if index.phases[pair] == .visiting { reach += options.exitMargin }
            let left = reach - displacement(from: devices[publication.device].point, to: devices[subscription.device].point)
            // 3 cm for what the distance may be off.
            half = Float(max(0, min(4096, (left - 0.03) / 2)))
        }
        for device in [publication.device, subscription.device] {
            let isSilent = index.phases[pair] == .silent && now >= saturating(heard[device].at, options.staleAfter)
            lowerBudget(device, to: isSilent ? 0 : half)
        }
    }

    /// - Parameter phase: A visit, or a stay.
    mutating func restore(
        _ phase: Phase, _ subscription: UInt32, _ publication: UInt32, since: Int64, outsideSince: Int64?, at now: Int64
    ) {
        let pair = index.find(subscription, publication) ?? link(subscription, publication)
        index.enter(phase, pair, at: since)
        leaving[pair] = outsideSince
        for device in [publications[publication].device, subscriptions[subscription].device] {
            if heard[device].at == .min { heard[device].at = now }
            lowerBudget(device, to: 0)
        }
        watch(pair)
    }

    /// Everything is back: what the last fixes say of a subscription's visits and stays.
    mutating func resumePairs(of subscription: UInt32, at now: Int64) {
        var pair = subscriptions[subscription].firstPair
        while pair != none {
            resumeLikely(pair, at: now)
            // What was restored before the positions were has waited as if its sides had been heard of then.
            watch(pair)
            pair = index.pairs[pair].nextOfSubscription
        }
    }

    // MARK: Ends

    /// Forgets a pair of mode visit; a visit under way ends, and a stay comes to nothing.
    mutating func end(_ pair: UInt32, _ reason: VisitEnd.Reason, at now: Int64) {
        switch index.phases[pair] {
        case .visiting: note(pair, reason, at: now)
        case .staying: noteStay(pair, since: nil)
        case .silent: break
        }
        unlink(pair)
    }

    /// - Parameter since: nil: it came to nothing.
    mutating func noteStay(_ pair: UInt32, since: Int64?) {
        let record = index.pairs[pair]
        stays.append(
            PairStay(
                publication: PublicationRef(index: record.publication), subscription: SubscriptionRef(index: record.subscription),
                since: since))
    }

    mutating func note(_ pair: UInt32, _ reason: VisitEnd.Reason, at now: Int64) {
        let record = index.pairs[pair]
        ends.append(
            Parting(
                subscription: record.subscription, publication: record.publication, reason: reason, distance: distance(pair),
                at: now))
    }

    /// Reports the ends of an entry's visits; the pairs are the caller's to forget, unless `unlinking`.
    mutating func endVisits(
        _ side: Side, _ entry: UInt32, _ reason: VisitEnd.Reason, at now: Int64, unlinking: Bool = false
    ) {
        var pair = self.entry(side, entry).pointee.firstPair
        while pair != none {
            let record = index.pairs[pair]
            let current = pair
            pair = side == .publication ? record.nextOfPublication : record.nextOfSubscription
            guard subscriptions[record.subscription].isVisit else { continue }
            if unlinking {
                // The position of a device does not matter to the beacons it sees.
                if sighting(subscriptions[record.subscription], publications[record.publication]) != nil { continue }
                end(current, reason, at: now)
            } else if index.phases[current] == .visiting {
                note(current, reason, at: now)
                // A device's pair with itself is in both lists.
                index.enter(.silent, current, at: now)
            }
        }
    }

    /// The same for all entries of a device.
    mutating func endVisits(ofDevice device: UInt32, _ reason: VisitEnd.Reason, at now: Int64, unlinking: Bool) {
        for side in [Side.publication, .subscription] {
            var entry = devices[device].first(side)
            while entry != none {
                endVisits(side, entry, reason, at: now, unlinking: unlinking)
                entry = self.entry(side, entry).pointee.next
            }
        }
    }

    /// After an update of an entry: its visits that are impossible now end, the others are brought up to date.
    mutating func revise(_ side: Side, _ entry: UInt32, at now: Int64) {
        var pair = self.entry(side, entry).pointee.firstPair
        while pair != none {
            let record = index.pairs[pair]
            let current = pair
            pair = side == .publication ? record.nextOfPublication : record.nextOfSubscription
            let subscription = subscriptions[record.subscription]
            guard subscription.isVisit else { continue }
            let publication = publications[record.publication]
            let isExcluded = subscription.device == publication.device && subscription.excludesSelf
            if isExcluded || !haveEqualTopics(subscription, publication) || !isTrue(current) {
                end(current, .left, at: now)
            } else {
                setLeaving(current, since: nil)
                attend(current, isUpdated: true, at: now)
            }
        }
    }

    /// Before a subscription changes its mode: nothing of its pairs has a meaning in the other one.
    mutating func forgetPairs(of subscription: UInt32, at now: Int64) {
        while subscriptions[subscription].firstPair != none {
            let pair = subscriptions[subscription].firstPair
            if subscriptions[subscription].isVisit { end(pair, .left, at: now) } else { unlink(pair) }
        }
    }
}
