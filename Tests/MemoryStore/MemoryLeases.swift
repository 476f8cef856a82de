import Cluster
import Synchronization

/// A model of the leases in a store: as the real one, with a clock of its own that a test moves.
public final class MemoryLeases: LeaseStore, Sendable {
    fileprivate struct Node {
        var entry: NodeEntry
        var renewedAt: Int64
    }

    fileprivate struct Row {
        var lease = ClusterView.Lease()
        var until: Int64 = 0
    }

    fileprivate struct State {
        var now: Int64 = 0
        var nodes: [String: Node] = [:]
        var rows = [Row](repeating: Row(), count: Sharding.count)
        var datasets: Set<String> = []
    }

    private let state = Mutex(State())

    public init() {}

    /// The store's clock.
    public var now: Int64 {
        get { state.withLock(\.now) }
        set { state.withLock { $0.now = newValue } }
    }

    public var datasets: Set<String> {
        get { state.withLock(\.datasets) }
        set { state.withLock { $0.datasets = newValue } }
    }

    /// Whether a commit of a shard with this epoch is taken.
    public func holds(_ shard: Int, epoch: Int64) -> Bool { state.withLock { $0.rows[shard].lease.epoch == epoch } }

    public var view: ClusterView { state.withLock { $0.view } }

    public func join(_ node: NodeEntry) throws {
        try state.withLock { state in
            if let known = state.nodes[node.name], state.isAlive(known) { throw JoinRefusal.nameInUse }
            state.nodes[node.name] = Node(entry: node, renewedAt: state.now)
            for shard in state.rows.indices where state.rows[shard].lease.owner == node.name { state.free(shard) }
        }
    }

    public func renew(_ node: NodeEntry, leases: [Int: Int64]) throws -> ClusterView {
        try state.withLock { state in
            guard state.nodes[node.name]?.entry.life == node.life else { throw JoinRefusal.replaced }
            state.nodes[node.name] = Node(entry: node, renewedAt: state.now)
            for (shard, epoch) in leases {
                let lease = state.rows[shard].lease
                guard lease.owner == node.name, lease.epoch == epoch else { continue }
                state.rows[shard].until = state.now + Member.leaseMilliseconds
            }
            return state.view
        }
    }

    public func take(_ shards: [Int: Int64], for node: String) {
        state.withLock { state in
            for (shard, epoch) in shards where state.rows[shard].lease.epoch == epoch && state.isFree(shard) {
                state.give(shard, to: node)
            }
        }
    }

    public func announce(_ successors: [Int: String?], by node: String) {
        state.withLock { state in
            for (shard, successor) in successors where state.rows[shard].lease.owner == node {
                state.rows[shard].lease.successor = successor
                state.rows[shard].lease.isPrepared = false
            }
        }
    }

    public func prepare(_ shards: [Int], for node: String) {
        state.withLock { state in
            for shard in shards where state.rows[shard].lease.successor == node { state.rows[shard].lease.isPrepared = true }
        }
    }

    public func handOver(_ shard: Int, epoch: Int64, to successor: String?) {
        state.withLock { state in
            guard state.rows[shard].lease.epoch == epoch else { return }
            if let successor { state.give(shard, to: successor) } else { state.free(shard) }
        }
    }

    public func leave(_ node: NodeEntry) {
        state.withLock { state in
            if state.nodes[node.name]?.entry.life == node.life { state.nodes[node.name] = nil }
        }
    }
}

extension MemoryLeases.State {
    fileprivate func isAlive(_ node: MemoryLeases.Node) -> Bool { (0..<Member.leaseMilliseconds).contains(now - node.renewedAt) }

    fileprivate func isFree(_ shard: Int) -> Bool {
        rows[shard].lease.owner == nil || rows[shard].until <= now || rows[shard].until > now + Member.leaseMilliseconds
    }

    fileprivate mutating func give(_ shard: Int, to node: String) {
        rows[shard].lease = ClusterView.Lease(owner: node, epoch: rows[shard].lease.epoch + 1)
        rows[shard].until = now + Member.leaseMilliseconds
    }

    fileprivate mutating func free(_ shard: Int) {
        rows[shard].lease = ClusterView.Lease(epoch: rows[shard].lease.epoch + 1)
        rows[shard].until = 0
    }

    fileprivate var view: ClusterView {
        var view = ClusterView(
            nodes: nodes.values.map { node in
                let state: ClusterView.Node.State = isAlive(node) ? (node.entry.isLeaving ? .leaving : .online) : .lost
                return ClusterView.Node(
                    name: node.entry.name, state: state, reachesBroker: node.entry.reachesBroker, address: node.entry.address)
            },
            leases: rows.indices.map { shard in
                var lease = rows[shard].lease
                lease.isExpired = lease.owner != nil && isFree(shard)
                lease.isOverdue = lease.owner != nil && (isFree(shard) || rows[shard].until <= now + Member.leaseMilliseconds / 2)
                return lease
            }, datasets: datasets.sorted())
        view.renewals = rows.map(\.until)
        return view
    }
}
