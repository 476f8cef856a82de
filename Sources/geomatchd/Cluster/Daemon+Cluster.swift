import Cluster
import DaemonCore
import Datasets
import Foundation
import HTTPDoor
import Logging
import MQTTDoor
import MQTTLink
import PostgresStore
import ServiceLifecycle
import Store

extension Daemon {
    /// Runs as a node of a cluster.
    func run(in cluster: String) async throws {
        guard let address = settings.store, let endpoint = settings.broker else {
            throw Failure.configuration("cluster: its nodes share a store and a broker")
        }
        let directory = try lockDataDirectory()
        for warning in settings.warnings { log.warning("\(warning)") }
        let name = settings.node ?? Self.nodeName()
        let store = try openCluster(address, cluster, node: name)
        let identity = try shared("storeId", in: store, or: UUID().uuidString.lowercased())
        let secret = try shared("clusterSecret", in: store, or: Self.secret())
        let clock = LeaseClock()
        let health = Health()
        let status = StatusMessage(version: version, instance: identity, startedAt: CoreClock.system.now())
        let topics = Topics(prefix: settings.topicsPrefix)
        let late = Late()
        let door = NodeDoor(
            node: name, topics: topics, instance: identity, health: health, log: log,
            received: { late.node?.route($0, wasPassedOn: true) }, reachChanged: { late.node?.hurry() })
        let node = ClusterNode(
            name: name, settings: settings, cluster: store, door: door, status: status, clock: clock, log: log)
        late.node = node
        var link = MQTTLinkConfiguration(endpoint: endpoint, clientID: "geomatchd-\(secret)-node-\(name)")
        link.will = MQTTWill(topic: topics.status(of: name), payload: node.goodbye)
        link.hurry()
        do throws(MQTTEndpointError) { door.link = try MQTTLink(configuration: link, handler: door) } catch {
            throw Failure.configuration(error.description)
        }
        let signer = try keySigner()
        let push = try pushConfiguration()
        let access = AccessInForce(settings.accessRules)
        let front = try httpConfiguration(access).map { configuration throws(Failure) in
            NodeFront(
                configuration, secret: try shared("httpSecret", in: store, or: Self.secret()), node: node, store: store,
                hub: Hub(hubConfiguration(identity: identity, access: access, push: push.offer, signKey: signer.sign)), log: log)
        }
        let surroundings = ShardDaemon.Surroundings(
            daemon: self, cluster: store, identity: identity, secret: secret, endpoint: endpoint, status: status,
            access: access, push: push, signKey: signer.sign, clock: clock,
            route: { [weak node] in node?.route($0) },
            askStore: { [weak node] in
                let now = LeaseClock.now()
                node?.lookAgain()
                return now
            }, isComplete: { [weak node] in node?.isComplete ?? true },
            datasetCounts: { [weak node] in node?.lastView?.datasetCounts ?? [] },
            noteContents: { [weak node] in node?.note($0) },
            clusterStatus: { [weak node] in node?.clusterStatus ?? ClusterStatus(nodes: [], datasets: []) }, front: front)
        try node.join()
        let reload = ReloadService(
            hangups: hangups,
            reloading: Reloading(
                settings: settings, reread: reread, access: access, broker: nil, http: front?.door, log: log,
                adapters: { [weak node] rules, done in done(node?.reload(adapters: rules) ?? false) }))
        let notify = NotifyService(health: health, wake: { [weak node] in node?.hurry() })
        // HTTP ends last: what the node hands over is forwarded meanwhile.
        let gate = front.map { _ in HTTPGate() }
        let nodeService = NodeService(node: node, door: door, surroundings: surroundings, gate: gate)
        var services: [any Service] = [nodeService, reload, notify]
        if let front, let gate { services.insert(NodeFrontService(front: front, log: log, gate: gate), at: 0) }
        try await run(services, health: health, graceSeconds: 25)
        store.close()
        withExtendedLifetime(directory) {}
    }

    /// The node, for what is made before it.
    ///
    /// `@unchecked Sendable`: it is set before the threads begin that read it.
    private final class Late: @unchecked Sendable {
        weak var node: ClusterNode?
    }

    /// Nodes that begin at the same moment make the same tables.
    private func openCluster(_ address: PostgresAddress, _ name: String, node: String) throws(Failure) -> PostgresCluster {
        for attempt in 1... {
            do throws(StoreError) {
                let store = try PostgresCluster(
                    address, name: name, node: node, repliesMax: settings.limits.rememberedReplies)
                log.info("store", metadata: ["postgres": "\(address.name)"])
                return store
            } catch .busy {
                throw .unavailable("store \(address.name): a daemon without --cluster uses it")
            } catch {
                if attempt >= 5 { throw .unavailable("store \(address.name): \(error)") }
                usleep(200_000)
            }
        }
        throw .unavailable("store \(address.name)")
    }

    private func shared(_ key: String, in store: PostgresCluster, or value: String) throws(Failure) -> String {
        do throws(StoreError) { return try store.metadata(key, or: value) } catch { throw .unavailable("store: \(error)") }
    }

    /// The name of the host, and a random part.
    private static func nodeName() -> String {
        let host = ProcessInfo.processInfo.hostName.prefix { $0 != "." }.filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-")
        }
        return "\(host.prefix(48))-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    }
}

extension MQTTLinkConfiguration {
    /// A node notices soon that a host of the broker is gone, and tries the next one.
    mutating func hurry() {
        keepAliveSeconds = 5
        connectTimeoutSeconds = 5
        backoffMinimumSeconds = 0.1
        backoffMaximumSeconds = 2
    }
}

/// The node's threads: its session, and its leases.
struct NodeService: Service {
    let node: ClusterNode
    let door: NodeDoor
    let surroundings: ShardDaemon.Surroundings
    /// It must be open before the node may be online.
    let gate: HTTPGate?

    func run() async throws {
        let (node, door, surroundings) = (node, door, surroundings)
        if let gate, await !gate.opening() {
            // It has joined, and leaves without a word to the broker.
            node.leave()
            return await onThread("leases") { node.run(surroundings) }
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await withTaskCancellationOrGracefulShutdownHandler {
                    await onThread("leases") { node.run(surroundings) }
                    door.stop(status: node.goodbye)
                } onCancelOrGracefulShutdown: {
                    node.leave()
                }
            }
            group.addTask { await onThread("node") { door.link?.run() } }
        }
    }
}
