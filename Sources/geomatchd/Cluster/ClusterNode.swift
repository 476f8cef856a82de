import Cluster
import DaemonCore
import Datasets
import Foundation
import Logging
import MQTTDoor
import MQTTLink
import PostgresStore
import Synchronization
import Wire

/// A node of a cluster: renews its leases, and serves the shards that are its own.
///
/// One thread renews and decides (see ``Member``); shards begin and end on threads of their own, so that none holds up the renewal.
///
/// `@unchecked Sendable`: what is marked so is guarded by `lock`, the rest belongs to the thread of the leases.
final class ClusterNode: @unchecked Sendable {
    let name: String
    let health: Health
    let clock: LeaseClock
    let cluster: PostgresCluster
    let door: NodeDoor
    let log: Logger
    let status: StatusMessage
    let settings: Settings
    var around: ShardDaemon.Surroundings?

    /// Signalled where the next beat is not to be waited for.
    let hurried = DispatchSemaphore(value: 0)

    private let isHurrying = Atomic(false)

    // The thread of the leases.
    var epochs = 0
    private var isStoreLost = false
    var wasOnline = false
    private var isReplaced = false

    // Guarded by the lock.
    let lock = NSLock()
    var member: Member
    private var entry: NodeEntry
    var view: ClusterView?
    var shards: [Int: ShardDaemon] = [:]
    /// Shards that begin on a thread of their own, and those that end there.
    var starting: Set<Int> = []
    var ending: Set<Int> = []
    /// Shards whose owners are silent or are to hand them over to this node, and those that are being restored for that.
    var standbys: [Int: RestoredShard] = [:]
    var standingBy: Set<Int> = []
    /// How often a shard was restored for that, with the same epoch.
    var tries: [Int: (epoch: Int64, count: Int)] = [:]
    /// Shards that ended to be handed over.
    var ended: [(shard: Int, epoch: Int64, successor: String?)] = []
    var fenced: Set<Int> = []
    /// What is to be passed on to shards that do not run yet.
    var waiting: [Int: [RoutedMessage]] = [:]
    /// What is for shards that nobody has at present.
    var ownerless: [OwnerlessMessage] = []
    /// What datasets hold and is not written to the store yet, by dataset.
    private var contents: [String: SharedContents] = [:]
    private var isWritingContents = false
    /// How shards read other ecosystems; a reload may change it.
    var adapters: [AdapterRule]

    struct OwnerlessMessage {
        var message: RoutedMessage
        var since: Int64
        /// Another node passed it on: it is not passed on again, or two that see different owners would do so for ever.
        var wasPassedOn: Bool
    }

    init(
        name: String, settings: Settings, cluster: PostgresCluster, door: NodeDoor, status: StatusMessage, clock: LeaseClock,
        log: Logger
    ) {
        self.name = name
        self.settings = settings
        adapters = settings.adapters
        self.cluster = cluster
        self.door = door
        self.status = status
        self.clock = clock
        self.log = log
        health = door.health
        member = Member(node: name)
        entry = NodeEntry(name: name, life: UUID().uuidString, address: settings.advertisedAddress)
    }

    /// Enters the cluster. A node of this name that has just died is waited for.
    func join() throws(Daemon.Failure) {
        let deadline = LeaseClock.now() + Member.leaseMilliseconds + 1000
        while true {
            do {
                return try cluster.leases.join(entry)
            } catch JoinRefusal.nameInUse {
                guard LeaseClock.now() >= deadline else {
                    usleep(200_000)
                    continue
                }
                throw .unavailable("--node \(name): a node of this name lives in the cluster; choose another")
            } catch JoinRefusal.otherCluster(let other) {
                throw .unavailable("store: the cluster `\(other)` uses it; give --cluster \(other), or another store")
            } catch {
                throw .unavailable("store: \(error)")
            }
        }
    }

    // MARK: From any thread

    /// What the store said last.
    var lastView: ClusterView? { lock.withLock { view } }

    /// What serves a dataset here; nil where another node does, or nobody.
    func shard(of dataset: String) -> ShardDaemon? { lock.withLock { shards[Sharding.shard(of: dataset)] } }

    /// All that run here.
    var runningShards: [ShardDaemon] { lock.withLock { Array(shards.values) } }

    /// Whether broker and store are reached, and every shard that runs is online; else why not.
    var serviceProblem: String? {
        if !door.reachesBroker { return "the broker does not answer" }
        if !clock.isFresh { return "the store is not reached" }
        return runningShards.allSatisfy(\.isOnline) ? nil : "a shard begins"
    }

    var isComplete: Bool { clock.isFresh ? lastView?.isComplete ?? false : true }

    /// What a dataset holds changed: it is written to the store with the next beat.
    func note(_ contents: SharedContents) { lock.withLock { self.contents[contents.dataset] = contents } }

    func hurry() {
        hurried.signal()
    }

    /// Has the store asked at once, however often this is called until then.
    func lookAgain() {
        if !isHurrying.exchange(true, ordering: .relaxed) { hurried.signal() }
    }

    /// Hands everything over, and ends.
    func leave() {
        lock.withLock { member.leave() }
        hurried.signal()
    }

