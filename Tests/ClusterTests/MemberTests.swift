import Cluster
import MemoryStore
import SeededRandom
import Testing

@Suite("Members of a cluster")
struct MemberTests {
    private let store = MemoryLeases()

    private func leases(_ node: SimulatedNode) -> Int { node.serving.count }

    private func nodes(_ names: [String]) throws -> [SimulatedNode] {
        try names.map { name in
            let node = SimulatedNode(name, store)
            try node.join()
            return node
        }
    }

    private func run(_ nodes: [SimulatedNode], milliseconds: Int64) {
        for _ in 0..<(milliseconds / 10) {
            store.now += 10
            for node in nodes { node.turn(at: store.now) }
        }
    }

    @Test("The first node has everything at once, the second its share soon")
    func joining() throws {
        store.datasets = Set((0..<30).map { "dataset\($0)" })
        let first = try nodes(["a"])
        run(first, milliseconds: 1100)
        #expect(leases(first[0]) == 64)
        let both = first + (try nodes(["b"]))
        run(both, milliseconds: 20_000)
        #expect(both.map(\.datasets).allSatisfy { (13...17).contains($0) } && both.map(\.datasets).reduce(0, +) == 30)
        #expect(leases(both[0]) + leases(both[1]) == 64)
    }

    @Test("What is to move is handed over when its successor has restored it, and not before")
    func restoring() throws {
        store.datasets = Set((0..<30).map { "dataset\($0)" })
        let first = try nodes(["a"])
        run(first, milliseconds: 1100)
        let both = first + (try nodes(["b"]))
        both[1].restoring = 12_000
        run(both, milliseconds: 11_000)
        #expect(both.map(\.datasets) == [30, 0])
        run(both, milliseconds: 15_000)
        #expect(both.map(\.datasets).allSatisfy { (13...17).contains($0) })
        let served = both[1].member.serving.filter { store.view.datasetCounts[$0.key] > 0 }
        #expect(served.allSatisfy { both[1].standbys[$0.key] == $0.value })
    }

    @Test("Who leaves waits for its successors, but not for ever")
    func farewell() throws {
        store.datasets = Set((0..<30).map { "dataset\($0)" })
        let all = try nodes(["a", "b"])
        run(all, milliseconds: 20_000)
        all[1].restoring = .max / 2
        all[0].leave()
        run(all, milliseconds: Member.farewellMilliseconds - 100)
        #expect(all[0].datasets > 10)
        run(all, milliseconds: 5000)
        #expect(all.map(\.datasets) == [0, 30])
    }

    @Test("What a killed node had is served by others within five seconds")
    func killing() throws {
        store.datasets = Set((0..<30).map { "dataset\($0)" })
        let all = try nodes(["a", "b", "c"])
        run(all, milliseconds: 20_000)
        run([all[0], all[2]], milliseconds: 4500)
        #expect(leases(all[0]) + leases(all[2]) == 64)
    }

