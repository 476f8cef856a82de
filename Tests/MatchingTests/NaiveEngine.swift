import Geodesy
import Matching
import Selectors

/// The engine's naive twin: the same inputs into plain loops over everything. It is told the references the engine gave out.
///
/// It has its own notion of distance (geodesics in double precision). Where the engine's decision may rightly differ, within
/// 2 cm of a boundary, it says so (``isAmbiguous(_:at:)``), and the run takes another position.
final class NaiveEngine {
    struct Publication {
        var device: DeviceRef
        var topic: String
        var range: Double
        var expiresAt: Int64
        var properties: Properties
    }

    struct Subscription {
        var device: DeviceRef
        var topic: String
        var range: Double
        var expiresAt: Int64
        var selector: Selector
        var matchTTL: Int64
        var matchDTL: Double
        var excludeSelf: Bool
        var hintsLeft = 8
    }

    struct PairKey: Hashable, Comparable {
        var subscription: UInt32
        var publication: UInt32

        static func < (a: PairKey, b: PairKey) -> Bool { (a.subscription, a.publication) < (b.subscription, b.publication) }
    }

    var positions: [DeviceRef: Position?] = [:]
    var publications: [UInt32: Publication] = [:]
    var subscriptions: [UInt32: Subscription] = [:]
    var last: [PairKey: Suppression] = [:]

    // MARK: Rules

    func distance(_ a: Position, _ b: Position) -> Double {
        Geodesic.distance(
            fromLatitude: a.latitude, fromLongitude: a.longitude, toLatitude: b.latitude, toLongitude: b.longitude)
    }

    func sides(_ key: PairKey) -> (p: Publication, s: Subscription, here: Position, there: Position)? {
        guard let p = publications[key.publication], let s = subscriptions[key.subscription],
            let here = positions[p.device] ?? nil, let there = positions[s.device] ?? nil
        else { return nil }
        return (p, s, here, there)
    }

    func isInRange(_ key: PairKey, at now: Int64) -> Bool {
        guard let (p, s, here, there) = sides(key) else { return false }
        guard p.topic == s.topic, now < p.expiresAt, now < s.expiresAt else { return false }
        if p.device == s.device && s.excludeSelf { return false }
        return distance(here, there) <= p.range + s.range
    }

    /// Pairs in range, evaluated where `isWanted` says so.
    private func evaluate(_ keys: [PairKey], at now: Int64, hinting: Bool) -> [Effect] {
        var met: [Effect] = []
        var mismatches: [Effect] = []
        for key in keys.sorted() where isInRange(key, at: now) {
            let (p, s, here, there) = sides(key)!
            guard s.selector.matches(p.properties) else {
                guard hinting, last[key] == nil, s.hintsLeft > 0 else { continue }
                subscriptions[key.subscription]!.hintsLeft -= 1
                let hints = s.selector.mismatches(in: p.properties)
                guard !hints.isEmpty else { continue }
                subscriptions[key.subscription]!.hintsLeft = 0
                mismatches.append(.mismatch(SubscriptionRef(index: key.subscription), hints))
                continue
            }
            if let before = last[key] {
                let elapsed = s.matchTTL != .max && now - before.lastMatchAt >= s.matchTTL
                let moved =
                    distance(here, before.publicationPosition) >= s.matchDTL
                    || distance(there, before.subscriptionPosition) >= s.matchDTL
                guard elapsed || moved else { continue }
            }
            last[key] = Suppression(lastMatchAt: now, publicationPosition: here, subscriptionPosition: there)
            met.append(
                .met(
                    Meeting(
                        publication: PublicationRef(index: key.publication),
                        subscription: SubscriptionRef(index: key.subscription), distance: distance(here, there),
                        publicationPosition: here, subscriptionPosition: there, at: now)))
        }
        return met + mismatches
    }

    private func keys(_ isWanted: (PairKey, Publication, Subscription) -> Bool) -> [PairKey] {
        var found: [PairKey] = []
        for (p, publication) in publications {
            for (s, subscription) in subscriptions where publication.topic == subscription.topic {
                let key = PairKey(subscription: s, publication: p)
                if isWanted(key, publication, subscription) { found.append(key) }
            }
        }
        return found
    }

    // MARK: Inputs

    func move(_ device: DeviceRef, to position: Position?, at now: Int64) -> [Effect] {
        let concerned = keys { $1.device == device || $2.device == device }
        let before = Set(concerned.filter { isInRange($0, at: .min) })
        positions[device] = .some(position)
        guard position != nil else { return [] }
        // A pair that was in range and never met was evaluated then: its selector can only change with an update.
        let known = concerned.filter { last[$0] != nil || !before.contains($0) }
        return evaluate(known, at: now, hinting: true)
    }

