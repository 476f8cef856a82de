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
    private let cluster: PostgresCluster
    private let door: NodeDoor
    private let log: Logger
    private let status: StatusMessage
    private let settings: Settings
    private var around: ShardDaemon.Surroundings?

    /// Signalled where the next beat is not to be waited for.
    private let hurried = DispatchSemaphore(value: 0)

    private let isHurrying = Atomic(false)

    // The thread of the leases.
    private var epochs = 0
    private var isStoreLost = false
    private var wasOnline = false
    private var isReplaced = false

    // Guarded by the lock.
    private let lock = NSLock()
    private var member: Member
    private var entry: NodeEntry
    private var view: ClusterView?
    private var shards: [Int: ShardDaemon] = [:]
    /// Shards that begin on a thread of their own, and those that end there.
    private var starting: Set<Int> = []
    private var ending: Set<Int> = []
    /// Shards whose owners are silent or are to hand them over to this node, and those that are being restored for that.
    private var standbys: [Int: RestoredShard] = [:]
    private var standingBy: Set<Int> = []
    /// How often a shard was restored for that, with the same epoch.
    private var tries: [Int: (epoch: Int64, count: Int)] = [:]
    /// Shards that ended to be handed over.
    private var ended: [(shard: Int, epoch: Int64, successor: String?)] = []
    private var fenced: Set<Int> = []
    /// What is to be passed on to shards that do not run yet.
    private var waiting: [Int: [RoutedMessage]] = [:]
    /// What is for shards that nobody has at present.
    private var homeless: [Homeless] = []
    /// What datasets hold and is not written to the store yet, by dataset.
    private var contents: [String: SharedContents] = [:]
    private var isWritingContents = false
    /// How shards read other ecosystems; a reload may change it.
    private var adapters: [AdapterRule]

    private struct Homeless {
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

    /// Where a shard is at present.
    enum ShardPlace {
        case here(ShardDaemon)
        /// It begins here.
        case beginning
        case elsewhere(ClusterView.Node)
        case nobody
    }

    /// Has a shard that is this node's begin, where it does not run yet.
    func place(of shard: Int) -> ShardPlace {
        lock.withLock {
            if let daemon = shards[shard] {
                // Who does not reach the store may have lost it; while the session at the broker is open, nobody has taken it.
                return clock.isFresh || daemon.isOnline ? .here(daemon) : .nobody
            }
            if member.serving[shard] != nil {
                if waiting[shard] == nil { waiting[shard] = [] }
                lookAgain()
                return .beginning
            }
            guard let owner = view?.owner(of: shard), owner != name, let node = view?.nodes.first(where: { $0.name == owner })
            else {
                lookAgain()
                return .nobody
            }
            return .elsewhere(node)
        }
    }

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

    /// A message for a shard: it goes to its owner, here or elsewhere, or waits until the shard has one.
    ///
    /// - Parameter wasPassedOn: By another node.
    func route(_ message: RoutedMessage, wasPassedOn: Bool = false) {
        let arrival = Homeless(message: message, since: LeaseClock.now(), wasPassedOn: wasPassedOn)
        if let owner = lock.withLock({ place(arrival) }) { door.send(message, to: owner) }
    }

    /// - Returns: The other node that the message is for; nil where it is kept here. Only while the lock is held.
    private func place(_ arrival: Homeless) -> String? {
        let message = arrival.message
        if let shard = shards[message.shard] {
            shard.running.door.receive(message)
        } else if member.serving[message.shard] != nil, waiting[message.shard, default: []].count < Self.homelessMax {
            waiting[message.shard, default: []].append(message)
            hurried.signal()
        } else if !arrival.wasPassedOn, let owner = view?.owner(of: message.shard), owner != name {
            return owner
        } else if homeless.count < Self.homelessMax {
            homeless.append(arrival)
        } else {
            noteLost()
        }
        return nil
    }

    private func noteLost() { log.error("a message is lost: nobody has had its dataset for too long") }

    /// A shard is no longer served here: what waits for it looks for its owner again. Only while the lock is held.
    private func rehome(_ shard: Int) {
        for message in waiting.removeValue(forKey: shard) ?? [] {
            homeless.append(Homeless(message: message, since: LeaseClock.now(), wasPassedOn: false))
        }
    }

    /// What came for shards that were just then nobody's.
    private func routeHomeless() {
        let now = LeaseClock.now()
        let leaving = lock.withLock { () -> [(RoutedMessage, String)] in
            let all = homeless
            homeless = []
            return all.compactMap { arrival in
                guard now - arrival.since < Self.homelessMilliseconds else {
                    noteLost()
                    return nil
                }
                return place(arrival).map { (arrival.message, $0) }
            }
        }
        for (message, owner) in leaving { door.send(message, to: owner) }
    }

    private static let homelessMax = 10_000
    private static let homelessMilliseconds: Int64 = 10_000

    // MARK: The thread

    /// Renews until everything is handed over. Blocks.
    func run(_ surroundings: ShardDaemon.Surroundings) {
        around = surroundings
        while true {
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
            routeHomeless()
            startMissing(view)
            report(view)
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

    // MARK: Steps

    /// - Returns: Whether the store is to be asked again at once.
    private func carryOut(_ steps: [Member.Step], _ view: ClusterView) throws -> Bool {
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
    private func startMissing(_ view: ClusterView) {
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

    private func start(_ shard: Int, _ epoch: Int64) {
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

    /// Restores a shard that this node will have, and follows it until it comes.
    private func standBy(_ shard: Int, _ epoch: Int64) {
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
    private func standDown(_ view: ClusterView) {
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

    private func end(_ shard: Int, epoch: Int64, for successor: String?) {
        let (daemon, isStarting) = lock.withLock {
            rehome(shard)
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

    private func handOverEnded() {
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
    private func drop(_ shard: Int, beginsAnewFrom epoch: Int64? = nil) {
        let dropped = lock.withLock { () -> ShardDaemon? in
            rehome(shard)
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
    private func abandon() {
        let all = lock.withLock { () -> [Int: ShardDaemon] in
            defer { shards = [:] }
            for shard in member.renewing.keys { member.released(shard: shard) }
            member.leave()
            return shards
        }
        for daemon in all.values { daemon.drop() }
    }

    private func onThread(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.stackSize = 4 << 20
        thread.start()
    }

    // MARK: What others learn

    private func report(_ view: ClusterView) {
        let (serving, running, isBusy) = lock.withLock { (member.serving, shards, !starting.isEmpty) }
        let datasets = serving.keys.reduce(0) { $0 + view.datasetCounts[$1] }
        door.set(status: status.encode(isOnline: true, node: (datasets, epochs)))
        running[0]?.running.door.note(datasets: Set(view.datasets))
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
