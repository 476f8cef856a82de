/// One node of a cluster: which shards it may serve, and what it does next.
///
/// It is given what the store says and returns steps; it reads no clock. Instants are milliseconds of the node's own clock that only goes
/// forward, also while the machine or the process sleeps.
public struct Member: Sendable {
    /// What the node is to do. Those that concern the store may come again until the store shows them.
    public enum Step: Equatable, Sendable {
        /// Take a shard that nobody has, if its epoch is still this one.
        case take(shard: Int, epoch: Int64)
        /// Serve it: the lease is this node's.
        case serve(shard: Int, epoch: Int64)
        /// Restore it and follow what is written to it: this node will serve it with this epoch, as its owner falls silent or is to hand it
        /// over. To be answered with ``Member/stoodBy(shard:epoch:)``.
        case standBy(shard: Int, epoch: Int64)
        /// Name who is to have it next, so that this node is ready; nil takes that back.
        case announce(shard: Int, successor: String?)
        /// Say that this node waits for it: it has caught up.
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
    /// Leases that the store shows as this node's, and that it has not renewed: they may end before it falls silent.
    private var granted: [Int: Int64] = [:]
    /// When the last renewal that the store took was sent.
    public private(set) var renewedAt: Int64?
    public private(set) var isLeaving = false
    /// When a renewal first said so.
    private var leavingAt: Int64?
    /// A shard for which this node waits, or that it takes, has not come.
    public private(set) var isExpecting = false
    /// The shards that this node could serve at once, with the epochs that they will have.
    private var restored: [Int: Int64] = [:]
    /// Who leaves waits for so long until its successors are ready.
    public static let farewellMilliseconds: Int64 = 15_000

    /// By shard, the renewal that was seen last, and since when by this node's clock.
    private var lastRenewals: [(renewal: Int64, since: Int64)] = []
    /// A lease that ended by the store's clock and was renewed within this is not taken: the clock was set.
    private static let unrenewedMilliseconds = silenceMilliseconds + 100
    /// Until then nothing is taken that somebody may still renew.
    private var patientUntil: Int64 = .min
    public static let patienceMilliseconds: Int64 = 1500
    /// Since when this node does not reach the broker; nil while it does.
    private var cutOffAt: Int64?
    /// A broker that is gone for all is missed by all within this: then nothing is handed over.
    public static let cutOffMilliseconds: Int64 = 800

    public init(node: String) { self.node = node }

    /// Whether the node's own session is open; before ``renewed(_:sentAt:)``.
    public mutating func note(reachesBroker: Bool, at now: Int64) { cutOffAt = reachesBroker ? nil : cutOffAt ?? now }

    /// The shards that it serves, with their epochs.
    public var serving: [Int: Int64] { holdings.filter { !$0.value.isLeaving }.mapValues(\.epoch) }
    /// The leases that it renews: those of shards that are being handed over, too.
    public var renewing: [Int: Int64] { holdings.mapValues(\.epoch).merging(granted) { held, _ in held } }

    /// Whether it may publish what only an owner may: no other node can have taken a shard since it last renewed.
    public func isFresh(at now: Int64) -> Bool { renewedAt.map { now - $0 < Self.silenceMilliseconds } ?? false }

    /// How long until the next beat.
    public var pause: Int64 { isExpecting || !granted.isEmpty ? Self.hurriedBeatMilliseconds : Self.beatMilliseconds }

    /// Everything is to be handed over.
    public mutating func leave() { isLeaving = true }

    /// A shard that this node is to stand by for is restored and nearly as its owner has it, or cannot be.
    public mutating func stoodBy(shard: Int, epoch: Int64) { restored[shard] = epoch }

    /// A shard has been handed over, or is no longer served for another reason.
    public mutating func released(shard: Int) {
        holdings[shard] = nil
        granted[shard] = nil
    }

