import Cluster
import Testing

@Suite("What a node restored of a shard ahead")
struct StandbyTests {
    struct Row: Sendable {
        var lease: ClusterView.Lease
        var epoch: Int64
        var hasDatasets = true
        var mayPass: Bool
        var isOfUse: Bool
    }

    @Test(
        "It is of use while the shard may pass to the node, and once it has where it holds datasets",
        arguments: [
            // The owner is there, and names nobody.
            Row(lease: .init(owner: "b", epoch: 4), epoch: 5, mayPass: false, isOfUse: false),
            // It is silent, or names this node or another one.
            Row(lease: .init(owner: "b", epoch: 4, isOverdue: true), epoch: 5, mayPass: true, isOfUse: true),
            Row(lease: .init(owner: "b", epoch: 4, successor: "a"), epoch: 5, mayPass: true, isOfUse: true),
            Row(lease: .init(owner: "b", epoch: 4, successor: "c"), epoch: 5, mayPass: false, isOfUse: false),
            // Another node had it meanwhile.
            Row(lease: .init(owner: "b", epoch: 5, isOverdue: true), epoch: 5, mayPass: false, isOfUse: false),
            // It came; without datasets it does not begin.
            Row(lease: .init(owner: "a", epoch: 5), epoch: 5, mayPass: false, isOfUse: true),
            Row(lease: .init(owner: "a", epoch: 5), epoch: 5, hasDatasets: false, mayPass: false, isOfUse: false),
        ])
    func use(_ row: Row) {
        let shard = Sharding.shard(of: "d")
        var leases = [ClusterView.Lease](repeating: .init(), count: Sharding.count)
        leases[shard] = row.lease
        let view = ClusterView(nodes: [], leases: leases, datasets: row.hasDatasets ? ["d"] : [])
        #expect(view.mayPass(shard, to: "a", epoch: row.epoch) == row.mayPass)
        #expect(view.isStandby(of: shard, epoch: row.epoch, ofUseTo: "a") == row.isOfUse)
    }
}