    func add(_ ref: PublicationRef, _ publication: Publication, at now: Int64) -> [Effect] {
        publications[ref.index] = publication
        return evaluate(keys { key, _, _ in key.publication == ref.index }, at: now, hinting: true)
    }

    func add(_ ref: SubscriptionRef, _ subscription: Subscription, at now: Int64) -> [Effect] {
        subscriptions[ref.index] = subscription
        return evaluate(keys { key, _, _ in key.subscription == ref.index }, at: now, hinting: true)
    }

    func remove(_ ref: PublicationRef) {
        publications[ref.index] = nil
        last = last.filter { $0.key.publication != ref.index }
    }

    func remove(_ ref: SubscriptionRef) {
        subscriptions[ref.index] = nil
        last = last.filter { $0.key.subscription != ref.index }
    }

    func remove(_ device: DeviceRef) -> (publications: [PublicationRef], subscriptions: [SubscriptionRef]) {
        let p = publications.filter { $0.value.device == device }.map { PublicationRef(index: $0.key) }
        let s = subscriptions.filter { $0.value.device == device }.map { SubscriptionRef(index: $0.key) }
        p.forEach(remove)
        s.forEach(remove)
        positions[device] = nil
        return (p.sorted { $0.index < $1.index }, s.sorted { $0.index < $1.index })
    }

    func advance(to now: Int64) -> [Effect] {
        let p = publications.filter { $0.value.expiresAt <= now }.map { (at: $0.value.expiresAt, kind: 0, index: $0.key) }
        let s = subscriptions.filter { $0.value.expiresAt <= now }.map { (at: $0.value.expiresAt, kind: 1, index: $0.key) }
        let expired = (p + s).sorted { $0 < $1 }
        var effects: [Effect] = []
        for (_, kind, index) in expired {
            if kind == 0 {
                effects.append(.publicationExpired(PublicationRef(index: index)))
                remove(PublicationRef(index: index))
            } else {
                effects.append(.subscriptionExpired(SubscriptionRef(index: index)))
                remove(SubscriptionRef(index: index))
            }
        }
        let due = last.filter { key, before in
            guard let s = subscriptions[key.subscription], s.matchTTL != .max, s.matchTTL > 0 else { return false }
            return now - before.lastMatchAt >= s.matchTTL
        }
        return effects + evaluate(Array(due.keys), at: now, hinting: false)
    }

    /// The next instant at which a life ends or a TTL elapses that could matter; nil: none.
    func nextExpiry() -> Int64? {
        (publications.values.map(\.expiresAt) + subscriptions.values.map(\.expiresAt)).filter { $0 != .max }.min()
    }

    // MARK: Boundaries

    /// Whether a device at this position would stand within 2 cm of a boundary that decides something.
    func isAmbiguous(_ device: DeviceRef, at position: Position) -> Bool {
        func near(_ other: DeviceRef, _ ranges: Double) -> Bool {
            guard other != device, let there = positions[other] ?? nil else { return false }
            return abs(distance(position, there) - ranges) < 0.02
        }
        for p in publications.values where p.device == device {
            if subscriptions.values.contains(where: { $0.topic == p.topic && near($0.device, p.range + $0.range) }) {
                return true
            }
        }
        for s in subscriptions.values where s.device == device {
            if publications.values.contains(where: { $0.topic == s.topic && near($0.device, s.range + $0.range) }) { return true }
        }
        for (key, before) in last {
            guard let p = publications[key.publication], let s = subscriptions[key.subscription] else { continue }
            if p.device == device && abs(distance(position, before.publicationPosition) - s.matchDTL) < 0.02 { return true }
            if s.device == device && abs(distance(position, before.subscriptionPosition) - s.matchDTL) < 0.02 { return true }
        }
        return false
    }

    /// Whether an entry of this range, topic and distance to live would be within 2 cm of such a boundary.
    func isAmbiguous(_ device: DeviceRef, range: Double, topic: String, dtl: Double?, subscription: UInt32? = nil) -> Bool {
        guard let here = positions[device] ?? nil else { return false }
        func near(_ other: DeviceRef, _ otherRange: Double) -> Bool {
            guard other != device, let there = positions[other] ?? nil else { return false }
            return abs(distance(here, there) - range - otherRange) < 0.02
        }
        if let dtl {
            if publications.values.contains(where: { $0.topic == topic && near($0.device, $0.range) }) { return true }
            guard let subscription else { return false }
            return last.contains { key, before in
                guard key.subscription == subscription, let p = publications[key.publication],
                    let there = positions[p.device] ?? nil
                else { return false }
                return abs(distance(here, before.subscriptionPosition) - dtl) < 0.02
                    || abs(distance(there, before.publicationPosition) - dtl) < 0.02
            }
        }
        return subscriptions.values.contains { $0.topic == topic && near($0.device, $0.range) }
    }
}
