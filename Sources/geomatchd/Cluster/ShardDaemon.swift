import Cluster
import DaemonCore
import Datasets
import Foundation
import Logging
import MQTTDoor
import MQTTLink
import PostgresStore
import Records
import Push
import Store
import Synchronization
import Webhooks
import Wire

/// A shard that this node serves: a core with its session at the broker, its journal and what posts.
///
/// `@unchecked Sendable`: the core and the door belong to the link's thread, and are only asked for what may come from any.
final class ShardDaemon: @unchecked Sendable {
    let shard: Int
    let epoch: Int64
    let running: RunningDaemon
    private let store: PostgresStore
    private let journal: Journal
    private let link: MQTTLink
    private let webhooks: Webhooks
    private let push: Push
    private let log: Logger
    /// Until it is served.
    private var restored: RestoredShard?
    private let linkEnded = DispatchGroup()
    private let front: NodeFront?
    /// Its session is this node's: false from its end on.
    private let isOurs: Flag
    private let isOver = Flag(false)

    private final class Flag: Sendable {
        let isSet: Atomic<Bool>

        init(_ isSet: Bool) { self.isSet = Atomic(isSet) }
    }

    /// What all shards of a node have in common.
    struct Surroundings: Sendable {
        var daemon: Daemon
        let cluster: PostgresCluster
        /// Of the store.
        let identity: String
        /// Names the sessions, and is published nowhere.
        let secret: String
        let endpoint: MQTTEndpoint
        let status: StatusMessage
        let access: AccessInForce
        let push: PushConfiguration
        let signKey: @Sendable (KeyClaims) -> SignedKey
        let clock: LeaseClock
        let route: @Sendable (RoutedMessage) -> Void
        let askStore: @Sendable () -> Int64
        let isComplete: @Sendable () -> Bool
        /// By shard, as of the last view.
        let datasetCounts: @Sendable () -> [Int]
        let noteContents: @Sendable (SharedContents) -> Void
        let clusterStatus: @Sendable () -> ClusterStatus
        /// nil: HTTP is off.
        let front: NodeFront?
    }

    /// Restores the shard; ``begin()`` serves it.
    ///
    /// - Parameters:
    ///   - standby: What was restored before, as the former owner fell silent or was to hand it over; nothing where that is of no use.
    ///   - fenced: Called on any thread where the store says that another node has it.
    init(
        _ shard: Int, epoch: Int64, _ around: Surroundings, standby: RestoredShard? = nil,
        fenced: @escaping @Sendable () -> Void
    ) throws {
        (self.shard, self.epoch, front) = (shard, epoch, around.front)
        let daemon = around.daemon
        var log = daemon.log
        log[metadataKey: "shard"] = .stringConvertible(shard)
        self.log = log
        let (restored, filters) = try Self.restored(shard, epoch, around, standby, log)
        store = restored.store
        self.restored = restored
        let broker = restored.broker
        let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        let core = Core(hub: restored.hub, seed: seed, logger: log, health: Health())
        var configuration = daemon.doorConfiguration(around.endpoint, around.status)
        let (clock, permission) = (around.clock, Flag(true))
        isOurs = permission
        let mayAct: @Sendable () -> Bool = { clock.isFresh && permission.isSet.load(ordering: .sequentiallyConsistent) }
        configuration.broker = broker
        configuration.role = ShardRole(
            shard: shard, createsDatasets: daemon.settings.autoCreateDatasets, isFresh: mayAct, route: around.route,
            askStore: around.askStore, isComplete: around.isComplete)
        configuration.readsEveryDataset = shard == 0 && daemon.settings.autoCreateDatasets
        // As of now: what was made since the last view was announced to the former owner of the shard.
        configuration.knownDatasets = Set(around.cluster.datasets.map(\.id))
        configuration.passedOn = try Self.passedOn(shard, before: epoch, store)
        let door = MQTTDoor(configuration, core: core, heldFilters: filters)
        running = RunningDaemon(core: core, door: door)
        running.http = around.front?.door(of: core, mayNotify: mayAct, wakeCore: { [weak door] in door?.wake() })
        journal =
            JournalService(
                store: store, daemon: running, log: log,
                noted: { event in if event == .failing(.fenced) { fenced() } }
            ).journal
        let policy = AddressPolicy(allowsPrivate: daemon.settings.webhooksAllowPrivate)
        webhooks = Webhooks(policy: policy, version: daemon.version, wake: { [weak door] in door?.wake() })
        push = Push(around.push, policy: policy, wake: { [weak door] in door?.wake() })
        core.poster = FencedWebhooks(webhooks, mayPost: mayAct)
        core.pushPoster = FencedPush(push, mayPost: mayAct)
        var linkConfiguration = MQTTLinkConfiguration(
            endpoint: around.endpoint, clientID: "geomatchd-\(around.secret)-\(shard)", persistentSession: true)
        linkConfiguration.hurry()
        linkConfiguration.mayConnect = mayAct
        if shard == 0 {
            linkConfiguration.will = MQTTWill(
                topic: Topics(prefix: daemon.settings.topicsPrefix).status, payload: around.status.encode(isOnline: false))
        }
        link = try MQTTLink(configuration: linkConfiguration, handler: door)
        door.link = link
        door.mustAdopt = try store.metadata(Self.life(shard)) == "begun"
        try store.setMetadata(Self.life(shard), "begun")
        core.createDatasets(daemon.settings.datasets.filter { Sharding.shard(of: $0) == shard })
    }

