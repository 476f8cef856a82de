import Geodesy

// Publications and subscriptions of mode once remember whom they ever met, wherever that was. What of it a movement can change is
// what lies in range, and that is found faster by looking around than by going through a long memory.
//
// Pairs of visits are forgotten on leaving, so there are never many more than lie in range. In a publication's list they come
// first.
extension EngineState {
    /// So many remembered pairs are gone through one by one.
    static let fewOncePairs = 16

    /// Pairs of mode once that an entry remembers.
    func oncePairs(_ side: Side, _ entry: UInt32) -> Int {
        if side == .publication { return publications[entry].oncePairs }
        return subscriptions[entry].isVisit ? 0 : Int(partners[entry])
    }

    /// Evaluates the pairs of mode once of an entry that met before and are in range.
    mutating func reviewNearby(_ side: Side, _ index: UInt32, at now: Int64) {
        reviewSightings(side, index, at: now)
        let entry = entry(side, index).pointee
        guard entry.lane != none else { return }
        let arrivals = tally.arrivals
        let device = devices[entry.device]
        let first = runs.count
        let count = gather(
            side, index, latitude: device.latitude, longitude: device.longitude, point: device.point, from: nil)
        scan(first, count, Sweep(point: device.point, from: nil, range: entry.range, travelled: 0), from: side)
        runs.truncate(to: first)
        reconsiderHits(side, index, at: now)
        if side == .publication || entry.isAccuracyAware {
            let counterpart = topics.counterpart(entry.topic)
            if counterpart != none {
                findAccuracyAware(side, index, in: counterpart)
                reconsiderHits(side, index, at: now)
            }
        }
        // What was in range before did not come into it.
        tally.arrivals = arrivals
    }

    private mutating func reconsiderHits(_ side: Side, _ index: UInt32, at now: Int64) {
        let device = entry(side, index).pointee.device
        for hit in 0..<hits.count {
            let other = hits[hit]
            // A device's pair with itself is the publication's to look at.
            if side == .subscription && publications[other].device == device { continue }
            let (subscription, publication) = side == .publication ? (other, index) : (index, other)
            guard !subscriptions[subscription].isVisit, let pair = self.index.find(subscription, publication) else { continue }
            reconsider(pair, at: now)
        }
    }

    // MARK: A publication's list

    /// Puts a new pair into its publication's list: one of a visit at its head, one of mode once behind all of those.
    mutating func enlist(_ pair: UInt32, of publication: UInt32) {
        let entry = publications.base + Int(publication)
        let isVisit = subscriptions[index.pairs[pair].subscription].isVisit
        var previous = none
        var next = entry.pointee.firstPair
        if !isVisit {
            let boundary = entry.pointee.firstOncePair
            if boundary != none {
                (previous, next) = (index.pairs[boundary].previousOfPublication, boundary)
            } else {
                while next != none { (previous, next) = (next, index.pairs[next].nextOfPublication) }
            }
            entry.pointee.firstOncePair = pair
            entry.pointee.oncePairs += 1
        }
        index.pairs[pair].previousOfPublication = previous
        index.pairs[pair].nextOfPublication = next
        if previous == none { entry.pointee.firstPair = pair } else { index.pairs[previous].nextOfPublication = pair }
        if next != none { index.pairs[next].previousOfPublication = pair }
    }

    mutating func delist(_ pair: UInt32, of publication: UInt32) {
        let entry = publications.base + Int(publication)
        let record = index.pairs[pair]
        if !subscriptions[record.subscription].isVisit {
            entry.pointee.oncePairs -= 1
            if entry.pointee.firstOncePair == pair { entry.pointee.firstOncePair = record.nextOfPublication }
        }
        if record.previousOfPublication == none {
            entry.pointee.firstPair = record.nextOfPublication
        } else {
            index.pairs[record.previousOfPublication].nextOfPublication = record.nextOfPublication
        }
        if record.nextOfPublication != none {
            index.pairs[record.nextOfPublication].previousOfPublication = record.previousOfPublication
        }
    }
}
