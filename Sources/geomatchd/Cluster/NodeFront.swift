import Cluster
import DaemonCore
import Datasets
import Foundation
import HTTPDoor
import Logging
import PostgresStore
import ServiceLifecycle
import Synchronization

/// The HTTP of a node: its connections, what is about no dataset, and the way to each dataset's door, here or at another node.
///
/// It has a core of its own, without datasets.
///
/// `@unchecked Sendable`: the core belongs to the thread of ``run()``.
final class NodeFront: @unchecked Sendable {
    let door: HTTPDoor
    let keys: StoredKeys
    private let configuration: HTTPDoorConfiguration
    private let node: ClusterNode
    private let core: Core
    private let bell = DispatchSemaphore(value: 0)
    private let isOver = Atomic(false)

    init(
        _ configuration: HTTPDoorConfiguration, secret: String, node: ClusterNode, store: PostgresCluster, hub: Hub,
        log: Logger
    ) {
        self.node = node
        keys = StoredKeys(monotonic: LeaseClock.now, read: { dataset, id in try store.accessKey(id, of: dataset) })
        var configuration = configuration
        configuration.storedKeys = keys
        core = Core(
            hub: hub, seed: (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)), logger: log, health: Health())
        var front = configuration
        front.forwarding = Forwarding(
            secret: secret, certificate: configuration.tls, owner: { [weak node] in await Self.owner(of: $0, node) },
            lookAgain: { [weak node] in node?.lookAgain() },
            doors: { [weak node] in node?.runningShards.compactMap(\.running.http) ?? [] })
        door = HTTPDoor(front, core: core, wakeCore: { [bell] in bell.signal() })
        self.configuration = configuration
    }

    /// The door of a shard.
    ///
    /// - Parameter mayNotify: Whether the shard is still this node's.
    func door(
        of core: Core, mayNotify: @escaping @Sendable () -> Bool, wakeCore: @escaping @Sendable () -> Void
    ) -> HTTPDoor {
        var configuration = configuration
        configuration.mayNotify = mayNotify
        // The files of an earlier time say nothing of what another node did meanwhile.
        configuration.folder = nil
        return HTTPDoor(configuration, core: core, behind: door, wakeCore: wakeCore)
    }

    // MARK: Owners

    /// So long a request waits for a shard that moves or begins, in milliseconds.
    private static let patienceMilliseconds: Int64 = 2000
    private static let pause = Duration.milliseconds(20)

    private static func owner(of dataset: String, _ node: ClusterNode?) async -> Forwarding.Owner {
        let deadline = LeaseClock.now() + patienceMilliseconds
        while let node {
            switch node.location(of: Sharding.shard(of: dataset)) {
            case .here(let shard):
                if let door = shard.running.http { return .here(door) }
            case .elsewhere(let other):
                if let address = other.address { return .elsewhere(address) }
                return .unavailable(
                    "the node `\(other.name)` has the dataset, and says nowhere where it is reached: configure `http-advertise` there"
                )
            case .beginning, .nobody: break
            }
            guard LeaseClock.now() < deadline, (try? await Task.sleep(for: pause)) != nil else { break }
        }
        return .unavailable("no node has the dataset at present: repeat the request")
    }

    // MARK: The loop

    /// Turns until ``end()``. Blocks.
    func run() {
        while !isOver.load(ordering: .acquiring) {
            let problem = node.serviceProblem
            core.health.setOnline(problem == nil)
            if let problem { core.health.note(problem) }
            core.woken()
            _ = core.tick()
            _ = bell.wait(timeout: .now() + .milliseconds(200))
        }
        door.end()
    }

    func end() {
        isOver.store(true, ordering: .releasing)
        bell.signal()
    }
}

/// The server of a node's HTTP, and the loop behind it.
struct NodeFrontService: Service {
    let front: NodeFront
    let log: Logger
    let gate: HTTPGate

    func run() async throws {
        let front = front
        async let loop: Void = onThread("http") { front.run() }
        do {
            try await HTTPDoorService(front.door, log: log, gate: gate).run()
        } catch {
            front.end()
            await loop
            throw error
        }
        front.end()
        await loop
    }
}
