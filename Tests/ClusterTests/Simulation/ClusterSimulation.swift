import Cluster
import SeededRandom

/// Several nodes of a cluster with a model of store and broker on virtual time, under faults; what must never be is written down.
final class ClusterSimulation {
    let time = VirtualTime()
    let store: ModelStore
    /// A node that has not renewed for long says nothing.
    let fallsSilent: Bool
    private(set) lazy var broker = ModelBroker(time)
    private var random: SplitMix64
    private var nodes: [ModelNode] = []
    private let datasets: [String]
    /// By request.
    private var shards: [Int] = []
    private(set) var answered: Set<Int> = []
    private var matches: [Int: String] = [:]
    private var servedAt: [Int: Int64] = [:]
    /// When the last fault began or ended.
    private var disturbedAt: Int64 = 0
    /// Until then the store's clock says nothing about the nodes' clocks.
    private var clockJumpedUntil: Int64 = 0
    private var storeClock: Int64 = 0
    private(set) var violations: [String] = []

    /// From the last fault to where every dataset is served again, where no message is late.
    static let recoveryMilliseconds: Int64 = 5000
    /// How late a message may be: longer than anybody waits. A renewal that comes so late prolongs the lease of who died meanwhile.
    private let latenessMilliseconds: Int64

    /// - Parameters:
    ///   - isFenced: The store takes commits of the present epoch only.
    ///   - fallsSilent: A node that has not renewed for long says nothing.
    ///   - hasLateMessages: One message of a hundred comes up to three seconds late.
    init(seed: UInt64, isFenced: Bool = true, fallsSilent: Bool = true, hasLateMessages: Bool = true) {
        latenessMilliseconds = hasLateMessages ? 3000 : 0
        store = ModelStore(isFenced: isFenced)
        self.fallsSilent = fallsSilent
        random = SplitMix64(seed: seed)
        datasets = (0..<(1 + random.below(12))).map { "dataset\($0)" }
        store.leases.datasets = Set(datasets)
    }

    var requestCount: Int { shards.count }

    /// Runs it with faults, and then without any until all must be well.
    func run(faults: Int64) {
        for index in 0..<(2 + random.below(3)) { nodes.append(ModelNode("n\(index)", self)) }
        for node in nodes { time.after(Int64(random.below(3000))) { node.start() } }
        tick()
        ask(until: faults + 5000)
        disturb(until: faults)
        time.run(until: faults)
        heal()
        time.run(until: faults + 20_000)
        if answered.count != shards.count { violations.append("\(shards.count - answered.count) requests were never answered") }
        violations += store.violations
    }

    /// Mostly short.
    func latency() -> Int64 {
        let isLate = latenessMilliseconds > 0 && random.chance(1)
        return Int64(isLate ? random.below(Int(latenessMilliseconds)) : 1 + random.below(15))
    }

    // MARK: What is seen from outside

    func replied(_ request: Int, shard: Int) {
        if !store.has(request, shard: shard) { violations.append("\(time.now): \(request) was answered and is not kept") }
        answered.insert(request)
    }

    func published(_ match: String, of request: Int, shard: Int, epoch: Int64, by node: String) {
        if let known = matches.updateValue(match, forKey: request), known != match {
            violations.append("\(time.now): one match as \(known) and \(match)")
        }
        if time.now >= clockJumpedUntil, !store.leases.holds(shard, epoch: epoch) {
            violations.append("\(time.now): \(node) published a match of \(shard), which it no longer has")
        }
    }

    /// The store's clock goes with time, and looks at who serves what.
    private func tick() {
        store.leases.now = time.now + storeClock
        for node in nodes { node.noteHealth() }
        let calmSince = max(disturbedAt, nodes.map(\.healthySince).min() ?? .max)
        for shard in Set(datasets.map(Sharding.shard)) {
            if nodes.contains(where: { $0.serves(shard) }) { servedAt[shard] = time.now }
            let since = time.now - max(servedAt[shard] ?? 0, calmSince == .max ? time.now : calmSince)
            if since > Self.recoveryMilliseconds + latenessMilliseconds {
                violations.append("\(time.now): nobody has served \(shard) for \(since) ms")
                servedAt[shard] = time.now
            }
        }
        time.after(20) { self.tick() }
    }

    // MARK: Requests

    private func ask(until end: Int64) {
        guard time.now < end else { return }
        let request = shards.count
        shards.append(Sharding.shard(of: random.pick(datasets)))
        send(request)
        time.after(Int64(random.below(100))) { self.ask(until: end) }
    }

    /// A client without a reply asks again.
    private func send(_ request: Int) {
        guard !answered.contains(request) else { return }
        broker.publish(request, shard: shards[request])
        time.after(2000) { self.send(request) }
    }

    // MARK: Faults

    private func disturb(until end: Int64) {
        let pause = Int64(random.below(random.chance(20) ? 12_000 : 3000))
        guard time.now + pause < end else { return }
        time.after(pause) { [self] in
            fault(lasting: Int64(200 + random.below(7000)))
            disturb(until: end)
        }
    }

    private func fault(lasting length: Int64) {
        let node = random.pick(nodes)
        disturbedAt = max(disturbedAt, time.now)
        switch random.below(7) {
        case 0:
            node.kill()
            ending(after: length) { node.start() }
        case 1:
            node.stop(for: length)
            ending(after: length) {}
        case 2:
            node.reachesStore = false
            ending(after: length) { node.reachesStore = true }
        case 3:
            node.reachesBroker = false
            ending(after: length) { node.reachesBroker = true }
        case 4: node.leave()
        case 5:
            // Everybody at once: a store or a broker that is gone.
            let isStore = random.chance(50)
            for node in nodes { if isStore { node.reachesStore = false } else { node.reachesBroker = false } }
            ending(after: length) { [nodes] in
                for node in nodes { if isStore { node.reachesStore = true } else { node.reachesBroker = true } }
            }
        default:
            // Another server of the store, whose clock is not the former one's.
            let jump = Int64(random.below(6000) - 2000)
            storeClock += jump
            clockJumpedUntil = time.now + Member.leaseMilliseconds
            disturbedAt = max(disturbedAt, time.now + max(0, -jump))
        }
    }

    private func ending(after length: Int64, _ end: @escaping () -> Void) {
        time.after(length) { [self] in
            disturbedAt = max(disturbedAt, time.now)
            end()
        }
    }

    private func heal() {
        disturbedAt = max(disturbedAt, time.now)
        for node in nodes {
            (node.reachesStore, node.reachesBroker) = (true, true)
            node.start()
        }
    }
}
