import Geodesy

// Pairs that met: what keeps them from meeting again, and what lets them.
extension EngineState {
    /// The two are in range and the selector is TRUE: a match, unless the last one is still in effect.
    mutating func meet(_ subscription: UInt32, _ publication: UInt32, at now: Int64, sparesKnown: Bool) {
        guard let pair = index.find(subscription, publication) else {
            newcomers.append(UInt64(subscription) << 32 | UInt64(publication))
            newcomersAt = now
            return
        }
        if sparesKnown { return }
        if subscriptions[subscription].isVisit {
            attend(pair, at: now)
        } else if isDue(pair, at: now) {
            fire(pair, at: now)
        } else {
            arm(pair)
            lowerBudgets(pair)
        }
    }

    /// Whether the last match of a pair no longer suppresses another.
    func isDue(_ pair: UInt32, at now: Int64) -> Bool {
        let record = index.pairs[pair]
        let subscription = subscriptions[record.subscription]
        if subscription.matchTTL != .max && now >= saturating(record.changedAt, subscription.matchTTL) {
            // With 0 each movement counts once, also where it is shown a second time.
            if subscription.matchTTL > 0 || record.changedAt < movesKnownSince { return true }
        }
        let here = devices[publications[record.publication].device].point
        let matchDTL = Double(subscription.matchDTL)
        if isDisplaced(from: record.publicationPoint, to: here, by: matchDTL) { return true }
        let there = devices[subscription.device].point
        return isDisplaced(from: record.subscriptionPoint, to: there, by: matchDTL)
    }

    /// Whether the two can meet but for the selector and the last match.
    func isPossible(_ pair: UInt32, at now: Int64) -> Bool {
        let record = index.pairs[pair]
        let subscription = subscriptions[record.subscription]
        let publication = publications[record.publication]
        guard now < subscription.expiresAt, now < publication.expiresAt, haveEqualTopics(subscription, publication) else {
            return false
        }
        if subscription.device == publication.device && subscription.excludesSelf { return false }
        return isInReach(subscription, publication)
    }

    func isTrue(_ pair: UInt32) -> Bool {
        let record = index.pairs[pair]
        let properties = UnsafePointer(self.properties.base + Int(record.publication))
        return programs.evaluate(subscriptions[record.subscription].program, properties)
    }

    /// Records a match of the pair here and now.
    mutating func fire(_ pair: UInt32, at now: Int64) {
        let record = index.pairs.base + Int(pair)
        record.pointee.changedAt = now
        record.pointee.publicationPoint = devices[publications[record.pointee.publication].device].point
        record.pointee.subscriptionPoint = devices[subscriptions[record.pointee.subscription].device].point
        addMeeting(pair, at: now)
        arm(pair)
        lowerBudgets(pair)
    }

    /// Notes that the two sides of a pair, between which there is a distance, met here and now.
    mutating func addMeeting(_ pair: UInt32, at now: Int64) {
        let record = index.pairs[pair]
        meetings.append(
            Encounter(
                subscription: record.subscription, publication: record.publication, distance: distance(pair) ?? 0, at: now))
    }

    /// Metres between the sides of a pair: along the ellipsoid, else as far as one sees the other; nil: nothing is known.
    mutating func distance(_ pair: UInt32) -> Double? {
        let record = index.pairs.base + Int(pair)
        let here = devices.base + Int(publications[record.pointee.publication].device)
        let there = devices.base + Int(subscriptions[record.pointee.subscription].device)
        guard here.pointee.isPlaced && there.pointee.isPlaced else {
            let sighting = sighting(subscriptions[record.pointee.subscription], publications[record.pointee.publication])
            return sighting.flatMap { $0.distance.isFinite ? $0.distance : nil }
        }
        let from = cachedPositions.publication.point(here)
        let to = cachedPositions.subscription.point(there)
        return Geodesic.distance(from: from, to: to)
    }

