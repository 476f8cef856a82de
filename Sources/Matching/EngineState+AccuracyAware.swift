import Geodesy

// Accuracy-aware subscriptions: accuracy or floor decide with points and ranges. A fix can bring two into range without a step, so
// whatever may be in range is looked at with each.
extension EngineState {
    /// Whether two are in range, or within so many metres of it: by where both are, else by how far one sees the other.
    func isInReach(_ subscription: Subscription, _ publication: Publication, widenedBy margin: Double = 0) -> Bool {
        let here = devices.base + Int(publication.device)
        let there = devices.base + Int(subscription.device)
        guard here.pointee.isPlaced && there.pointee.isPlaced else {
            return isInSightedReach(subscription, publication, widenedBy: margin)
        }
        let ranges = subscription.range &+ publication.range
        if !subscription.isAccuracyAware && margin == 0 {
            return here.pointee.point.squaredChord(to: there.pointee.point) <= Sweep.squaredReach(ranges)
        }
        if subscription.flags.contains(.sameFloor) && (here.pointee.floor == 0 || here.pointee.floor != there.pointee.floor) {
            return false
        }
        var reach = Double(ranges) / GridPoint.unitsPerMetre + margin
        if subscription.flags.contains(.possible) {
            reach += here.pointee.accuracy + there.pointee.accuracy
        } else if subscription.flags.contains(.likely) {
            return likelyStanding(subscription, publication, exitMargin: 0) == .inside
        } else if subscription.flags.contains(.certain) {
            reach -= here.pointee.accuracy + there.pointee.accuracy
        }
        return isWithin(reach, here.pointee.point, there.pointee.point)
    }

    /// Whether the topics are the same, be the subscription's the one for accuracy-aware ones.
    @inline(__always)
    func haveEqualTopics(_ subscription: Subscription, _ publication: Publication) -> Bool {
        subscription.topic == publication.topic
            || subscription.isAccuracyAware && topics.counterpart(subscription.topic) == publication.topic
    }

    /// Evaluates an entry with all accuracy-aware subscriptions, or as one, that it is in range of now.
    ///
    /// The parameters are those of ``resolve(_:_:at:sparesSelf:sparesKnown:)``.
    @inline(__always)
    mutating func probeAccuracyAware(_ side: Side, _ index: UInt32, at now: Int64, sparesSelf: Bool, sparesKnown: Bool) {
        let entry = entry(side, index)
        guard side == .publication || entry.pointee.isAccuracyAware else { return }
        let counterpart = topics.counterpart(entry.pointee.topic)
        guard counterpart != none else { return }
        searchAccuracyAware(side, index, in: counterpart, at: now, sparesSelf: sparesSelf, sparesKnown: sparesKnown)
    }

    @inline(never)
    private mutating func searchAccuracyAware(
        _ side: Side, _ index: UInt32, in topic: UInt32, at now: Int64, sparesSelf: Bool, sparesKnown: Bool
    ) {
        findAccuracyAware(side, index, in: topic)
        resolve(side, index, at: now, sparesSelf: sparesSelf, sparesKnown: sparesKnown)
    }

    /// Fills `hits` with what is in range of an entry in a topic other than its own.
    mutating func findAccuracyAware(_ side: Side, _ index: UInt32, in topic: UInt32) {
        let entry = entry(side, index).pointee
        let device = devices[entry.device]
        let isWide = side == .publication ? topics.isWide(topic) : entry.flags.contains(.possible)
        // A little more than both accuracies, for single precision at a thousand kilometres.
        let widening = isWide ? (device.accuracy + accuracies.bound) * 1.001 : 0
        let range = entry.range &+ Int32(widening * GridPoint.unitsPerMetre)
        let first = runs.count
        let count = gather(
            side, index, in: topic,
            Place(
                latitude: device.latitude, longitude: device.longitude, point: device.point, range: range, widening: widening))
        scan(first, count, Sweep(point: device.point, from: nil, range: range, travelled: 0), from: side)
        runs.truncate(to: first)
        var kept = 0
        for hit in 0..<hits.count {
            let other = hits[hit]
            let isInReach =
                side == .publication
                ? isInReach(subscriptions[other], publications[index]) : isInReach(subscriptions[index], publications[other])
            guard isInReach else { continue }
            hits.replace(kept, with: other)
            kept += 1
        }
        hits.truncate(to: kept)
    }
}

extension Device {
    /// Metres a position's accuracy counts.
    var accuracy: Double { horizontalAccuracy > 0 ? min(horizontalAccuracy, AccuracyHistogram.widest) : 0 }
}

/// Whether two points are at most so many metres apart along the ellipsoid, right to 2 cm.
func isWithin(_ metres: Double, _ a: GridPoint, _ b: GridPoint) -> Bool {
    guard metres >= 0 else { return false }
    guard metres <= 20_000 else { return displacement(from: a, to: b) <= metres }
    let chord = Geodesic.chord(ofArc: metres) * GridPoint.unitsPerMetre
    return a.squaredChord(to: b) <= chord * chord
}
