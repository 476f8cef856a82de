import Cluster
import Datasets
import MQTTLink
import PostgresStore
import Records
import Store

/// What the store says of a shard: restored as it is taken, or before, as its owner falls silent.
///
/// `@unchecked Sendable`: it is used by one thread after the other.
final class RestoredShard: @unchecked Sendable {
    let epoch: Int64
    let store: PostgresStore
    /// What the session of the shard, which has filters of its own at the broker, is known by.
    let broker: String
    let hub: Hub
    /// What it was subscribed to.
    let filters: [String]
    private let timesWritten: Int64

    init(_ shard: Int, epoch: Int64, _ around: ShardDaemon.Surroundings) throws {
        self.epoch = epoch
        let daemon = around.daemon
        store = around.cluster.store(of: shard, epoch: epoch, isSuspect: { [clock = around.clock] in !clock.isFresh })
        var configuration = daemon.hubConfiguration(
            identity: around.identity, access: around.access, push: around.push.offer, signKey: around.signKey)
        configuration.numbering = Numbering(step: Int64(Sharding.count), remainder: Int64(shard))
        configuration.clusterStatus = around.clusterStatus
        configuration.datasetsElsewhere = { [cluster = around.cluster, clock = around.clock] in
            // A store that cannot be reached is not waited for.
            (clock.isFresh ? cluster.datasets : cluster.leases.knownDatasets).filter { Sharding.shard(of: $0.id) != shard }
        }
        configuration.contentsElsewhere = { [cluster = around.cluster, clock = around.clock] in
            clock.isFresh ? cluster.contents(of: $0) : [:]
        }
        configuration.noteContents = { [note = around.noteContents] dataset, contents in
            let value = contents.map { String(decoding: $0, as: UTF8.self) }
            note(SharedContents(dataset: dataset, epoch: epoch, value: value))
        }
        configuration.keysElsewhere = KeysElsewhere(
            keeps: { $0 != AccessKeyRecord.anyDataset && Sharding.shard(of: $0) == shard },
            stored: { [cluster = around.cluster, clock = around.clock] in
                clock.isFresh ? (try? cluster.accessKeys(of: $0)) ?? [] : []
            },
            deleted: { [front = around.front] in front?.keys.forget($0) })
        broker = "\(around.endpoint.name)#\(shard)"
        // Before anything else is read: what is written meanwhile is noticed.
        timesWritten = try store.timesWritten
        (hub, filters) = try daemon.restoredHub(configuration, store: store, broker: broker)
    }

    /// Whether it can be served: nobody has written since. Asked when nobody else can any more.
    func isCurrent(with epoch: Int64) throws -> Bool { try self.epoch == epoch && store.timesWritten == timesWritten }
}