    /// Has shards read other ecosystems by these rules, those that begin later, too, unless a dataset has the name of their topics.
    ///
    /// - Returns: Whether they do.
    func reload(adapters rules: [AdapterRule]) -> Bool {
        let datasets = lastView?.datasets ?? []
        if let (index, problem) = AdapterRule.overlap(in: rules, prefix: settings.topicsPrefix, datasets: datasets) {
            log.error("adapters stay as they were", metadata: ["adapters[\(index)].filter": "\(problem)"])
            return false
        }
        lock.withLock {
            adapters = rules
            for shard in shards.values { shard.reload(adapters: rules) }
        }
        return true
    }

    // MARK: The thread

    /// Renews until everything is handed over. Blocks.
    func run(_ surroundings: ShardDaemon.Surroundings) {
        around = surroundings
        while true {
            let beganAt = LeaseClock.now()
            let pause = beat()
            if lock.withLock({
                member.isLeaving && member.renewing.isEmpty && starting.isEmpty && ending.isEmpty && ended.isEmpty
            }) {
                break
            }
            if lock.withLock({ member.isLeaving && !member.renewing.isEmpty && hasExpired(at: LeaseClock.now()) }) {
                log.warning("left without handing over: the store is not reached")
                abandon()
                break
            }
            // Not the wall clock, which may be set meanwhile.
            _ = hurried.wait(timeout: .now() + .milliseconds(Int(pause)))
            // However many ask.
            let rest = beganAt + Member.hurriedBeatMilliseconds - LeaseClock.now()
            if rest > 0 { usleep(useconds_t(rest * 1000)) }
        }
        if !isReplaced {
            do { try cluster.leases.leave(entry) } catch {
                log.warning(
                    "the store does not know that this node left: its leases end by themselves", metadata: ["error": "\(error)"])
            }
        }
        log.info("left the cluster", metadata: ["node": "\(name)"])
    }

    /// - Returns: How long until the next one, in milliseconds.
    private func beat() -> Int64 {
        health.countTurn()
        isHurrying.store(false, ordering: .relaxed)
        handOverEnded()
        let (entry, renewing) = lock.withLock { () -> (NodeEntry, [Int: Int64]) in
            self.entry.isLeaving = member.isLeaving
            self.entry.reachesBroker = door.reachesBroker
            return (self.entry, member.renewing)
        }
        let sentAt = LeaseClock.now()
        do {
            let view = try cluster.leases.renew(entry, leases: renewing)
            noteStore(nil)
            let steps = lock.withLock { () -> [Member.Step] in
                self.view = view
                member.note(reachesBroker: entry.reachesBroker, at: sentAt)
                let steps = member.renewed(view, sentAt: sentAt)
                for case .drop(let shard) in steps { shards[shard]?.forbid() }
                noteFollowers(steps, view)
                return steps
            }
            // Not before: what was lost must not become fresh again.
            clock.renewed(at: sentAt)
            let isOver = try carryOut(steps, view)
            standDown(view)
            routeOwnerless()
            startMissing(view)
            report(view, askedAt: sentAt)
            writeContents()
            return isOver ? 0 : lock.withLock { member.pause }
        } catch JoinRefusal.replaced {
            isReplaced = true
            health.end(.refused("another node has the name `\(name)` in the cluster by now"))
            abandon()
            return Member.beatMilliseconds
        } catch {
            noteStore(error)
            endStreamsOfLost()
            return Member.beatMilliseconds
        }
    }

    /// What is written is left for those that are to have a shard, from before they hear of that. Only while the lock is held.
    private func noteFollowers(_ steps: [Member.Step], _ view: ClusterView) {
        for (shard, daemon) in shards { daemon.isFollowed = view.leases[shard].successor != nil }
        for case .announce(let shard, let successor) in steps { shards[shard]?.isFollowed = successor != nil }
    }

    /// On a thread of its own: it must not hold up the renewal.
    private func writeContents() {
        let changed = lock.withLock { () -> [SharedContents] in
            guard !contents.isEmpty, !isWritingContents else { return [] }
            isWritingContents = true
            defer { contents = [:] }
            return Array(contents.values)
        }
        guard !changed.isEmpty else { return }
        onThread { [self] in
            let failure: (any Error)?
            do {
                try cluster.write(changed)
                failure = nil
            } catch { failure = error }
            if let failure {
                log.warning("contents of datasets not written, tried again", metadata: ["error": "\(failure)"])
            }
            lock.withLock {
                isWritingContents = false
                // What changed meanwhile is newer.
                if failure != nil { contents.merge(changed.map { ($0.dataset, $0) }) { newer, _ in newer } }
            }
        }
    }

    /// All leases have ended by now. Only while the lock is held.
    private func hasExpired(at now: Int64) -> Bool {
        member.renewedAt.map { now - $0 > Member.leaseMilliseconds + Member.patienceMilliseconds } ?? true
    }

    /// The clients of shards that others may have by now look for their owner.
    private func endStreamsOfLost() {
        guard !clock.isFresh else { return }
        for shard in runningShards where !shard.isOnline { shard.running.http?.handOver() }
    }

    private func noteStore(_ error: (any Error)?) {
        guard isStoreLost != (error != nil) else { return }
        isStoreLost = error != nil
        if let error {
            log.error("leases cannot be renewed", metadata: ["error": "\(error)"])
        } else {
            log.info("leases are renewed again")
        }
    }

    func onThread(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.stackSize = 4 << 20
        thread.start()
    }

}
