/// Who should have which shard.
///
/// A shard stays where it is while the numbers of datasets are even, so that a dataset that comes or goes moves no other. Nodes that see
/// the same view come to the same placement.
public struct Placement: Equatable, Sendable {
    /// By shard; nil where there is no candidate.
    public private(set) var owners: [String?]
    private let weights: [Int]
    private let nodes: [String]

    public init(_ view: ClusterView) {
        nodes = view.candidates.sorted()
        weights = view.datasetCounts
        let known = Set(nodes)
        owners = view.leases.indices.map { shard in view.owner(of: shard).flatMap { known.contains($0) ? $0 : nil } }
        guard !nodes.isEmpty else { return }
        placeFree()
        balanceDatasets()
        balanceEmptyShards()
    }

    /// How far apart the numbers of datasets of two nodes may lie: two, or a fifth of an even share.
    public static func tolerance(datasets: Int, nodes: Int) -> Int { max(2, datasets / max(1, nodes) / 5) }

    // MARK: Parts

    private func load(of node: String) -> (datasets: Int, shards: Int) {
        var load = (datasets: 0, shards: 0)
        for (shard, owner) in owners.enumerated() where owner == node {
            load.datasets += weights[shard]
            load.shards += 1
        }
        return load
    }

    private func score(_ node: String, _ shard: Int) -> UInt64 { Rendezvous.score(of: node, for: shard) }

    /// What nobody has goes to the node with the least, the heaviest shards first; of nodes with the same, the rendezvous decides.
    private mutating func placeFree() {
        let free = owners.indices.filter { owners[$0] == nil }.sorted { (-weights[$0], $0) < (-weights[$1], $1) }
        var loads = Dictionary(uniqueKeysWithValues: nodes.map { ($0, load(of: $0)) })
        for shard in free {
            let weight = weights[shard]
            let least = nodes.min { first, second in
                let (one, other) = (loads[first, default: (0, 0)], loads[second, default: (0, 0)])
                let lesser = weight > 0 ? (one.datasets, other.datasets) : (one.shards, other.shards)
                return lesser.0 != lesser.1 ? lesser.0 < lesser.1 : score(first, shard) > score(second, shard)
            }
            guard let least else { return }
            owners[shard] = least
            loads[least, default: (0, 0)].datasets += weight
            loads[least, default: (0, 0)].shards += 1
        }
    }

    /// Moves shards, or swaps two, until the numbers of datasets are even.
    private mutating func balanceDatasets() {
        let tolerance = Self.tolerance(datasets: weights.reduce(0, +), nodes: nodes.count)
        guard difference > tolerance else { return }
        // Each move makes the difference of two nodes smaller; the bound is for a mistake in that.
        for _ in 0..<(4 * Sharding.count) {
            guard difference > 1, improve() else { return }
        }
    }

    private var difference: Int {
        let loads = nodes.map { load(of: $0).datasets }
        return (loads.max() ?? 0) - (loads.min() ?? 0)
    }

    /// - Returns: false where no move between the two nodes that are furthest apart helps.
    private mutating func improve() -> Bool {
        let byLoad = nodes.map { (node: $0, datasets: load(of: $0).datasets) }.sorted {
            ($0.datasets, $0.node) < ($1.datasets, $1.node)
        }
        guard let least = byLoad.first, let most = byLoad.last else { return false }
        let difference = most.datasets - least.datasets
        let given = owners.indices.filter { owners[$0] == most.node && weights[$0] > 0 }
        let taken: [Int?] = [nil] + owners.indices.filter { owners[$0] == least.node && weights[$0] > 0 }.map { $0 }
        var best: (left: Int, isSwap: Int, score: UInt64, given: Int, taken: Int?)?
        for shard in given {
            for other in taken {
                let net = weights[shard] - (other.map { weights[$0] } ?? 0)
                guard net > 0, net < difference else { continue }
                let move = (
                    left: abs(difference - 2 * net), isSwap: other == nil ? 0 : 1, score: .max - score(least.node, shard),
                    given: shard, taken: other
                )
                if best.map({ (move.left, move.isSwap, move.score, move.given) < ($0.left, $0.isSwap, $0.score, $0.given) })
                    != false
                {
                    best = move
                }
            }
        }
        guard let best else { return false }
        owners[best.given] = least.node
        if let taken = best.taken { owners[taken] = most.node }
        return true
    }

    /// Shards without datasets cost nothing to move, and decide where new datasets go.
    private mutating func balanceEmptyShards() {
        let tolerance = Self.tolerance(datasets: Sharding.count, nodes: nodes.count)
        for _ in 0..<Sharding.count {
            let byLoad = nodes.map { (node: $0, shards: load(of: $0).shards) }.sorted {
                ($0.shards, $0.node) < ($1.shards, $1.node)
            }
            guard let least = byLoad.first, let most = byLoad.last, most.shards - least.shards > tolerance else { return }
            let empty = owners.indices.filter { owners[$0] == most.node && weights[$0] == 0 }
            guard let shard = empty.max(by: { score(least.node, $0) < score(least.node, $1) }) else { return }
            owners[shard] = least.node
        }
    }
}