    @Test("What a silent node has is restored by who will have it, before the lease ends; while all renew, nothing is")
    func standingBy() throws {
        store.datasets = Set((0..<30).map { "dataset\($0)" })
        let all = try nodes(["a", "b", "c"])
        run(all, milliseconds: 20_000)
        #expect(all.map(\.standbys.count) == [0, 0, 0])
        let had = all[1].serving.filter { store.view.datasetCounts[$0] > 0 }
        run([all[0], all[2]], milliseconds: 2600)
        let ready = all[0].standbys.merging(all[2].standbys) { $1 }
        #expect(Set(ready.keys) == had && all[0].standbys.keys.allSatisfy { all[2].standbys[$0] == nil })
        run([all[0], all[2]], milliseconds: 2000)
        for node in [all[0], all[2]] {
            for (shard, epoch) in node.standbys { #expect(node.member.serving[shard] == epoch) }
        }
    }

    @Test(
        "Where the store's clock is set, nobody loses what it renews, and what a dead one had still comes to others",
        arguments: [
            3000, 3_600_000, -3000, -3_600_000,
        ])
    func clockIsSet(milliseconds: Int64) throws {
        let all = try nodes(["a", "b"])
        run(all, milliseconds: 10_000)
        let had = all.map(\.member.serving)
        func runOn(_ nodes: [SimulatedNode], for duration: Int64) {
            for _ in 0..<(duration / 10) {
                store.now += 10
                for node in nodes { node.turn(at: store.now - milliseconds) }
            }
        }
        store.now += milliseconds
        runOn(all, for: 5000)
        #expect(all.map(\.member.serving) == had)
        runOn([all[0]], for: 5000)
        #expect(leases(all[0]) == 64)
    }

    @Test("A node falls silent before anybody can have what it had, and drops it when it goes on")
    func stopping() throws {
        let all = try nodes(["a", "b"])
        run(all, milliseconds: 10_000)
        let had = all[0].member.serving
        run([all[1]], milliseconds: Member.silenceMilliseconds)
        #expect(!all[0].member.isFresh(at: store.now))
        #expect(had.allSatisfy { store.holds($0.key, epoch: $0.value) })
        run([all[1]], milliseconds: 5000)
        #expect(had.allSatisfy { !store.holds($0.key, epoch: $0.value) })
        all[0].turn(at: store.now)
        #expect(all[0].serving.isEmpty)
    }

    @Test("Who leaves hands over everything, and who is alone gives it back")
    func leaving() throws {
        store.datasets = ["d", "e", "f"]
        let all = try nodes(["a", "b"])
        run(all, milliseconds: 10_000)
        all[0].leave()
        run(all, milliseconds: 5000)
        #expect(all[0].serving.isEmpty && leases(all[1]) == 64)
        all[1].leave()
        run([all[1]], milliseconds: 1000)
        #expect(all[1].serving.isEmpty && store.view.leases.allSatisfy { $0.owner == nil })
    }

    @Test("When the store is back after an outage, everybody keeps what was theirs")
    func outage() throws {
        store.datasets = Set((0..<30).map { "dataset\($0)" })
        let all = try nodes(["a", "b"])
        run(all, milliseconds: 10_000)
        let epochs = store.view.leases.map(\.epoch)
        run([], milliseconds: 60_000)
        run(all, milliseconds: 5000)
        #expect(store.view.leases.map(\.epoch) == epochs)
    }

    @Test("A node that lives keeps its name; one of the same name begins anew when it is gone")
    func names() throws {
        let first = try nodes(["a"])
        run(first, milliseconds: 2000)
        #expect(throws: JoinRefusal.nameInUse) { try nodes(["a"]) }
        store.now += 3000
        let second = try nodes(["a"])
        run(second, milliseconds: 1000)
        #expect(leases(second[0]) == 64)
        #expect(throws: JoinRefusal.replaced) { try first[0].beat(at: store.now) }
    }

    @Test("Whatever nodes do, no shard has two owners that may speak, no stale one commits, and all is well in the end")
    func random() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<5 {
            let store = MemoryLeases()
            store.datasets = Set((0..<random.below(60)).map { "dataset\($0)" })
            var nodes: [SimulatedNode] = []
            for step in 0..<4000 {
                store.now += 10
                if nodes.count < 4, random.below(200) == 0 {
                    let node = SimulatedNode("n\(step)", store)
                    try node.join()
                    nodes.append(node)
                }
                if random.below(400) == 0 {
                    nodes.randomElement(using: &random)?.sleepUntil = store.now + Int64(random.below(8000))
                }
                if random.below(400) == 0 { nodes.randomElement(using: &random)?.member.leave() }
                if random.below(400) == 0 { nodes.randomElement(using: &random)?.entry.reachesBroker.toggle() }
                if random.below(800) == 0, !nodes.isEmpty { nodes.remove(at: random.below(nodes.count)) }
                for node in nodes { node.turn(at: store.now) }
                var speakers: [Int: String] = [:]
                for node in nodes where node.member.isFresh(at: store.now) {
                    for (shard, epoch) in node.member.serving where store.holds(shard, epoch: epoch) {
                        #expect(speakers.updateValue(node.member.node, forKey: shard) == nil)
                    }
                    // A node that may speak owns what it serves.
                    #expect(node.member.serving.allSatisfy { store.holds($0.key, epoch: $0.value) })
                }
            }
            let last = SimulatedNode("last", store)
            try last.join()
            nodes = nodes.filter { !$0.member.isLeaving } + [last]
            for node in nodes { (node.sleepUntil, node.entry.reachesBroker) = (0, true) }
            for _ in 0..<3000 {
                store.now += 10
                for node in nodes { node.turn(at: store.now) }
            }
            #expect(nodes.map(\.serving.count).reduce(0, +) == 64)
            let loads = nodes.map(\.datasets)
            #expect(
                (loads.max() ?? 0) - (loads.min() ?? 0) <= Placement.tolerance(datasets: store.datasets.count, nodes: nodes.count)
            )
        }
    }
}

