import Geodesy

/// What is remembered of a pair of publication and subscription, for who asks why it does not match.
public enum PairMemory: Equatable, Sendable {
    /// Nothing prevents a first match, or a first stay.
    case nothing
    /// Of mode `once`: the pair has matched.
    case matched(LastMatch)
    /// Of mode `visit`: it is under way. Milliseconds since 1970 UTC, as below.
    case visiting(since: Int64)
    /// Of mode `visit`: in range for so long, and `dwell` is counting.
    case staying(since: Int64)
    /// Of mode `visit`: a side was not heard of for `staleAfter`. When each was last heard of; `Int64.min`: never.
    case unheard(publication: Int64, subscription: Int64)
    /// The subscription has as many partners as it may, or the engine as many pairs: another meeting is not made.
    case capacityExceeded

    /// A last match, and how far both sides have come since.
    public struct LastMatch: Equatable, Sendable {
        /// Milliseconds since 1970 UTC.
        public var at: Int64
        /// Metres from where the publication's device was then.
        public var publicationMoved: Double
        public var subscriptionMoved: Double
        /// It no longer suppresses another: `matchTTL` has elapsed, or a side has moved by `matchDTL`.
        public var isOver: Bool
    }
}

extension Engine {
    /// What is remembered of a pair; nothing where one of the two is gone. Changes nothing.
    public func memory(of s: SubscriptionRef, _ p: PublicationRef, at now: Int64) -> PairMemory {
        guard isAlive(s), isAlive(p) else { return .nothing }
        return state.pointee.memory(of: s.index, p.index, at: now)
    }
}

extension EngineState {
    fileprivate func memory(of subscription: UInt32, _ publication: UInt32, at now: Int64) -> PairMemory {
        let pair = index.find(subscription, publication)
        if pair == nil, Int(partners[subscription]) >= limits.partnersPerSubscription || index.pairs.count >= limits.pairs {
            return .capacityExceeded
        }
        if subscriptions[subscription].isVisit { return visit(pair, of: subscription, publication, at: now) }
        guard let pair else { return .nothing }
        let record = index.pairs[pair]
        let here = devices[publications[publication].device].point
        let there = devices[subscriptions[subscription].device].point
        return .matched(
            PairMemory.LastMatch(
                at: record.changedAt, publicationMoved: displacement(from: record.publicationPoint, to: here),
                subscriptionMoved: displacement(from: record.subscriptionPoint, to: there), isOver: isDue(pair, at: now)))
    }

    private func visit(_ pair: UInt32?, of subscription: UInt32, _ publication: UInt32, at now: Int64) -> PairMemory {
        if let pair, index.phases[pair] == .visiting { return .visiting(since: index.pairs[pair].changedAt) }
        let seenAt = sighting(subscriptions[subscription], publications[publication])?.seenAt
        let here = seenAt ?? heard[publications[publication].device].at
        let there = seenAt ?? heard[subscriptions[subscription].device].at
        let limit = visitOptions[subscription].staleAfter
        if limit != .max, now >= saturating(min(here, there), limit) { return .unheard(publication: here, subscription: there) }
        guard let pair, index.phases[pair] == .staying else { return .nothing }
        return .staying(since: index.pairs[pair].changedAt)
    }
}
