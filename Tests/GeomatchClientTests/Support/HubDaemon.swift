import DaemonCore
import Datasets
import Foundation
import Logging
import MQTTDoor
import MQTTLink
import MemoryStore
import Synchronization

@testable import Records

/// The daemon's core and its door on a store of tables, behind a real broker: what replicas are tested with.
///
/// `door`, `log` and `link` belong to the link's thread: the guard behind `@unchecked Sendable`.
final class HubDaemon: MQTTLinkHandler, @unchecked Sendable {
    private var log = MemoryLog()
    private var door: MQTTDoor
    private var link: MQTTLink?
    private let orders = Mutex<[@Sendable (HubDaemon) -> Void]>([])
    private let ended = DispatchSemaphore(value: 0)
    private var lives: UInt64 = 1

    init(_ broker: TestBroker) throws {
        door = Self.door(1, log)
        var settings = MQTTLinkConfiguration(endpoint: broker.endpoint, clientID: "hub", persistentSession: true)
        settings.backoffMinimumSeconds = 0.02
        settings.backoffMaximumSeconds = 0.1
        let link = try MQTTLink(configuration: settings, handler: self)
        self.link = link
        door.link = link
        Thread { [self] in
            link.run()
            ended.signal()
        }.start()
    }

    private static func door(_ life: UInt64, _ log: MemoryLog) -> MQTTDoor {
        let topics = Topics(prefix: "")
        var configuration = HubConfiguration()
        configuration.naming = topics.naming
        configuration.instance = "hub"
        let core = Core(
            hub: Hub(configuration), seed: (life, 7),
            logger: Logger(label: "hub") { _ in SwiftLogNoOpLogHandler() }, health: Health())
        core.log = log
        return MQTTDoor(
            MQTTDoor.Configuration(
                broker: "test", topics: topics, instance: "hub", readsEveryDataset: true, inputQoS: 0,
                status: StatusMessage(version: "t", instance: "\(life)", startedAt: 0)),
            core: core, heldFilters: [])
    }

    func end() {
        link?.stop(drainSeconds: 0)
        ended.wait()
    }

    /// Ends as killed and begins again on what was durable.
    func restart() { order { $0.begin() } }

    /// Loses everything, as a store that was wiped.
    func wipe() {
        order { daemon in
            daemon.log = MemoryLog()
            daemon.begin()
        }
    }

    private func begin() {
        lives += 1
        log.forgetUnwritten()
        door = Self.door(lives, log)
        door.link = link
        let hub = door.core.hub
        for change in log.store.restored() { try? hub.restore(change, at: door.core.clock.now()) }
        hub.endRestoration(liveNumber: log.store.highestLiveNumber, matchNumber: log.store.highestMatchNumber)
        door.linkConnected(sessionPresent: true, protocolVersion: 5)
    }

    /// As after a month: deletions so far are kept no longer.
    func forgetDeletions() {
        order { daemon in
            for instant in [0, Int64.max] {
                daemon.log.store.apply(.forgetTombstones(before: instant, at: daemon.door.core.clock.now()))
            }
        }
    }

    private func order(_ order: @escaping @Sendable (HubDaemon) -> Void) {
        let done = DispatchSemaphore(value: 0)
        orders.withLock {
            $0.append { daemon in
                order(daemon)
                done.signal()
            }
        }
        link?.wake()
        done.wait()
    }

    // MARK: MQTTLinkHandler

    func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
        door.linkConnected(sessionPresent: sessionPresent, protocolVersion: protocolVersion)
    }
    func linkSubscribed(id: Int32, granted: [UInt8]) { door.linkSubscribed(id: id, granted: granted) }
    func linkUnsubscribed(id: Int32) { door.linkUnsubscribed(id: id) }
    func linkReceived(_ batch: InboundBatch) {
        door.linkReceived(batch)
        settle()
    }
    func linkAcknowledged(token: UInt64, reason: UInt8) { door.linkAcknowledged(token: token, reason: reason) }
    func linkDisconnected(_ reason: MQTTDisconnect) { door.linkDisconnected(reason) }
    func linkWoken() {
        let due = orders.withLock { orders in
            defer { orders.removeAll() }
            return orders
        }
        for order in due { order(self) }
        settle()
    }
    func linkTick(now: Int64) -> Int64 {
        let next = door.linkTick(now: now)
        settle()
        return next
    }

    /// The disk does all it has to.
    private func settle() {
        log.work()
        while log.hasCompletions {
            door.core.woken()
            log.work()
        }
    }
}

/// Runs `body` with a broker and the daemon's logic, and ends both.
func withHub<Result>(_ body: (TestBroker, HubDaemon) async throws -> Result) async throws -> Result {
    try await withBroker { broker in
        let daemon = try HubDaemon(broker)
        defer { daemon.end() }
        return try await body(broker, daemon)
    }
}