    private static func restored(
        _ shard: Int, _ epoch: Int64, _ around: Surroundings, _ standby: RestoredShard?, _ log: Logger
    ) throws -> (RestoredShard, filters: [String]) {
        if let standby {
            let filters = try standby.complete(with: epoch)
            log.debug("stood by", metadata: ["current": .stringConvertible(filters != nil)])
            if let filters { return (standby, filters) }
        }
        let restored = try RestoredShard(shard, epoch: epoch, around)
        guard let filters = try restored.complete(with: epoch) else { throw StoreError.other("another node wrote to the shard") }
        return (restored, filters)
    }

    /// Another node follows what is written, as it will have the shard.
    var isFollowed: Bool {
        get { store.isFollowed }
        set { store.isFollowed = newValue }
    }

    /// Has it read other ecosystems by these rules, as far as its datasets allow. From any thread.
    func reload(adapters: [AdapterRule]) { running.door.reload(adapters: adapters, done: { _ in }) }

    /// Connects and serves.
    func begin() {
        let (link, ended, isOver) = (link, linkEnded, isOver)
        ended.enter()
        let thread = Thread {
            link.run()
            isOver.isSet.store(true, ordering: .sequentiallyConsistent)
            ended.leave()
        }
        thread.name = "shard-\(shard)"
        thread.stackSize = 4 << 20
        thread.start()
        restored?.forgetFollowed()
        restored = nil
    }

    private static func life(_ shard: Int) -> String { "life/\(shard)" }

    /// How many messages an owner passed on as it ended, behind its epoch.
    private static func passed(_ shard: Int) -> String { "passed/\(shard)" }

    /// How many messages the owner before this epoch passed on.
    private static func passedOn(_ shard: Int, before epoch: Int64, _ store: PostgresStore) throws -> Int {
        let numbers = try store.metadata(passed(shard))?.split(separator: " ").compactMap { Int64($0) } ?? []
        return numbers.count == 2 && numbers[0] == epoch - 1 ? Int(clamping: numbers[1]) : 0
    }

    /// Whether its session is open.
    var isOnline: Bool { running.core.health.isOnline }

    /// The loop has ended, though nobody ended it: the lease was not renewed for too long.
    var hasEnded: Bool { isOver.isSet.load(ordering: .sequentiallyConsistent) }

    /// Somebody else has the shard: no connection is made any more, and no match leaves. From any thread.
    func forbid() { isOurs.isSet.store(false, ordering: .sequentiallyConsistent) }

    /// Stops serving: what came in is answered and written, and the session stays at the broker for the next owner. Blocks.
    ///
    /// - Parameter hasSuccessor: Another node serves the shard from then on.
    func end(hasSuccessor: Bool) {
        forbid()
        running.http?.handOver()
        running.door.stop(endsService: !hasSuccessor)
        endHTTP(linkEnded.wait(timeout: .now() + 5))
        let isWritten = journal.close(timeoutSeconds: 2)
        if isWritten, !running.door.mustAdopt, !running.core.endedWhileLoading {
            try? store.setMetadata(Self.life(shard), "ended")
        }
        let passedOn = running.door.passedOnCount
        // Where the store does not take it, the next owner waits for none of them.
        if passedOn > 0 { try? store.setMetadata(Self.passed(shard), "\(epoch) \(passedOn)") }
        closePosters()
    }

    /// Stops at once: another node has it. Blocks.
    func drop() {
        forbid()
        running.http?.handOver()
        running.door.abandon()
        endHTTP(linkEnded.wait(timeout: .now() + 5))
        _ = journal.close(timeoutSeconds: 0)
        closePosters()
    }

    /// What was asked over HTTP and not answered is answered that it is to be repeated.
    private func endHTTP(_ waited: DispatchTimeoutResult) {
        // A loop that hangs still has the door.
        guard let http = running.http else { return }
        guard waited == .success else { return http.close() }
        front?.door.keepFigures(of: http)
        http.end()
    }

    /// Nobody collects what becomes of posts any longer: the next owner posts them again, under the same ids.
    private func closePosters() {
        let (webhooks, push) = (webhooks, push)
        Task.detached {
            await webhooks.close(drainSeconds: 0)
            await push.close(drainSeconds: 0)
        }
    }
}
