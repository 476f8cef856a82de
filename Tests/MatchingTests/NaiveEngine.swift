import Geodesy
import Matching
import Selectors

/// The engine's naive twin: the same inputs into plain loops over everything. It is given the references of the engine.
///
/// It has its own notion of distance (geodesics in double precision). Where the engine's decision may rightly differ, within
/// 2 cm of a boundary, it says so (``isAmbiguous(_:at:)``), and the run takes another position. What it remembers is brought up
/// to date after every input, all of it.
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
        var options: MatchOptions
        var hintsLeft = 8

        var isVisit: Bool { options.mode == .visit }
        var isAccuracyAware: Bool { options.accuracy != .centre || options.sameFloor }
    }

    struct PairKey: Hashable, Comparable {
        var subscription: UInt32
        var publication: UInt32

        static func < (a: PairKey, b: PairKey) -> Bool { (a.subscription, a.publication) < (b.subscription, b.publication) }
    }

    /// A pair of mode visit: in range, or on a visit and within its margin.
    struct Stay: Equatable {
        enum Phase { case silent, staying, visiting }

        var phase: Phase
        var since: Int64
        /// Of accuracy likely: the first of the fixes that are all outside.
        var outsideSince: Int64?
    }

    let limits: EngineLimits
    var positions: [DeviceRef: Position?] = [:]
    var floors: [DeviceRef: UInt32] = [:]
    var heard: [DeviceRef: Int64] = [:]
    var fixedAt: [DeviceRef: Int64] = [:]
    /// Which beacons devices see, and how far those are.
    var sightings: [Set<DeviceRef>: BeaconSighting] = [:]
    /// Placed by a restart and not moved since.
    var unexamined: Set<DeviceRef> = []
    var publications: [UInt32: Publication] = [:]
    var subscriptions: [UInt32: Subscription] = [:]
    var last: [PairKey: Suppression] = [:]
    var stays: [PairKey: Stay] = [:]

    init(limits: EngineLimits) { self.limits = limits }

    var pairCount: Int { last.count + stays.count }

    // MARK: Rules

    func distance(_ a: Position, _ b: Position) -> Double {
        Geodesic.distance(
            fromLatitude: a.latitude, fromLongitude: a.longitude, toLatitude: b.latitude, toLongitude: b.longitude)
    }

    /// The distance as the subscription's options see it.
    func distance(_ a: Position, _ b: Position, _ options: MatchOptions) -> Double {
        let accuracies = (a.horizontalAccuracy ?? 0) + (b.horizontalAccuracy ?? 0)
        return switch options.accuracy {
        case .centre: distance(a, b)
        case .possible: distance(a, b) - accuracies
        case .certain: distance(a, b) + accuracies
        case .likely: distance(a, b)
        }
    }

    /// nil where nothing is known of how far they are from each other.
    func sides(_ key: PairKey) -> (p: Publication, s: Subscription, here: Position?, there: Position?)? {
        guard let p = publications[key.publication], let s = subscriptions[key.subscription] else { return nil }
        let (here, there) = (positions[p.device] ?? nil, positions[s.device] ?? nil)
        guard here != nil && there != nil || sighting(p, s) != nil else { return nil }
        return (p, s, here, there)
    }

    func sighting(_ p: Publication, _ s: Subscription) -> BeaconSighting? { sightings[[p.device, s.device]] }

    /// Metres from where a side stood; 0 where it stood, or stands, nowhere.
    func moved(_ from: Position?, _ to: Position?) -> Double {
        guard let from, let to else { return 0 }
        return distance(from, to)
    }

    func isInReach(_ key: PairKey, margin: Double = 0) -> Bool {
        guard let (p, s, here, there) = sides(key) else { return false }
        guard let here, let there else {
            guard let sighting = sighting(p, s) else { return false }
            return !s.options.sameFloor && sighting.distance <= p.range + s.range + margin
        }
        if s.options.sameFloor {
            guard let floor = floors[p.device], floor != 0, floor == floors[s.device] else { return false }
        }
        if s.options.accuracy == .likely { return likely(here, there, p.range + s.range, s.options) == .inside }
        return distance(here, there, s.options) <= p.range + s.range + margin
    }

    enum Likely { case inside, between, outside, unusable }

    /// What two fixes say where the accuracy is likely, floors aside.
    func likely(_ here: Position, _ there: Position, _ reach: Double, _ options: MatchOptions) -> Likely {
        let accuracy = likelyAccuracy(here, there)
        if accuracy > 100, accuracy > reach / 2 { return .unusable }
        let distance = distance(here, there)
        if distance <= reach - min(accuracy / 2, reach / 2) { return .inside }
        return distance <= reach + max(options.exitMargin, accuracy) ? .between : .outside
    }

    func likelyAccuracy(_ here: Position, _ there: Position) -> Double {
        let squares = [here, there].map { max(0, $0.horizontalAccuracy ?? 0) }.map { $0 * $0 }
        return (squares[0] + squares[1]).squareRoot()
    }

    /// How far the side that lags more lay behind with its last fix.
    private func lag(_ p: Publication, _ s: Subscription) -> Int64 {
        [p.device, s.device].map { max(0, (heard[$0] ?? 0) - (fixedAt[$0] ?? heard[$0] ?? 0)) }.max()!
    }

    /// As of when the pair is known.
    private func known(_ p: Publication, _ s: Subscription, at now: Int64) -> Int64 {
        let last = [p.device, s.device].compactMap { fixedAt[$0] == nil ? nil : heard[$0] }.max()
        return min(now, (last ?? now) - (last == nil ? 0 : lag(p, s)))
    }

    /// Brings a pair with accuracy likely up to date.
    private func attendLikely(
        _ key: PairKey, _ p: Publication, _ s: Subscription, _ places: (Position, Position), isSilent: Bool, isUpdated: Bool,
        at now: Int64, into outcome: inout Outcome
    ) {
        var stay = stays[key]!
        if isUpdated { stay.outsideSince = nil }
        let instant = known(p, s, at: now)
        let lag = lag(p, s)
        let isOnFloor = !s.options.sameFloor || (floors[p.device] ?? 0) != 0 && floors[p.device] == floors[s.device]
        let standing = likely(places.0, places.1, p.range + s.range, s.options)
        if stay.phase == .visiting && isSilent {
            end(key, .lost, at: now, into: &outcome)
            stay.phase = .silent
        }
        if !isOnFloor || (isSilent || stay.phase == .silent) && standing != .inside {
            if stay.phase == .visiting { end(key, .left, at: now, into: &outcome) }
            stays[key] = nil
            return
        }
        if standing == .outside {
            stay.outsideSince = stay.outsideSince ?? instant
            if isUpdated || instant - stay.outsideSince! >= 60_000 {
                if stay.phase == .visiting { end(key, .left, at: now, into: &outcome) }
                stays[key] = nil
                return
            }
        } else if standing != .unusable {
            stay.outsideSince = nil
        }
        if stay.phase != .visiting {
            if isSilent {
                stay.phase = .silent
            } else {
                if stay.phase == .silent { (stay.phase, stay.since) = (.staying, instant) }
                let due = stay.since + s.options.dwell
                if stay.outsideSince == nil, instant >= due || now >= due + lag {
                    (stay.phase, stay.since) = (.visiting, now)
                    outcome.meetings.append((key, .visitBegan(meeting(key, at: now))))
                }
            }
        }
        stays[key] = stay
    }

    func isInRange(_ key: PairKey, at now: Int64) -> Bool {
        guard let p = publications[key.publication], let s = subscriptions[key.subscription] else { return false }
        guard p.topic == s.topic, now < p.expiresAt, now < s.expiresAt else { return false }
        if p.device == s.device && s.options.excludesSelf { return false }
        return isInReach(key)
    }

    func silentFrom(_ key: PairKey) -> Int64 {
        guard let p = publications[key.publication], let s = subscriptions[key.subscription], s.options.staleAfter != .max else {
            return .max
        }
        if let sighting = sighting(p, s) { return sighting.seenAt + s.options.staleAfter }
        return min(heard[p.device] ?? .min, heard[s.device] ?? .min) + s.options.staleAfter
    }

    // MARK: Effects of one input

    private struct Outcome {
        /// As they were before.
        var stays: [PairKey: Stay]
        var ends: [(key: PairKey, end: VisitEnd)] = []
        var meetings: [(key: PairKey, effect: Effect)] = []
        var exceeded: [UInt32: CapacityExceeded] = [:]
        var mismatches: [Effect] = []

        init(_ stays: [PairKey: Stay]) { self.stays = stays }

        /// - Parameter now: The stays by now.
        func effects(_ now: [PairKey: Stay]) -> [Effect] {
            let keys = Set(stays.keys).union(now.keys).sorted()
            return ends.sorted { $0.key < $1.key }.map { .visitEnded($0.end) }
                + keys.compactMap { stay($0, stays[$0], now[$0]) }
                + meetings.sorted { $0.key < $1.key }.map(\.effect)
                + exceeded.sorted { $0.key < $1.key }.map { .capacityExceeded($0.value) } + mismatches
        }

        /// What an input made of a pair's stay, as far as a visit does not say it.
        private func stay(_ key: PairKey, _ before: Stay?, _ now: Stay?) -> Effect? {
            let (was, stays) = (before?.phase == .staying, now?.phase == .staying)
            guard was != stays, now?.phase != .visiting else { return nil }
            return .stay(
                PairStay(
                    publication: PublicationRef(index: key.publication), subscription: SubscriptionRef(index: key.subscription),
                    since: stays ? now?.since : nil))
        }
    }

    private func meeting(_ key: PairKey, at now: Int64) -> Meeting {
        let (p, s, here, there) = sides(key)!
        return Meeting(
            publication: PublicationRef(index: key.publication), subscription: SubscriptionRef(index: key.subscription),
            distance: distance(p, s) ?? 0, publicationPosition: here, subscriptionPosition: there, at: now)
    }

    private func distance(_ p: Publication, _ s: Subscription) -> Double? {
        if let here = positions[p.device] ?? nil, let there = positions[s.device] ?? nil { return distance(here, there) }
        return sighting(p, s).flatMap { $0.distance.isFinite ? $0.distance : nil }
    }

    private func end(_ key: PairKey, _ reason: VisitEnd.Reason, at now: Int64, into outcome: inout Outcome) {
        let here = positions[publications[key.publication]!.device] ?? nil
        let there = positions[subscriptions[key.subscription]!.device] ?? nil
        outcome.ends.append(
            (
                key,
                VisitEnd(
                    publication: PublicationRef(index: key.publication), subscription: SubscriptionRef(index: key.subscription),
                    reason: reason, distance: distance(publications[key.publication]!, subscriptions[key.subscription]!),
                    publicationPosition: here, subscriptionPosition: there, at: now)
            ))
    }

    /// Brings every pair of mode visit up to date.
    private func attend(at now: Int64, into outcome: inout Outcome) {
        for key in stays.keys.sorted() { attend(key, at: now, into: &outcome) }
    }

    private func attend(_ key: PairKey, isUpdated: Bool = false, at now: Int64, into outcome: inout Outcome) {
        let stay = stays[key]!
        let p = publications[key.publication]!
        let s = subscriptions[key.subscription]!
        let isSilent = now >= silentFrom(key)
        let mayBe =
            p.topic == s.topic && s.selector.matches(p.properties) && !(p.device == s.device && s.options.excludesSelf)
        guard mayBe else {
            if stay.phase == .visiting { end(key, .left, at: now, into: &outcome) }
            stays[key] = nil
            return
        }
        guard sides(key) != nil else {
            // Only after a restart.
            if isSilent {
                if stay.phase == .visiting { end(key, .lost, at: now, into: &outcome) }
                stays[key] = nil
            }
            return
        }
        if s.options.accuracy == .likely, let here = positions[p.device] ?? nil, let there = positions[s.device] ?? nil {
            return attendLikely(
                key, p, s, (here, there), isSilent: isSilent, isUpdated: isUpdated, at: now, into: &outcome)
        }
        stays[key]?.outsideSince = nil
        if stay.phase == .visiting {
            if isSilent {
                end(key, .lost, at: now, into: &outcome)
                stays[key] = isInReach(key) ? Stay(phase: .silent, since: now) : nil
            } else if !isInReach(key, margin: s.options.exitMargin) {
                end(key, .left, at: now, into: &outcome)
                stays[key] = nil
            }
        } else if !isInReach(key) {
            stays[key] = nil
        } else if isSilent {
            stays[key] = Stay(phase: .silent, since: now)
        } else {
            if stay.phase == .silent { stays[key] = Stay(phase: .staying, since: now) }
            guard now - stays[key]!.since >= s.options.dwell else { return }
            stays[key] = Stay(phase: .visiting, since: now)
            outcome.meetings.append((key, .visitBegan(meeting(key, at: now))))
        }
    }

    /// Evaluates pairs that are in range; first what is remembered of any visit.
    private func evaluate(
        _ keys: [PairKey], at now: Int64, hinting: Bool, sparesKnown: Bool = false, attending: Bool = true,
        _ outcome: inout Outcome
    ) {
        if attending { attend(at: now, into: &outcome) }
        for key in keys.sorted() where isInRange(key, at: now) {
            let (p, s, here, there) = sides(key)!
            let isKnown = last[key] != nil || stays[key] != nil
            guard s.selector.matches(p.properties) else {
                if hinting && !isKnown { hint(key, &outcome) }
                continue
            }
            if isKnown && (s.isVisit || sparesKnown) { continue }
            if let before = last[key] {
                let elapsed = s.options.matchTTL != .max && now - before.lastMatchAt >= s.options.matchTTL
                let moved =
                    moved(before.publicationPosition, here) >= s.options.matchDTL
                    || moved(before.subscriptionPosition, there) >= s.options.matchDTL
                guard elapsed || moved else { continue }
            } else if partners(of: key.subscription) >= limits.partnersPerSubscription || pairCount >= limits.pairs {
                let subscription = SubscriptionRef(index: key.subscription)
                outcome.exceeded[key.subscription, default: CapacityExceeded(subscription: subscription, missed: 0, at: now)]
                    .missed += 1
                continue
            }
            if s.isVisit {
                stays[key] = Stay(phase: .silent, since: now)
                attend(key, at: now, into: &outcome)
            } else {
                last[key] = Suppression(lastMatchAt: now, publicationPosition: here, subscriptionPosition: there)
                outcome.meetings.append((key, .met(meeting(key, at: now))))
            }
        }
    }

    private func partners(of subscription: UInt32) -> Int {
        last.keys.count { $0.subscription == subscription } + stays.keys.count { $0.subscription == subscription }
    }

    private func hint(_ key: PairKey, _ outcome: inout Outcome) {
        guard let p = publications[key.publication], let s = subscriptions[key.subscription], s.hintsLeft > 0 else { return }
        subscriptions[key.subscription]!.hintsLeft -= 1
        let hints = s.selector.mismatches(in: p.properties)
        guard !hints.isEmpty else { return }
        subscriptions[key.subscription]!.hintsLeft = 0
        outcome.mismatches.append(.mismatch(SubscriptionRef(index: key.subscription), hints))
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

    func move(_ device: DeviceRef, to position: Position?, floor: UInt32 = 0, fixedAt fix: Int64? = nil, at now: Int64)
        -> [Effect]
    {
        var outcome = Outcome(stays)
        let concerned = keys { $1.device == device || $2.device == device }
        let before = unexamined.remove(device) == nil ? Set(concerned.filter { isInRange($0, at: .min) }) : []
        guard position != nil else {
            for (key, stay) in stays
            where publications[key.publication]!.device == device || subscriptions[key.subscription]!.device == device {
                if sighting(publications[key.publication]!, subscriptions[key.subscription]!) != nil { continue }
                if stay.phase == .visiting { end(key, .lost, at: now, into: &outcome) }
                stays[key] = nil
            }
            positions[device] = .some(nil)
            return outcome.effects(stays)
        }
        positions[device] = .some(position)
        floors[device] = floor
        heard[device] = now
        fixedAt[device] = fix ?? now
        // A pair that was in range and never met was evaluated then: its selector can only change with an update.
        // And a beacon is met by a sighting: where the other stands can only let them meet again.
        let known = concerned.filter {
            last[$0] != nil
                || sighting(publications[$0.publication]!, subscriptions[$0.subscription]!) == nil
                    && (!before.contains($0) || subscriptions[$0.subscription]!.isAccuracyAware)
        }
        evaluate(known, at: now, hinting: true, &outcome)
        return outcome.effects(stays)
    }

    func see(_ beacon: DeviceRef, by observer: DeviceRef, _ sighting: BeaconSighting, at now: Int64) -> [Effect] {
        var outcome = Outcome(stays)
        sightings[[beacon, observer]] = sighting
        evaluate(keys { Set([$1.device, $2.device]) == [beacon, observer] }, at: now, hinting: true, &outcome)
        return outcome.effects(stays)
    }

    func loseSighting(of beacon: DeviceRef, by observer: DeviceRef, at now: Int64) -> [Effect] {
        var outcome = Outcome(stays)
        for (key, stay) in stays
        where Set([publications[key.publication]!.device, subscriptions[key.subscription]!.device]) == [beacon, observer] {
            if stay.phase == .visiting { end(key, .lost, at: now, into: &outcome) }
            stays[key] = nil
        }
        sightings[[beacon, observer]] = nil
        return outcome.effects(stays)
    }

    func add(_ ref: PublicationRef, _ publication: Publication, at now: Int64) -> [Effect] {
        var outcome = Outcome(stays)
        publications[ref.index] = publication
        for key in stays.keys.sorted() where key.publication == ref.index {
            attend(key, isUpdated: true, at: now, into: &outcome)
        }
        evaluate(keys { key, _, _ in key.publication == ref.index }, at: now, hinting: true, &outcome)
        return outcome.effects(stays)
    }

    func add(_ ref: SubscriptionRef, _ subscription: Subscription, at now: Int64) -> [Effect] {
        var outcome = Outcome(stays)
        if let former = subscriptions[ref.index], former.isVisit != subscription.isVisit {
            for (key, stay) in stays where key.subscription == ref.index {
                if stay.phase == .visiting { end(key, .left, at: now, into: &outcome) }
                stays[key] = nil
            }
            last = last.filter { $0.key.subscription != ref.index }
        }
        subscriptions[ref.index] = subscription
        for key in stays.keys.sorted() where key.subscription == ref.index {
            attend(key, isUpdated: true, at: now, into: &outcome)
        }
        evaluate(keys { key, _, _ in key.subscription == ref.index }, at: now, hinting: true, &outcome)
        return outcome.effects(stays)
    }

    func remove(_ ref: PublicationRef, _ reason: VisitEnd.Reason = .deleted, at now: Int64) -> [Effect] {
        defer { publications[ref.index] = nil }
        return forget(reason, at: now) { $0.publication == ref.index }
    }

    func remove(_ ref: SubscriptionRef, _ reason: VisitEnd.Reason = .deleted, at now: Int64) -> [Effect] {
        defer { subscriptions[ref.index] = nil }
        return forget(reason, at: now) { $0.subscription == ref.index }
    }

    private func forget(_ reason: VisitEnd.Reason, at now: Int64, _ isConcerned: (PairKey) -> Bool) -> [Effect] {
        var outcome = Outcome(stays)
        for (key, stay) in stays where isConcerned(key) {
            if stay.phase == .visiting { end(key, reason, at: now, into: &outcome) }
            stays[key] = nil
        }
        last = last.filter { !isConcerned($0.key) }
        // What goes with a side is not said.
        return outcome.effects(outcome.stays)
    }

    struct Removal {
        var publications: [PublicationRef]
        var subscriptions: [SubscriptionRef]
        var effects: [Effect]
    }

    func remove(_ device: DeviceRef, at now: Int64) -> Removal {
        let p = publications.filter { $0.value.device == device }.map { PublicationRef(index: $0.key) }
        let s = subscriptions.filter { $0.value.device == device }.map { SubscriptionRef(index: $0.key) }
        let effects = forget(.deleted, at: now) { key in
            p.contains { $0.index == key.publication } || s.contains { $0.index == key.subscription }
        }
        p.forEach { publications[$0.index] = nil }
        s.forEach { subscriptions[$0.index] = nil }
        positions[device] = nil
        floors[device] = nil
        heard[device] = nil
        fixedAt[device] = nil
        unexamined.remove(device)
        sightings = sightings.filter { !$0.key.contains(device) }
        return Removal(
            publications: p.sorted { $0.index < $1.index }, subscriptions: s.sorted { $0.index < $1.index }, effects: effects)
    }

    func advance(to now: Int64) -> [Effect] {
        let p = publications.filter { $0.value.expiresAt <= now }.map { (at: $0.value.expiresAt, kind: 0, index: $0.key) }
        let s = subscriptions.filter { $0.value.expiresAt <= now }.map { (at: $0.value.expiresAt, kind: 1, index: $0.key) }
        let expired = (p + s).sorted { $0 < $1 }
        var effects: [Effect] = []
        for (_, kind, index) in expired {
            if kind == 0 {
                effects += remove(PublicationRef(index: index), .expired, at: now)
                effects.append(.publicationExpired(PublicationRef(index: index)))
            } else {
                effects += remove(SubscriptionRef(index: index), .expired, at: now)
                effects.append(.subscriptionExpired(SubscriptionRef(index: index)))
            }
        }
        let due = last.filter { key, before in
            guard let s = subscriptions[key.subscription], s.options.matchTTL != .max, s.options.matchTTL > 0 else {
                return false
            }
            return now - before.lastMatchAt >= s.options.matchTTL
        }
        var outcome = Outcome(stays)
        evaluate(Array(due.keys), at: now, hinting: false, &outcome)
        return effects + outcome.effects(stays)
    }

    /// After everything was restored: whatever is in range of a visit's subscription and has none.
    func resume(at now: Int64) -> [Effect] {
        var outcome = Outcome(stays)
        for key in stays.keys {
            stays[key]!.outsideSince = nil
            guard let (p, s, first, second) = sides(key), let here = first, let there = second, s.options.accuracy == .likely,
                likely(here, there, p.range + s.range, s.options) == .outside,
                !s.options.sameFloor || (floors[p.device] ?? 0) != 0 && floors[p.device] == floors[s.device]
            else { continue }
            stays[key]!.outsideSince = known(p, s, at: now)
        }
        evaluate(
            keys { $2.isVisit && stays[$0] == nil }, at: now, hinting: false, attending: false, &outcome)
        return outcome.effects(stays)
    }

    /// The next instant at which a life ends, or a stay or a silence is long enough; nil: none.
    func nextDeadline() -> Int64? {
        let lives = publications.values.map(\.expiresAt) + subscriptions.values.map(\.expiresAt)
        let pairs = stays.filter { $0.value.phase != .silent }.map { key, stay in
            let dwell = stay.phase == .staying && sides(key) != nil ? dwellsAt(key, stay) : .max
            return min(dwell, silentFrom(key))
        }
        return (lives + pairs).filter { $0 != .max }.min()
    }

    private func dwellsAt(_ key: PairKey, _ stay: Stay) -> Int64 {
        let s = subscriptions[key.subscription]!
        let p = publications[key.publication]!
        let due = stay.since + s.options.dwell
        guard s.options.accuracy == .likely, (positions[p.device] ?? nil) != nil, (positions[s.device] ?? nil) != nil else {
            return due
        }
        guard stay.outsideSince == nil else { return .max }
        return due + lag(p, s)
    }

    // MARK: Boundaries

    /// Whether a distance is within 2 cm of one that decides something between such sides.
    private func isNear(_ here: Position, _ there: Position, _ range: Double, _ options: MatchOptions) -> Bool {
        if options.accuracy == .likely {
            let accuracy = likelyAccuracy(here, there)
            let left = distance(here, there) - range
            let margins = [0, -accuracy / 2, -range / 2, options.exitMargin, accuracy]
            return abs(accuracy - 100) < 0.001 || abs(accuracy - range / 2) < 0.02 || margins.contains { abs(left - $0) < 0.02 }
        }
        let left = distance(here, there, options) - range
        return abs(left) < 0.02 || options.mode == .visit && abs(left - options.exitMargin) < 0.02
    }

    /// Whether a device at this position would stand within 2 cm of a boundary that decides something.
    func isAmbiguous(_ device: DeviceRef, at position: Position) -> Bool {
        func place(_ other: DeviceRef) -> Position? { other == device ? position : positions[other] ?? nil }
        for p in publications.values {
            for s in subscriptions.values where p.topic == s.topic && (p.device == device || s.device == device) {
                guard let here = place(p.device), let there = place(s.device) else { continue }
                if p.device == s.device && s.options.accuracy != .certain && s.options.accuracy != .likely { continue }
                if isNear(here, there, p.range + s.range, s.options) { return true }
            }
        }
        for (key, before) in last {
            guard let p = publications[key.publication], let s = subscriptions[key.subscription] else { continue }
            if p.device == device && abs(moved(before.publicationPosition, position) - s.options.matchDTL) < 0.02 { return true }
            if s.device == device && abs(moved(before.subscriptionPosition, position) - s.options.matchDTL) < 0.02 {
                return true
            }
        }
        return false
    }

    /// Whether the objects of two devices would be within 2 cm of such a boundary at this distance.
    func isAmbiguous(_ one: DeviceRef, _ other: DeviceRef, distance: Double) -> Bool {
        publications.values.contains { p in
            subscriptions.values.contains { s in
                Set([p.device, s.device]) == [one, other] && isNear(distance, p, s)
            }
        }
    }

    private func isNear(_ distance: Double, _ p: Publication, _ s: Subscription) -> Bool {
        let left = distance - p.range - s.range
        return abs(left) < 0.02 || s.isVisit && abs(left - s.options.exitMargin) < 0.02
    }

    /// Whether such a publication would be within 2 cm of such a boundary.
    func isAmbiguous(_ p: Publication) -> Bool {
        if subscriptions.values.contains(where: { s in sighting(p, s).map { isNear($0.distance, p, s) } ?? false }) {
            return true
        }
        guard let here = positions[p.device] ?? nil else { return false }
        return subscriptions.values.contains { s in
            guard s.topic == p.topic, let there = positions[s.device] ?? nil else { return false }
            return (p.device != s.device || s.options.accuracy == .certain || s.options.accuracy == .likely)
                && isNear(here, there, p.range + s.range, s.options)
        }
    }

    /// Whether such a subscription, as that number, would.
    func isAmbiguous(_ s: Subscription, as number: UInt32? = nil) -> Bool {
        if publications.values.contains(where: { p in sighting(p, s).map { isNear($0.distance, p, s) } ?? false }) { return true }
        guard let there = positions[s.device] ?? nil else { return false }
        let touches = publications.values.contains { p in
            guard s.topic == p.topic, let here = positions[p.device] ?? nil else { return false }
            return (p.device != s.device || s.options.accuracy == .certain || s.options.accuracy == .likely)
                && isNear(here, there, p.range + s.range, s.options)
        }
        return touches
            || last.contains { key, before in
                guard key.subscription == number, let p = publications[key.publication] else { return false }
                return abs(moved(before.subscriptionPosition, there) - s.options.matchDTL) < 0.02
                    || abs(moved(before.publicationPosition, positions[p.device] ?? nil) - s.options.matchDTL) < 0.02
            }
    }
}
