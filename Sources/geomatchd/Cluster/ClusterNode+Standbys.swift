import Cluster
import Foundation
import Logging

// Shards that are restored before they come.

extension ClusterNode {
    /// Restores a shard that this node will have, and follows it until it comes.
    func standBy(_ shard: Int, _ epoch: Int64) {
        let count = lock.withLock { () -> Int? in
            guard standbys[shard]?.epoch != epoch, !standingBy.contains(shard) else { return nil }
            let count = tries[shard].map { $0.epoch == epoch ? $0.count : 0 } ?? 0
            tries[shard] = (epoch, count + 1)
            // It comes as it is, and is restored then.
            if count >= Self.triesMax { member.stoodBy(shard: shard, epoch: epoch) } else { standingBy.insert(shard) }
            return count
        }
        guard let count, count < Self.triesMax, let around else { return }
        log.debug("standing by", metadata: ["shard": .stringConvertible(shard), "epoch": .stringConvertible(epoch)])
        onThread {
            let restored: RestoredShard?
            do {
                restored = try RestoredShard(shard, epoch: epoch, around)
            } catch {
                restored = nil
                self.log.warning(
                    "shard cannot be restored ahead", metadata: ["shard": .stringConvertible(shard), "error": "\(error)"])
            }
            self.lock.withLock {
                self.standbys[shard] = restored
                self.standingBy.remove(shard)
            }
            if let restored { self.follow(shard, restored) }
        }
    }

    /// Takes in what the owner of a shard writes, until the shard comes or is of no use any more.
    private func follow(_ shard: Int, _ restored: RestoredShard) {
        let since = LeaseClock.now()
        var isReady = false
        while lock.withLock({ standbys[shard] === restored }) {
            let remaining: Int64
            do {
                guard let found = try restored.catchUp() else {
                    // With the next beat it is restored anew.
                    return lock.withLock { if standbys[shard] === restored { standbys[shard] = nil } }
                }
                remaining = found
                restored.forgetFollowed()
            } catch {
                log.debug("cannot follow", metadata: ["shard": .stringConvertible(shard), "error": "\(error)"])
                usleep(500_000)
                continue
            }
            if isReady || remaining == 0 || LeaseClock.now() - since > Self.followingMilliseconds {
                // Again and again: it may have been another node's to have for a moment.
                lock.withLock { member.stoodBy(shard: shard, epoch: restored.epoch) }
                if !isReady { hurry() }
                isReady = true
            }
            if remaining == 0 { usleep(50_000) }
        }
    }

    /// A shard that changes in a way that cannot be followed is not restored more often.
    private static let triesMax = 3
    /// Where a shard changes faster than it is followed, it comes after so long.
    private static let followingMilliseconds: Int64 = 10_000

    /// Forgets what was restored for nothing: its owner is back, or another node has it.
    func standDown(_ view: ClusterView) {
        let over = lock.withLock { () -> [RestoredShard] in
            let over = standbys.filter { !view.isStandby(of: $0.key, epoch: $0.value.epoch, ofUseTo: name) }
            for shard in over.keys { standbys[shard] = nil }
            // What was tried for an owner that came back says nothing of a later move.
            tries = tries.filter { view.mayPass($0.key, to: name, epoch: $0.value.epoch) }
            return Array(over.values)
        }
        // To free a large one takes long.
        if !over.isEmpty { onThread { _ = over } }
    }
}
