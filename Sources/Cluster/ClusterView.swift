/// What the store says of a cluster at one instant, judged by the store's own clock.
public struct ClusterView: Equatable, Sendable {
    public struct Node: Equatable, Sendable {
        public enum State: String, Sendable {
            case online
            /// It hands over what it has.
            case leaving
            /// It has not renewed for longer than a lease.
            case lost
        }

        public var name: String
        public var state: State
        /// Its node session at the broker is open.
        public var reachesBroker: Bool
        /// Where other nodes reach its HTTP; nil where they cannot.
        public var address: String?

        public init(name: String, state: State, reachesBroker: Bool = true, address: String? = nil) {
            self.name = name
            self.state = state
            self.reachesBroker = reachesBroker
            self.address = address
        }
    }

    public struct Lease: Equatable, Sendable {
        /// nil where it was given back, or never taken.
        public var owner: String?
        /// Rises with each owner.
        public var epoch: Int64
        /// Nobody renewed it in time: it may be taken.
        public var isExpired: Bool
        /// Nobody renewed it for half of its time.
        public var isOverdue: Bool
        /// Who is to have it next.
        public var successor: String?
        /// The successor waits for it.
        public var isPrepared: Bool

        public init(
            owner: String? = nil, epoch: Int64 = 0, isExpired: Bool = false, isOverdue: Bool = false, successor: String? = nil,
            isPrepared: Bool = false
        ) {
            self.owner = owner
            self.epoch = epoch
            self.isExpired = isExpired
            self.isOverdue = isOverdue || isExpired
            self.successor = successor
            self.isPrepared = isPrepared
        }
    }

    /// By name.
    public var nodes: [Node]
    /// By shard; all of them.
    public var leases: [Lease]
    /// By shard, what another renewal makes another one; empty where nobody says.
    public var renewals: [Int64] = []
    /// The names of all datasets.
    public var datasets: [String] { didSet { datasetCounts = Self.counts(datasets) } }
    /// How many datasets each shard has.
    public private(set) var datasetCounts: [Int]

    public init(nodes: [Node], leases: [Lease], datasets: [String]) {
        self.nodes = nodes.sorted { $0.name < $1.name }
        self.leases = leases
        self.datasets = datasets
        datasetCounts = Self.counts(datasets)
    }

    private static func counts(_ datasets: [String]) -> [Int] {
        var counts = [Int](repeating: 0, count: Sharding.count)
        for dataset in datasets { counts[Sharding.shard(of: dataset)] += 1 }
        return counts
    }

    /// The nodes that may have shards: those that reach the broker, where any does. Without a broker all keep what they have.
    public var candidates: [String] {
        let online = nodes.filter { $0.state == .online }
        let reaching = online.filter(\.reachesBroker)
        return (reaching.isEmpty ? online : reaching).map(\.name)
    }

    /// Who serves a shard; nil where nobody does.
    public func owner(of shard: Int) -> String? { leases[shard].isExpired ? nil : leases[shard].owner }

    /// Whether a shard may pass to a node with this epoch: its owner is silent or names that node as its successor.
    public func mayPass(_ shard: Int, to node: String, epoch: Int64) -> Bool {
        let lease = leases[shard]
        return (lease.isOverdue || lease.successor == node) && lease.epoch + 1 == epoch
    }

    /// Whether what a node restored of a shard, to serve it with this epoch, may still be served: the shard may pass to it, or has.
    public func isStandby(of shard: Int, epoch: Int64, ofUseTo node: String) -> Bool {
        let lease = leases[shard]
        // One whose datasets were deleted meanwhile does not begin.
        return mayPass(shard, to: node, epoch: epoch)
            || lease.owner == node && lease.epoch == epoch && datasetCounts[shard] > 0
    }

    /// The same without some nodes and what they have.
    func without(_ gone: Set<String>) -> ClusterView {
        var view = self
        view.nodes.removeAll { gone.contains($0.name) }
        for shard in leases.indices {
            if let owner = leases[shard].owner, gone.contains(owner) { view.leases[shard].owner = nil }
        }
        return view
    }

    /// Whether every dataset has an owner.
    public var isComplete: Bool { leases.indices.allSatisfy { datasetCounts[$0] == 0 || owner(of: $0) != nil } }
}
