import Cluster
import DaemonCore
import Datasets
import Foundation
import MQTTLink
import PostgresStore
import Records
import Store

/// What the store says of a shard: restored as it is taken, or before, as its owner falls silent or is to hand it over. It follows what is
/// written meanwhile.
///
/// `@unchecked Sendable`: the lock guards what changes until the restoration is complete; then it is used by one thread after the other.
final class RestoredShard: @unchecked Sendable {
    let epoch: Int64
    let store: PostgresStore
    /// What the session of the shard, which has filters of its own at the broker, is known by.
    let broker: String
    let hub: Hub
    private let lock = NSLock()
    private let daemon: Daemon
    private var timesWritten: Int64 = 0
    /// What is before it has been removed.
    private var forgotten: Int64?
    /// What it was subscribed to.
    private var filters: [String] = []
    private var isBroken = false

    init(_ shard: Int, epoch: Int64, _ around: ShardDaemon.Surroundings) throws {
        self.epoch = epoch
        daemon = around.daemon
        store = around.cluster.store(of: shard, epoch: epoch, isSuspect: { [clock = around.clock] in !clock.isFresh })
        var configuration = daemon.hubConfiguration(
            identity: around.identity, access: around.access, push: around.push.offer, signKey: around.signKey)
        configuration.numbering = Numbering(step: Int64(Sharding.count), remainder: Int64(shard))
        configuration.clusterStatus = around.clusterStatus
        configuration.datasetsElsewhere = { [cluster = around.cluster, clock = around.clock] in
            // A store that cannot be reached is not waited for.
            (clock.isFresh ? cluster.datasets : cluster.leases.knownDatasets).filter { Sharding.shard(of: $0.id) != shard }
        }
        configuration.datasetCountElsewhere = { [counts = around.datasetCounts] in
            counts().enumerated().reduce(0) { $1.offset == shard ? $0 : $0 + $1.element }
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
        hub = Hub(configuration)
        let now = CoreClock.system.now()
        timesWritten = try store.restoreShard(repliesSince: now - Hub.repliesMilliseconds) { change in
            note(change)
            try hub.restore(change, at: now)
        }
    }

    private func note(_ change: DurableChange) {
        if case .putFilters(let broker, let held) = change, broker == self.broker { filters = held }
    }

    /// Takes in some of what was written since.
    ///
    /// - Returns: How many commits are missing still; nil where only another restoration helps.
    func catchUp() throws -> Int64? {
        try lock.withLock {
            guard !isBroken, case .changes(let changes, let through, let remaining) = try store.changes(since: timesWritten)
            else { return nil }
            let now = CoreClock.system.now()
            // Until all of it is in, it is as nobody wrote it.
            isBroken = true
            for change in changes {
                note(change)
                guard try hub.follow(change, at: now) else { return nil }
            }
            (isBroken, timesWritten) = (false, through)
            return remaining
        }
    }

    /// Ends the restoration: it can be served. To be called when nobody else can write any more.
    ///
    /// - Returns: The filters that the broker may hold for its session; nil where it must be restored anew.
    func complete(with epoch: Int64) throws -> [String]? {
        guard self.epoch == epoch else { return nil }
        while true {
            guard let remaining = try catchUp() else { return nil }
            if remaining == 0 { break }
        }
        // Who followed may be about to do so once more: from here on the hub is its shard's.
        lock.withLock { isBroken = true }
        hub.endRestoration(liveNumber: try store.highestLiveNumber, matchNumber: try store.highestMatchNumber)
        try daemon.checkAdapters(beside: hub.datasetNames)
        return filters
    }

    /// What was left for those who follow, up to here, is not needed any more.
    func forgetFollowed() {
        lock.withLock {
            guard forgotten != timesWritten, (try? store.forgetChanges(through: timesWritten)) != nil else { return }
            forgotten = timesWritten
        }
    }
}