    /// The store renewed what was to be renewed, and says what there is.
    ///
    /// - Parameter sentAt: When the renewal was sent, by this node's clock: the leases last from later on.
    public mutating func renewed(_ view: ClusterView, sentAt: Int64) -> [Step] {
        // A store that was gone for this node may have been gone for all: owners are given time to renew.
        let pause = sentAt - (renewedAt ?? sentAt)
        if pause > Self.silenceMilliseconds { patientUntil = sentAt + Self.patienceMilliseconds }
        renewedAt = max(renewedAt ?? sentAt, sentAt)
        if isLeaving, leavingAt == nil { leavingAt = sentAt }
        restored = restored.filter { view.leases[$0.key].successor == node && view.leases[$0.key].epoch < $0.value }
        note(view.renewals, at: sentAt)
        var steps = reconcile(view)
        // Who was late itself sees others late.
        if pause < Self.leaseMilliseconds / 3 { steps += standBys(view) }
        let placement = Placement(view)
        let isHere = view.candidates.contains(node)
        for shard in view.leases.indices {
            if view.leases[shard].owner != nil, view.leases[shard].isExpired, sentAt < patientUntil || !isSilent(shard, sentAt) {
                continue
            }
            let isCutOff = cutOffAt.map { sentAt - $0 >= Self.cutOffMilliseconds }
            let waitsNoLonger = leavingAt.map { sentAt - $0 >= Self.farewellMilliseconds } ?? false
            if let step = step(
                for: shard, view, placement.owners[shard], isHere: isHere, isCutOff: isCutOff, waits: !waitsNoLonger)
            {
                steps.append(step)
            }
        }
        isExpecting =
            view.leases.contains { $0.successor == node && $0.owner != node && $0.isPrepared }
            || steps.contains { if case .take = $0 { true } else if case .prepare = $0 { true } else { false } }
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
            guard isMine, holdings[shard] == nil else {
                granted[shard] = nil
                continue
            }
            if granted.removeValue(forKey: shard) == lease.epoch {
                holdings[shard] = Holding(epoch: lease.epoch)
                steps.append(.serve(shard: shard, epoch: lease.epoch))
            } else {
                granted[shard] = lease.epoch
            }
        }
        return steps
    }

    private mutating func note(_ renewals: [Int64], at now: Int64) {
        if lastRenewals.count != renewals.count { lastRenewals = renewals.map { ($0, now) } }
        for shard in renewals.indices where lastRenewals[shard].renewal != renewals[shard] {
            lastRenewals[shard] = (renewals[shard], now)
        }
    }

    /// Whether a lease was not renewed for so long that its owner has fallen silent, by a clock that nobody sets.
    private func isSilent(_ shard: Int, _ now: Int64) -> Bool {
        lastRenewals.isEmpty || now - lastRenewals[shard].since >= Self.unrenewedMilliseconds
    }

    /// What this node will have where the silent stay silent.
    private func standBys(_ view: ClusterView) -> [Step] {
        let silent = Set(view.leases.compactMap { $0.isOverdue && !$0.isExpired ? $0.owner : nil }).subtracting([node])
        guard !silent.isEmpty else { return [] }
        let placement = Placement(view.without(silent))
        return view.leases.indices.compactMap { shard in
            let lease = view.leases[shard]
            guard view.datasetCounts[shard] > 0, let owner = lease.owner, silent.contains(owner), placement.owners[shard] == node
            else { return nil }
            return .standBy(shard: shard, epoch: lease.epoch + 1)
        }
    }

    /// - Parameters:
    ///   - isCutOff: From the broker, for long enough; nil: not at all.
    ///   - waits: Until a successor is ready.
    private mutating func step(
        for shard: Int, _ view: ClusterView, _ target: String?, isHere: Bool, isCutOff: Bool?, waits: Bool
    ) -> Step? {
        let lease = view.leases[shard]
        guard let holding = holdings[shard] else {
            if view.owner(of: shard) == nil { return target == node ? .take(shard: shard, epoch: lease.epoch) : nil }
            guard lease.successor == node, !lease.isPrepared else { return nil }
            return restored[shard] == lease.epoch + 1 ? .prepare(shard: shard) : .standBy(shard: shard, epoch: lease.epoch + 1)
        }
        guard !holding.isLeaving else { return nil }
        guard let target, target != node else {
            // Without anybody else there is nothing to wait for.
            if target == nil, isLeaving { return handOver(shard, to: nil) }
            return lease.successor == nil ? nil : .announce(shard: shard, successor: nil)
        }
        if isCutOff == false, !isLeaving { return nil }
        let isIdle = view.datasetCounts[shard] == 0
        // Who does not reach the broker serves nobody: the successor need not be ready.
        if isIdle || !isHere && !isLeaving { return handOver(shard, to: target) }
        guard lease.successor == target else { return .announce(shard: shard, successor: target) }
        guard lease.isPrepared || !waits, handOversUnderWay(view) < Self.handOversMax else { return nil }
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
