import Cluster
import Datasets
import Logging
import MQTTDoor

// What others learn.

extension ClusterNode {
    func report(_ view: ClusterView, askedAt instant: Int64) {
        let (serving, running, isBusy) = lock.withLock { (member.serving, shards, !starting.isEmpty) }
        let datasets = serving.keys.reduce(0) { $0 + view.datasetCounts[$1] }
        door.set(status: status.encode(isOnline: true, node: (datasets, epochs)))
        running[0]?.running.door.note(datasets: Set(view.datasets), askedAt: instant)
        // Requests in unknown datasets are shard 0's: before it is served, nobody would answer them.
        let isReceiving = view.owner(of: 0).map { $0 != name || running[0] != nil } ?? false
        guard !wasOnline, door.reachesBroker, !isBusy, isReceiving, running.values.allSatisfy(\.isOnline), view.isComplete else {
            return
        }
        wasOnline = true
        log.info(
            "online",
            metadata: ["node": "\(name)", "cluster": "\(settings.cluster ?? "")", "datasets": .stringConvertible(datasets)])
        health.becomeOnline()
    }

    /// `geomatch/status/{node}` of a node that is gone.
    var goodbye: [UInt8] { status.encode(isOnline: false, node: (0, epochs)) }

    /// For `cluster/status`.
    var clusterStatus: ClusterStatus {
        guard let view = lastView else { return ClusterStatus(nodes: [], datasets: []) }
        let nodes = view.nodes.map { node in
            let count = view.leases.indices.filter { view.leases[$0].owner == node.name }.reduce(0) {
                $0 + view.datasetCounts[$1]
            }
            return ClusterStatus.Node(name: node.name, state: node.state.rawValue, datasets: count)
        }
        let datasets = view.datasets.map { dataset in
            let lease = view.leases[Sharding.shard(of: dataset)]
            return ClusterStatus.Dataset(
                name: dataset, owner: lease.owner, epoch: lease.epoch, isWaiting: lease.owner == nil || lease.isExpired)
        }
        return ClusterStatus(nodes: nodes, datasets: datasets)
    }
}