    /// Ensures a deadline for the end of the pair's TTL, where that can matter.
    mutating func arm(_ pair: UInt32) {
        let record = index.pairs.base + Int(pair)
        let subscription = subscriptions[record.pointee.subscription]
        guard subscription.matchTTL != .max && subscription.matchTTL > 0 else { return }
        arm(pair, for: saturating(record.pointee.changedAt, subscription.matchTTL))
    }

    /// Sees to it that the pair is looked at at that instant, if both sides live that long.
    mutating func arm(_ pair: UInt32, for due: Int64) {
        let record = index.pairs.base + Int(pair)
        let subscription = subscriptions[record.pointee.subscription]
        guard due < subscription.expiresAt && due < publications[record.pointee.publication].expiresAt else { return }
        // An earlier deadline finds out for itself that there is more to wait.
        guard record.pointee.armed > due else { return }
        if record.pointee.armed == .max { deadlinesWanted += 1 }
        record.pointee.armed = due
        addDeadline(due, .pair, pair)
    }

    /// Both devices may travel no further than this pair allows before it is looked at again.
    mutating func lowerBudgets(_ pair: UInt32) {
        let record = index.pairs[pair]
        lowerBudget(publications[record.publication].device, to: allowance(pair, .publication))
        lowerBudget(subscriptions[record.subscription].device, to: allowance(pair, .subscription))
    }

    @inline(__always)
    mutating func lowerBudget(_ device: UInt32, to metres: Float) {
        if metres < devices[device].budget { devices[device].budget = metres }
    }

    /// Metres a side may still travel before the pair can be due by it. At most 4 km, within which single precision is right to
    /// a quarter of a millimetre.
    func allowance(_ pair: UInt32, _ side: Side) -> Float {
        let record = index.pairs[pair]
        let subscription = subscriptions[record.subscription]
        if subscription.matchTTL == 0 { return 0 }
        let device = side == .publication ? publications[record.publication].device : subscription.device
        let from = side == .publication ? record.publicationPoint : record.subscriptionPoint
        let here = devices[device].point
        let matchDTL = Double(subscription.matchDTL)
        let chord = from.chord(to: here)
        if chord >= matchDTL { return 0 }
        if chord * mostArcPerChord + 4096 <= matchDTL { return 4096 }
        return Float(max(0, min(4096, matchDTL - displacement(from: from, to: here))))
    }

    /// Evaluates the pairs of a device that are in range and met before, and reckons anew how far it may travel.
    mutating func review(_ device: UInt32, at now: Int64) {
        devices[device].budget = .infinity
        for side in [Side.publication, .subscription] {
            var entry = devices[device].first(side)
            while entry != none {
                review(side, entry, of: device, at: now)
                entry = self.entry(side, entry).pointee.next
            }
        }
    }

    private mutating func review(_ side: Side, _ entry: UInt32, of device: UInt32, at now: Int64) {
        let isCrowded = oncePairs(side, entry) > EngineState.fewOncePairs
        // Those of visits are all near, and some of them may have to end.
        let last = isCrowded && side == .publication ? publications[entry].firstOncePair : none
        var pair = isCrowded && side == .subscription ? none : self.entry(side, entry).pointee.firstPair
        while pair != last {
            let record = index.pairs[pair]
            let current = pair
            pair = side == .publication ? record.nextOfPublication : record.nextOfSubscription
            // A device's pair with itself is in both lists.
            if side == .subscription && publications[record.publication].device == device { continue }
            if subscriptions[record.subscription].isVisit { attend(current, at: now) } else { reconsider(current, at: now) }
        }
        if isCrowded { reviewNearby(side, entry, at: now) }
    }

    /// Evaluates a pair of mode once that met before.
    mutating func reconsider(_ pair: UInt32, at now: Int64) {
        guard isPossible(pair, at: now) else { return }
        if isDue(pair, at: now) {
            // While the selector is not TRUE only an update can change anything, and that looks at everything.
            if isTrue(pair) { fire(pair, at: now) }
        } else {
            arm(pair)
            lowerBudgets(pair)
        }
    }

