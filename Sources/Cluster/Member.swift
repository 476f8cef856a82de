/// One node of a cluster: which shards it may serve, and what it does next.
///
/// It is told what the store says and returns steps; it reads no clock. Instants are milliseconds of the node's own clock that only goes
/// forward, also while the machine or the process sleeps.
public struct Member: Sendable {
    /// What the node is to do. Those that concern the store may come again until the store shows them.
    public enum Step: Equatable, Sendable {
        /// Take a shard that nobody has, if its epoch is still this one.
        case take(shard: Int, epoch: Int64)
        /// Serve it: the lease is this node's.
        case serve(shard: Int, epoch: Int64)
        /// Name who is to have it next, so that this node is ready; nil takes that back.
        case announce(shard: Int, successor: String?)
        /// Say that this node waits for it.
        case prepare(shard: Int)
        /// Stop serving: everything is written and answered first, then the lease goes to the successor, or to nobody.
        case handOver(shard: Int, successor: String?)
        /// Stop serving at once and write nothing more: somebody else has it.
        case drop(shard: Int)
    }

    struct Holding: Equatable, Sendable {
        var epoch: Int64
        var isLeaving = false
    }

    /// By the store's clock: a lease that is not renewed for so long may be taken.
    public static let leaseMilliseconds: Int64 = 3000
    /// By the node's own clock: who has not renewed for so long falls silent.
    public static let silenceMilliseconds: Int64 = 2000
    public static let beatMilliseconds: Int64 = 500
    /// While a shard is about to come.
    public static let hurriedBeatMilliseconds: Int64 = 20
    /// Of shards with datasets, at a time.
    public static let handOversMax = 2

    public let node: String
    private var holdings: [Int: Holding] = [:]
    /// When the last renewal that the store took was sent.
    public private(set) var renewedAt: Int64?
    public private(set) var isLeaving = false
    /// A shard was announced to this node, and has not come.
    public private(set) var isExpecting = false

    public init(node: String) { self.node = node }

    /// The shards that it serves, with their epochs.
    public var serving: [Int: Int64] { holdings.filter { !$0.value.isLeaving }.mapValues(\.epoch) }
    /// The leases that it renews: those of shards that are being handed over, too.
    public var renewing: [Int: Int64] { holdings.mapValues(\.epoch) }

    /// Whether it may publish what only an owner may: no other node can have taken a shard since it last renewed.
    public func isFresh(at now: Int64) -> Bool { renewedAt.map { now - $0 < Self.silenceMilliseconds } ?? false }

    /// How long until the next beat.
    public var pause: Int64 { isExpecting ? Self.hurriedBeatMilliseconds : Self.beatMilliseconds }

    /// Everything is to be handed over.
    public mutating func leave() { isLeaving = true }

    /// A shard has been handed over, or is no longer served for another reason.
    public mutating func released(shard: Int) { holdings[shard] = nil }

    /// The store renewed what was to be renewed, and says what there is.
    ///
    /// - Parameter sentAt: When the renewal was sent, by this node's clock: the leases last from later on.
    public mutating func renewed(_ view: ClusterView, sentAt: Int64) -> [Step] {
        renewedAt = max(renewedAt ?? sentAt, sentAt)
        var steps = reconcile(view)
        let placement = Placement(view)
        let isHere = view.candidates.contains(node)
        for shard in view.leases.indices {
            if let step = step(for: shard, view, target: placement.owners[shard], isHere: isHere) { steps.append(step) }
        }
        isExpecting = view.leases.contains { $0.successor == node && $0.owner != node }
        return steps
    }

    // MARK: Parts

    /// What the store says is the truth: what was lost is dropped, what was given is served.
    private mutating func reconcile(_ view: ClusterView) -> [Step] {
        var steps: [Step] = []
        for (shard, lease) in view.leases.enumerated() {
            let isMine = lease.owner == node && !lease.isExpired
            if let holding = holdings[shard], !isMine || lease.epoch != holding.epoch {
                holdings[shard] = nil
                steps.append(.drop(shard: shard))
            }
            if isMine, holdings[shard] == nil {
                holdings[shard] = Holding(epoch: lease.epoch)
                steps.append(.serve(shard: shard, epoch: lease.epoch))
            }
        }
        return steps
    }

    private mutating func step(for shard: Int, _ view: ClusterView, target: String?, isHere: Bool) -> Step? {
        let lease = view.leases[shard]
        guard let holding = holdings[shard] else {
            if view.owner(of: shard) == nil { return target == node ? .take(shard: shard, epoch: lease.epoch) : nil }
            return lease.successor == node && !lease.isPrepared ? .prepare(shard: shard) : nil
        }
        guard !holding.isLeaving else { return nil }
        guard let target, target != node else {
            // Without anybody else there is nothing to wait for.
            if target == nil, isLeaving { return handOver(shard, to: nil) }
            return lease.successor == nil ? nil : .announce(shard: shard, successor: nil)
        }
        let isIdle = view.datasetCounts[shard] == 0
        // Who does not reach the broker serves nobody: the successor need not be ready.
        if isIdle || !isHere && !isLeaving { return handOver(shard, to: target) }
        guard lease.successor == target else { return .announce(shard: shard, successor: target) }
        guard lease.isPrepared, handOversUnderWay(view) < Self.handOversMax else { return nil }
        return handOver(shard, to: target)
    }

    private func handOversUnderWay(_ view: ClusterView) -> Int {
        holdings.count { $0.value.isLeaving && view.datasetCounts[$0.key] > 0 }
    }

    private mutating func handOver(_ shard: Int, to successor: String?) -> Step {
        holdings[shard]?.isLeaving = true
        return .handOver(shard: shard, successor: successor)
    }
}
