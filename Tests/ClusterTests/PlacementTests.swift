import Cluster
import SeededRandom
import Testing

@Suite("Placement")
struct PlacementTests {
    /// A cluster of these nodes that follows its placement.
    private func placed(_ view: ClusterView) -> ClusterView {
        var placed = view
        for (shard, owner) in Placement(view).owners.enumerated() {
            placed.leases[shard] = ClusterView.Lease(owner: owner, epoch: 1)
        }
        return placed
    }

    private func view(nodes: Int, datasets: Int) -> ClusterView {
        ClusterView(
            nodes: (0..<nodes).map { ClusterView.Node(name: "node-\($0)", state: .online) },
            leases: Array(repeating: ClusterView.Lease(), count: Sharding.count), datasets: (0..<datasets).map { "dataset\($0)" })
    }

    private func loads(_ view: ClusterView) -> [Int] {
        view.candidates.map { node in
            view.leases.indices.filter { view.leases[$0].owner == node }.reduce(0) { $0 + view.datasetCounts[$1] }
        }
    }

    private func isEven(_ view: ClusterView) -> Bool {
        let loads = loads(view)
        let difference = (loads.max() ?? 0) - (loads.min() ?? 0)
        return difference <= Placement.tolerance(datasets: view.datasets.count, nodes: loads.count)
    }

    @Test("A dataset keeps its shard for ever")
    func shards() {
        #expect(["demo", "home", "a", "b", "München"].map(Sharding.shard) == [42, 0, 56, 5, 36])
        let counts = view(nodes: 1, datasets: 6400).datasetCounts
        #expect(counts.allSatisfy { (50...150).contains($0) })
    }

    @Test("One node has everything; without a node nobody has anything")
    func alone() {
        #expect(Set(Placement(view(nodes: 1, datasets: 10)).owners) == ["node-0"])
        #expect(Set(Placement(view(nodes: 0, datasets: 10)).owners) == [nil])
    }

    @Test("Numbers of datasets are even, whatever they are", arguments: [2, 3, 4, 7])
    func evenness(nodes: Int) {
        for datasets in [0, 1, 2, 3, 5, 9, 10, 20, 33, 64, 100, 250, 1000] {
            let placed = placed(view(nodes: nodes, datasets: datasets))
            #expect(isEven(placed), "\(datasets) datasets: \(loads(placed))")
            #expect(Placement(placed).owners == placed.leases.map(\.owner))
        }
    }

    @Test("A third node gets a third, and no more than it takes moves")
    func joining() {
        let two = placed(view(nodes: 2, datasets: 90))
        var three = two
        three.nodes.append(ClusterView.Node(name: "node-2", state: .online))
        let after = placed(three)
        #expect(isEven(after))
        let moved = two.leases.indices.filter { two.leases[$0].owner != after.leases[$0].owner }
        #expect(moved.allSatisfy { after.leases[$0].owner == "node-2" || two.datasetCounts[$0] > 0 })
        #expect(moved.reduce(0) { $0 + two.datasetCounts[$1] } <= 45)
    }

    @Test("What a lost node had is taken over, and all else stays")
    func losing() {
        let three = placed(view(nodes: 3, datasets: 60))
        var two = three
        two.nodes[1].state = .lost
        let after = Placement(two).owners
        for (shard, lease) in three.leases.enumerated() where lease.owner != "node-1" { #expect(after[shard] == lease.owner) }
        #expect(!after.contains("node-1") && !after.contains(nil))
    }

    @Test("A node that does not reach the broker has nothing while another does; when none does, all keep what they have")
    func broker() {
        var view = placed(view(nodes: 3, datasets: 30))
        view.nodes[0].reachesBroker = false
        #expect(!Placement(view).owners.contains("node-0"))
        for index in view.nodes.indices { view.nodes[index].reachesBroker = false }
        #expect(Placement(view).owners == view.leases.map(\.owner))
    }

    @Test("A dataset that comes moves no other while all is even")
    func creating() {
        let before = placed(view(nodes: 3, datasets: 30))
        var after = before
        after.datasets.append("another")
        #expect(Placement(after).owners == before.leases.map(\.owner))
    }

    @Test("From any view everybody comes to an even placement that stays")
    func random() {
        var random = SplitMix64.forTest()
        for _ in 0..<300 {
            var view = view(nodes: 1 + random.below(6), datasets: 0)
            view.datasets = (0..<random.below(200)).map { _ in "d\(random.next() % 100_000)" }
            for shard in view.leases.indices {
                view.leases[shard] = ClusterView.Lease(
                    owner: random.chance(80) ? "node-\(random.below(8))" : nil, epoch: 1, isExpired: random.chance(10))
            }
            let placed = placed(view)
            let heaviest = view.datasetCounts.max() ?? 0
            let loads = loads(placed)
            let tolerance = max(heaviest, Placement.tolerance(datasets: view.datasets.count, nodes: loads.count))
            #expect((loads.max() ?? 0) - (loads.min() ?? 0) <= tolerance, "\(loads)")
            #expect(Placement(placed).owners == placed.leases.map(\.owner))
        }
    }
}
