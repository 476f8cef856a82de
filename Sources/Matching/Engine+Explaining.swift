import Geodesy

/// What is remembered of a pair of publication and subscription, for who asks why it does not match.
public enum PairMemory: Equatable, Sendable {
    /// Nothing stands in the way of a first match.
    case nothing
    /// The pair has matched in mode `once`.
    case matched(LastMatch)

    /// A last match, and how far both sides have come since.
    public struct LastMatch: Equatable, Sendable {
        /// Milliseconds since 1970 UTC.
        public var at: Int64
        /// Metres from where the publication's device stood then.
        public var publicationMoved: Double
        public var subscriptionMoved: Double
        /// It no longer stands in the way: `matchTTL` has elapsed, or a side has moved by `matchDTL`.
        public var isOver: Bool
    }
}

extension Engine {
    /// What is remembered of a pair; nothing where one of the two is gone. Changes nothing.
    public func memory(of s: SubscriptionRef, _ p: PublicationRef, at now: Int64) -> PairMemory {
        guard isAlive(s), isAlive(p), let pair = state.pointee.index.find(s.index, p.index) else { return .nothing }
        let record = state.pointee.index.pairs[pair]
        let here = state.pointee.devices[state.pointee.publications[p.index].device].point
        let there = state.pointee.devices[state.pointee.subscriptions[s.index].device].point
        return .matched(
            PairMemory.LastMatch(
                at: record.lastMatchAt, publicationMoved: displacement(from: record.publicationPoint, to: here),
                subscriptionMoved: displacement(from: record.subscriptionPoint, to: there),
                isOver: state.pointee.isDue(pair, at: now)))
    }
}