/// A node that does what its member says, 50 ms after it was called where that takes time.
final class SimulatedNode {
    var member: Member
    var entry: NodeEntry
    var sleepUntil: Int64 = 0
    private(set) var serving: Set<Int> = []
    /// Shards that it was to restore in case it has them soon, with their epochs.
    private(set) var standbys: [Int: Int64] = [:]
    /// How long it restores one, in milliseconds.
    var restoring: Int64 = 50
    private var restorations: [(at: Int64, shard: Int, epoch: Int64)] = []
    private let store: MemoryLeases
    private var nextBeat: Int64 = 0
    private var handOvers: [(at: Int64, shard: Int, epoch: Int64, successor: String?)] = []

    init(_ name: String, _ store: MemoryLeases) {
        member = Member(node: name)
        entry = NodeEntry(name: name, life: "\(store.now)")
        self.store = store
    }

    var datasets: Int { serving.reduce(0) { $0 + store.view.datasetCounts[$1] } }

    func join() throws { try store.join(entry) }

    func leave() { member.leave() }

    func turn(at now: Int64) {
        guard now >= sleepUntil else { return }
        for done in handOvers where now >= done.at {
            store.handOver(done.shard, epoch: done.epoch, to: done.successor)
            member.released(shard: done.shard)
        }
        handOvers.removeAll { now >= $0.at }
        for done in restorations where now >= done.at {
            member.stoodBy(shard: done.shard, epoch: done.epoch)
            nextBeat = now
        }
        restorations.removeAll { now >= $0.at }
        guard now >= nextBeat else { return }
        try? beat(at: now)
        nextBeat = now + member.pause
    }

    func beat(at now: Int64) throws {
        entry.isLeaving = member.isLeaving
        let view = try store.renew(entry, leases: member.renewing)
        let epochs = member.renewing
        member.note(reachesBroker: entry.reachesBroker, at: now)
        for step in member.renewed(view, sentAt: now) {
            switch step {
            case .take(let shard, let epoch): store.take([shard: epoch], for: member.node)
            case .serve(let shard, _): serving.insert(shard)
            case .announce(let shard, let successor): store.announce([shard: successor], by: member.node)
            case .prepare(let shard): store.prepare([shard], for: member.node)
            case .standBy(let shard, let epoch):
                if standbys.updateValue(epoch, forKey: shard) != epoch {
                    restorations.append((now + restoring, shard, epoch))
                } else if !restorations.contains(where: { $0.shard == shard }) {
                    // Again and again, as a node does: it may have been another's to have for a moment.
                    member.stoodBy(shard: shard, epoch: epoch)
                }
            case .handOver(let shard, let successor):
                serving.remove(shard)
                handOvers.append((now + 50, shard, epochs[shard] ?? member.renewing[shard] ?? 0, successor))
            case .drop(let shard): serving.remove(shard)
            }
        }
    }
}
