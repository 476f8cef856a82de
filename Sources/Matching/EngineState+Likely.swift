import Geodesy

/// What a device's last fix says about time.
struct Heard: BitwiseCopyable {
    /// When it was received; `Int64.max`: the device is fixed. Milliseconds since 1970 UTC, as below.
    var at: Int64
    /// When the device was there.
    var fixedAt: Int64
}

/// What two fixes say about a pair of a likely subscription.
enum LikelyStanding {
    case inside
    /// Neither inside nor far enough outside.
    case between
    case outside
    /// Too coarse to say.
    case unusable
    /// The floors differ, or one is not known.
    case elsewhere
}

// Visits of subscriptions with accuracy `likely`: they begin well inside, go on while nothing usable speaks against it, and end when
// fixes that span a minute of their own time are all outside.
extension EngineState {
    /// - Parameter here: The publication's device, placed, as `there`, the subscription's.
    func likelyStanding(_ subscription: Subscription, _ publication: Publication, exitMargin: Double) -> LikelyStanding {
        let here = devices.base + Int(publication.device)
        let there = devices.base + Int(subscription.device)
        if subscription.flags.contains(.sameFloor) && (here.pointee.floor == 0 || here.pointee.floor != there.pointee.floor) {
            return .elsewhere
        }
        let reach = Double(subscription.range &+ publication.range) / GridPoint.unitsPerMetre
        let accuracy = Proximity.likelyAccuracy(here.pointee.accuracy, there.pointee.accuracy)
        guard accuracy <= LikelyRule.accuracyMax(depth: reach) else { return .unusable }
        let points = (here.pointee.point, there.pointee.point)
        if isWithin(reach - LikelyRule.entryMargin(accuracy: accuracy, depth: reach), points.0, points.1) { return .inside }
        return isWithin(reach + LikelyRule.exitMargin(accuracy: accuracy, exitMargin), points.0, points.1) ? .between : .outside
    }

    /// Whether a pair is brought up to date by ``attendLikely(_:isSilent:isUpdated:at:)``: beacons have no accuracy.
    func isLikely(_ subscription: Subscription, _ publication: Publication) -> Bool {
        subscription.flags.contains(.likely) && devices[publication.device].isPlaced && devices[subscription.device].isPlaced
    }

    /// - Parameter isUpdated: Options or circles changed: what is outside ends at once.
    mutating func attendLikely(_ pair: UInt32, isSilent: Bool, isUpdated: Bool, at now: Int64) {
        let record = index.pairs[pair]
        let options = visitOptions[record.subscription]
        let standing = likelyStanding(
            subscriptions[record.subscription], publications[record.publication], exitMargin: options.exitMargin)
        if index.phases[pair] == .visiting && isSilent {
            note(pair, .lost, at: now)
            index.enter(.silent, pair, at: now)
        }
        if isSilent || index.phases[pair] == .silent, standing != .inside { return end(pair, .lost, at: now) }
        switch standing {
        case .elsewhere: return end(pair, .left, at: now)
        case .outside:
            let instant = fixedAt(record, at: now)
            let first = leaving[pair] ?? instant
            if isUpdated || instant - first >= LikelyRule.exitMilliseconds { return end(pair, .left, at: now) }
            setLeaving(pair, since: first)
        case .inside, .between: setLeaving(pair, since: nil)
        case .unusable: if isUpdated { setLeaving(pair, since: nil) }
        }
        if index.phases[pair] != .visiting { proceedLikely(pair, isSilent, dwell: options.dwell, at: now) }
        watch(pair)
        lowerVisitBudgets(pair, at: now)
    }

    /// A pair that seems to be parting does not begin its visit: the next fix says.
    private mutating func proceedLikely(_ pair: UInt32, _ isSilent: Bool, dwell: Int64, at now: Int64) {
        if isSilent { return fallSilent(pair, at: now) }
        let record = index.pairs[pair]
        let instant = fixedAt(record, at: now)
        let isNew = index.phases[pair] == .silent
        if isNew { index.enter(.staying, pair, at: instant) }
        let due = saturating(index.pairs[pair].changedAt, dwell)
        guard leaving[pair] == nil, instant >= due || now >= saturating(due, lag(record)) else {
            if isNew { noteStay(pair, since: instant) }
            return
        }
        index.enter(.visiting, pair, at: now)
        addMeeting(pair, at: now)
    }

    /// When time alone lets a stay of a likely subscription become a visit; `Int64.max`: it does not.
    func likelyDue(_ pair: UInt32, dwell: Int64) -> Int64 {
        guard leaving[pair] == nil else { return .max }
        let record = index.pairs[pair]
        return saturating(saturating(record.changedAt, dwell), lag(record))
    }

    /// The last fixes of the sides that move. Where something fixed is says nothing about time.
    private func fixes(_ record: Pair) -> some Collection<Heard> {
        [heard[publications[record.publication].device], heard[subscriptions[record.subscription].device]]
            .filter { $0.at != .max && $0.fixedAt != .min }
    }

    /// Up to when the pair is known: as far behind its last fix as the side that lags more. So a phone that sends an hour at once makes
    /// the visits it made, and no fix of the other side carries it into the present.
    private func fixedAt(_ record: Pair, at now: Int64) -> Int64 {
        fixes(record).map(\.at).max().map { min(now, $0 - lag(record)) } ?? now
    }

    /// How far the fixes of a side lay behind when they came: a source that lags goes on lagging.
    private func lag(_ record: Pair) -> Int64 { fixes(record).map { max(0, $0.at - $0.fixedAt) }.max() ?? 0 }

    /// A visit or stay goes on after a restart as its last fixes say.
    mutating func resumeLikely(_ pair: UInt32, at now: Int64) {
        let record = index.pairs[pair]
        let (subscription, publication) = (subscriptions[record.subscription], publications[record.publication])
        guard isLikely(subscription, publication) else { return setLeaving(pair, since: nil) }
        let margin = visitOptions[record.subscription].exitMargin
        switch likelyStanding(subscription, publication, exitMargin: margin) {
        case .outside: setLeaving(pair, since: leaving[pair] ?? fixedAt(record, at: now))
        case .inside, .between, .elsewhere: setLeaving(pair, since: nil)
        case .unusable: break
        }
    }

    /// - Parameter instant: nil: the last usable fix is not outside.
    mutating func setLeaving(_ pair: UInt32, since instant: Int64?) {
        guard instant != nil || !leaving.isEmpty, leaving[pair] != instant else { return }
        leaving[pair] = instant
        leavingChanged.append(
            LeavingChange(subscription: index.pairs[pair].subscription, publication: index.pairs[pair].publication))
    }
}

/// A pair of which it has changed since when its last usable fixes are all outside.
struct LeavingChange: BitwiseCopyable {
    var subscription: UInt32
    var publication: UInt32
}