    /// A record for a pair, in both its lists; the caller writes when and where.
    mutating func link(_ subscription: UInt32, _ publication: UInt32) -> UInt32 {
        let pair = index.add(subscription, publication)
        let nextOfSubscription = subscriptions[subscription].firstPair
        let origin = GridPoint(x: 0, y: 0, z: 0)
        index.pairs[pair] = Pair(
            subscription: subscription, publication: publication, changedAt: 0, publicationPoint: origin,
            subscriptionPoint: origin, nextOfPublication: none, previousOfPublication: none,
            nextOfSubscription: nextOfSubscription, previousOfSubscription: none, armed: .max)
        if nextOfSubscription != none { index.pairs[nextOfSubscription].previousOfSubscription = pair }
        subscriptions[subscription].firstPair = pair
        enlist(pair, of: publication)
        partners[subscription] &+= 1
        return pair
    }

    mutating func unlink(_ pair: UInt32) {
        let record = index.pairs[pair]
        delist(pair, of: record.publication)
        if record.previousOfSubscription == none {
            subscriptions[record.subscription].firstPair = record.nextOfSubscription
        } else {
            index.pairs[record.previousOfSubscription].nextOfSubscription = record.nextOfSubscription
        }
        if record.nextOfSubscription != none {
            index.pairs[record.nextOfSubscription].previousOfSubscription = record.previousOfSubscription
        }
        partners[record.subscription] &-= 1
        if record.armed != .max { deadlinesWanted -= 1 }
        index.pairs[pair].armed = .max
        if !leaving.isEmpty { leaving[pair] = nil }
        index.remove(pair)
    }
}

/// A position with its point, which costs two sines and cosines to find.
struct CachedPosition {
    private var latitude = Double.nan
    private var longitude = Double.nan
    private var point = ECEF(latitude: 0, longitude: 0)

    @inline(__always)
    mutating func point(_ device: UnsafeMutablePointer<Device>) -> ECEF {
        if device.pointee.latitude != latitude || device.pointee.longitude != longitude {
            (latitude, longitude) = (device.pointee.latitude, device.pointee.longitude)
            point = ECEF(latitude: latitude, longitude: longitude)
        }
        return point
    }
}

/// Metres between two grid points along the ellipsoid; 0 where one of them is nowhere: a device without a position has not moved.
func displacement(from: GridPoint, to: GridPoint) -> Double {
    from.isNowhere || to.isNowhere ? 0 : Geodesic.distance(from: from.centre, to: to.centre)
}

/// Whether two grid points are at least so many metres apart along the ellipsoid.
func isDisplaced(from: GridPoint, to: GridPoint, by metres: Double) -> Bool {
    if from.isNowhere || to.isNowhere { return metres <= 0 }
    let chord = from.chord(to: to)
    if chord >= metres { return true }
    return chord * mostArcPerChord >= metres && displacement(from: from, to: to) >= metres
}

/// No arc along the ellipsoid is longer than this many of its chords: half of the shortest way round is 1.5736.
private let mostArcPerChord = 1.6

extension GridPoint {
    /// Metres straight through the earth.
    @inline(__always)
    fileprivate func chord(to other: GridPoint) -> Double { squaredChord(to: other).squareRoot() / GridPoint.unitsPerMetre }

    /// The point as coordinates in metres, off the ellipsoid by 3.4 mm at most.
    fileprivate var centre: ECEF {
        ECEF(
            x: Double(x) / GridPoint.unitsPerMetre, y: Double(y) / GridPoint.unitsPerMetre, z: Double(z) / GridPoint.unitsPerMetre
        )
    }
}

func saturating(_ a: Int64, _ b: Int64) -> Int64 {
    let (sum, overflow) = a.addingReportingOverflow(b)
    return overflow ? (b > 0 ? .max : .min) : sum
}
