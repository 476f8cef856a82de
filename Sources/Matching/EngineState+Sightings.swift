import Geodesy

// Matching by proximity: a beacon's publications and subscriptions meet those of the devices that see it, at the distance they see
// it at. Accuracies play no part; its floor is unknown.
extension EngineState {
    /// What is known of two devices that do not both have a position; nil: neither sees the other.
    @inline(__always)
    func sighting(_ subscription: Subscription, _ publication: Publication) -> Sightings.Sighting? {
        sightings[subscription.device, publication.device]
    }

    /// Whether there is a distance between the two.
    @inline(__always)
    func areLocated(_ subscription: Subscription, _ publication: Publication) -> Bool {
        devices[publication.device].isPlaced && devices[subscription.device].isPlaced
            || sighting(subscription, publication) != nil
    }

    /// Whether a device and a beacon it sees are in range, or within so many metres of it.
    func isInSightedReach(_ subscription: Subscription, _ publication: Publication, widenedBy margin: Double) -> Bool {
        guard !subscription.flags.contains(.sameFloor), let sighting = sighting(subscription, publication) else { return false }
        return sighting.distance <= Double(subscription.range &+ publication.range) / GridPoint.unitsPerMetre + margin
    }

    /// A device sees a beacon, at a distance: evaluates the objects of both.
    mutating func see(_ observer: UInt32, _ beacon: UInt32, _ sighting: Sightings.Sighting, at now: Int64) {
        sightings.put(sighting, observer, beacon)
        for side in [Side.publication, .subscription] {
            var entry = devices[beacon].first(side)
            while entry != none {
                evaluate(side, entry, withEntriesOf: observer, at: now, sparesKnown: false)
                entry = self.entry(side, entry).pointee.next
            }
        }
    }

    /// A device sees a beacon no longer; the visits between them end (`lost`).
    mutating func loseSighting(_ observer: UInt32, _ beacon: UInt32, at now: Int64) {
        for side in [Side.publication, .subscription] {
            var index = devices[beacon].first(side)
            while index != none {
                var other = devices[observer].first(side.opposite)
                while other != none {
                    let (subscription, publication) = side == .publication ? (other, index) : (index, other)
                    if subscriptions[subscription].isVisit, let pair = self.index.find(subscription, publication) {
                        end(pair, .lost, at: now)
                    }
                    other = entry(side.opposite, other).pointee.next
                }
                index = entry(side, index).pointee.next
            }
        }
        sightings.remove(observer, beacon)
    }

    /// Evaluates an entry with those of the devices that its own sees or is seen by.
    mutating func probeSightings(_ side: Side, _ index: UInt32, at now: Int64, sparesKnown: Bool) {
        guard !sightings.isEmpty else { return }
        for partner in sightings.partners(of: entry(side, index).pointee.device) {
            evaluate(side, index, withEntriesOf: partner, at: now, sparesKnown: sparesKnown)
        }
    }

    private mutating func evaluate(
        _ side: Side, _ index: UInt32, withEntriesOf device: UInt32, at now: Int64, sparesKnown: Bool
    ) {
        guard now < entry(side, index).pointee.expiresAt else { return }
        var other = devices[device].first(side.opposite)
        while other != none {
            let next = entry(side.opposite, other).pointee.next
            if side == .publication {
                evaluateSighted(other, index, at: now, sparesKnown: sparesKnown)
            } else {
                evaluateSighted(index, other, at: now, sparesKnown: sparesKnown)
            }
            other = next
        }
    }

    private mutating func evaluateSighted(_ subscription: UInt32, _ publication: UInt32, at now: Int64, sparesKnown: Bool) {
        let record = subscriptions[subscription]
        let other = publications[publication]
        guard now < record.expiresAt, now < other.expiresAt, haveEqualTopics(record, other) else { return }
        if let pair = index.find(subscription, publication) {
            if sparesKnown { return }
            if record.isVisit { attend(pair, at: now) } else { reconsider(pair, at: now) }
        } else if isInSightedReach(record, other, widenedBy: 0) {
            if programs.evaluate(record.program, UnsafePointer(properties.base + Int(publication))) {
                meet(subscription, publication, at: now, sparesKnown: sparesKnown)
            } else if record.hintsLeft > 0 {
                doubts.append(UInt64(subscription) << 32 | UInt64(publication))
            }
        }
    }

    /// Evaluates the pairs of mode once of an entry with the devices that its own sees or is seen by, and that met before.
    mutating func reviewSightings(_ side: Side, _ index: UInt32, at now: Int64) {
        guard !sightings.isEmpty else { return }
        for partner in sightings.partners(of: entry(side, index).pointee.device) {
            var other = devices[partner].first(side.opposite)
            while other != none {
                let (subscription, publication) = side == .publication ? (other, index) : (index, other)
                if !subscriptions[subscription].isVisit, let pair = self.index.find(subscription, publication) {
                    reconsider(pair, at: now)
                }
                other = entry(side.opposite, other).pointee.next
            }
        }
    }
}

extension GridPoint {
    /// The point of a device without a position: no place on the earth is there.
    static let nowhere = GridPoint(x: 0, y: 0, z: 0)

    @inline(__always)
    var isNowhere: Bool { x == 0 && y == 0 && z == 0 }
}
