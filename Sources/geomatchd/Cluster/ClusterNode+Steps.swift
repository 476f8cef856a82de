import Cluster
import Foundation
import Logging
import Wire

// Carries out what the member says: shards begin, end and are handed over.

extension ClusterNode {
    /// - Returns: Whether the store is to be asked again at once.
    func carryOut(_ steps: [Member.Step], _ view: ClusterView) throws -> Bool {
        var (taken, announced, prepared): ([Int: Int64], [Int: String?], [Int]) = ([:], [:], [])
        for step in steps {
            switch step {
            case .take(let shard, let epoch): taken[shard] = epoch
            case .standBy(let shard, let epoch): standBy(shard, epoch)
            case .serve(let shard, let epoch):
                epochs += 1
                log.debug("shard taken", metadata: ["shard": .stringConvertible(shard), "epoch": .stringConvertible(epoch)])
            case .announce(let shard, let successor): announced[shard] = .some(successor)
            case .prepare(let shard): prepared.append(shard)
            case .handOver(let shard, let successor): end(shard, epoch: view.leases[shard].epoch, for: successor)
            case .drop(let shard): drop(shard)
            }
        }
        if !taken.isEmpty { try cluster.leases.take(taken, for: name) }
        if !announced.isEmpty { try cluster.leases.announce(announced, by: name) }
        if !prepared.isEmpty { try cluster.leases.prepare(prepared, for: name) }
        return !taken.isEmpty
    }

    /// Shards with something to serve begin.
    func startMissing(_ view: ClusterView) {
        for daemon in lock.withLock({ shards }).values {
            guard let ending = daemon.running.core.health.ending else { continue }
            health.end(ending)
            leave()
        }
        let fenced = lock.withLock { () -> Set<Int> in
            defer { self.fenced = [] }
            return self.fenced
        }
        // A loop that gave up as the lease was not renewed begins anew, with an epoch of its own: what the former one may still commit is
        // refused.
        for shard in fenced.union(lock.withLock { shards.filter { $0.value.hasEnded }.keys }) {
            drop(shard, beginsAnewFrom: view.leases[shard].epoch)
        }
        let wanted = Set(settings.datasets.map(Sharding.shard))
        for (shard, epoch) in lock.withLock({ member.serving }) {
            let isNeeded = lock.withLock {
                shards[shard] == nil && !starting.contains(shard) && !ending.contains(shard)
                    && !ended.contains { $0.shard == shard }
                    && (shard == 0 || view.datasetCounts[shard] > 0 || wanted.contains(shard) || waiting[shard] != nil)
            }
            if isNeeded { start(shard, epoch) }
        }
    }

    func start(_ shard: Int, _ epoch: Int64) {
        guard var surroundings = around else { return }
        let rules = lock.withLock {
            starting.insert(shard)
            return adapters
        }
        surroundings.daemon.settings.adapters = rules
        let around = surroundings
        onThread {
            while self.lock.withLock({ self.standingBy.contains(shard) }) { usleep(5000) }
            let standby = self.lock.withLock { self.standbys.removeValue(forKey: shard) }
            do {
                let daemon = try ShardDaemon(shard, epoch: epoch, around, standby: standby) { [weak self] in
                    guard let self else { return }
                    lock.withLock { _ = fenced.insert(shard) }
                    hurried.signal()
                }
                self.started(daemon, reading: rules)
            } catch {
                self.log.error(
                    "shard cannot be served, tried again", metadata: ["shard": .stringConvertible(shard), "error": "\(error)"])
                self.lock.withLock { _ = self.starting.remove(shard) }
            }
        }
    }

    /// - Parameter rules: How it reads other ecosystems.
    private func started(_ daemon: ShardDaemon, reading rules: [AdapterRule]) {
        let isOurs = lock.withLock { () -> Bool in
            starting.remove(daemon.shard)
            guard member.serving[daemon.shard] == daemon.epoch else { return false }
            shards[daemon.shard] = daemon
            // A reload may have come while it began.
            if rules != adapters { daemon.reload(adapters: adapters) }
            for message in waiting.removeValue(forKey: daemon.shard) ?? [] { daemon.running.door.receive(message) }
            return true
        }
        if isOurs { daemon.begin() } else { daemon.drop() }
        hurry()
    }

    func end(_ shard: Int, epoch: Int64, for successor: String?) {
        let (daemon, isStarting) = lock.withLock {
            giveBack(shard)
            return (shards.removeValue(forKey: shard), starting.contains(shard))
        }
        guard daemon != nil || isStarting else {
            lock.withLock { ended.append((shard, epoch, successor)) }
            return hurry()
        }
        lock.withLock { _ = ending.insert(shard) }
        onThread {
            // One that begins finds that it is not to.
            while self.lock.withLock({ self.starting.contains(shard) }) { usleep(5000) }
            daemon?.end(hasSuccessor: successor != nil)
            self.lock.withLock {
                self.ending.remove(shard)
                self.ended.append((shard, epoch, successor))
            }
            self.hurry()
        }
    }

    func handOverEnded() {
        let ended = lock.withLock { () -> [(shard: Int, epoch: Int64, successor: String?)] in
            defer { self.ended = [] }
            return self.ended
        }
        for (shard, epoch, successor) in ended {
            do {
                try cluster.leases.handOver(shard, epoch: epoch, to: successor)
                log.debug("shard handed over", metadata: ["shard": .stringConvertible(shard), "to": "\(successor ?? "")"])
                lock.withLock { member.released(shard: shard) }
            } catch {
                log.warning(
                    "shard not handed over, tried again", metadata: ["shard": .stringConvertible(shard), "error": "\(error)"])
                lock.withLock { self.ended.append((shard, epoch, successor)) }
            }
        }
    }

    /// - Parameter epoch: Where it is served here again, with another epoch; nil: it is not.
    func drop(_ shard: Int, beginsAnewFrom epoch: Int64? = nil) {
        let dropped = lock.withLock { () -> ShardDaemon? in
            giveBack(shard)
            guard let daemon = shards.removeValue(forKey: shard) else { return nil }
            ending.insert(shard)
            return daemon
        }
        guard let dropped else { return }
        log.notice("shard dropped: it was not this node's for a while", metadata: ["shard": .stringConvertible(shard)])
        onThread {
            dropped.drop()
            self.lock.withLock {
                self.ending.remove(shard)
                if let epoch { self.ended.append((shard, epoch, self.name)) }
            }
            self.hurry()
        }
    }

    /// This node is no node any more.
    func abandon() {
        let all = lock.withLock { () -> [Int: ShardDaemon] in
            defer { shards = [:] }
            for shard in member.renewing.keys { member.released(shard: shard) }
            member.leave()
            return shards
        }
        for daemon in all.values { daemon.drop() }
    }
}
