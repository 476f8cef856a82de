import DaemonCore
import Datasets
import Dispatch
import Foundation
import HTTPDoor
import Logging
import MQTTDoor
import MQTTLink
import Push
import ServiceLifecycle
import Store
import Synchronization
import Webhooks

// The long-running parts in dependency order: each ends before those it needs.

extension Service {
    /// Waits until this part is to end: in its turn, or at once with all others, where one before it took too long. It ends cleanly
    /// either way.
    func untilEnd() async { try? await gracefulShutdown() }
}

/// The child mosquitto ends last.
struct EmbeddedBrokerService: Service {
    let broker: EmbeddedBroker?
    let daemon: RunningDaemon

    func run() async throws {
        await untilEnd()
        guard let broker else { return }
        await onThread("broker-stop") { [daemon] in
            daemon.awaitLinkEnd()
            broker.stop()
        }
    }
}

/// The thread that writes the store: it takes what the loop still has to say, and ends when that is durable.
struct JournalService: Service {
    let journal: Journal
    let daemon: RunningDaemon
    let log: Logger

    /// - Parameter noted: Called on the writing thread, beside the log.
    init(
        store: any DurableStore, daemon: RunningDaemon, log: Logger, noted: @escaping @Sendable (JournalEvent) -> Void = { _ in }
    ) {
        self.log = log
        self.daemon = daemon
        let core = daemon.core
        journal = Journal(
            store: store, wake: { [weak door = daemon.door] in door?.wake() },
            report: { event in
                noted(event)
                switch event {
                case .failing(.fenced): break
                case .failing(let error): log.error("store cannot be written", metadata: ["error": "\(error)"])
                case .recovered(let waited):
                    log.info("store recovered", metadata: ["after.seconds": .stringConvertible((waited * 10).rounded() / 10)])
                case .closed(let unwritten):
                    if unwritten > 0 {
                        log.error("changes were not saved at shutdown", metadata: ["count": .stringConvertible(unwritten)])
                    }
                }
            })
        core.log = JournalLog(journal, store)
    }

    func run() async throws {
        await untilEnd()
        let (journal, daemon) = (self.journal, self.daemon)
        await onThread("journal-close") {
            daemon.awaitLinkEnd()
            daemon.wroteEverything = journal.close(timeoutSeconds: 2)
        }
    }
}

/// A handover, and what notes that it is done.
struct DueHandover: Sendable {
    let handover: SessionHandover
    let done: @Sendable () -> Void

    /// The link's own try reports what is wrong with the endpoint.
    func run() { if (try? handover.run()) == true { done() } }
}

/// The thread that runs the link, and with it everything that is decided.
struct LinkService: Service {
    let daemon: RunningDaemon
    let link: MQTTLink
    /// Comes before the link, where one is due.
    let handover: DueHandover?
    /// It must be open before the daemon may be online; where it stays closed nothing was begun.
    let gate: HTTPGate?

    init(_ daemon: RunningDaemon, link: MQTTLink, handover: DueHandover?, behind gate: HTTPGate?) {
        self.daemon = daemon
        self.link = link
        self.handover = handover
        self.gate = gate
        daemon.door.link = link
    }

    func run() async throws {
        let (door, link, handover) = (daemon.door, self.link, self.handover)
        daemon.linkEnded.enter()
        defer { daemon.linkEnded.leave() }
        if let gate, await !gate.opening() { return }
        await withTaskCancellationOrGracefulShutdownHandler {
            await onThread("link") {
                handover?.run()
                link.run()
            }
        } onCancelOrGracefulShutdown: {
            handover?.handover.stop()
            door.stop()
        }
    }
}

/// The thread that posts to webhooks: it ends first, so that what was taken is still counted as delivered.
struct WebhooksService: Service {
    let webhooks: Webhooks

    init(policy: AddressPolicy, version: String, daemon: RunningDaemon) {
        webhooks = Webhooks(policy: policy, version: version, wake: { [weak door = daemon.door] in door?.wake() })
        daemon.core.poster = webhooks
    }

    func run() async throws {
        await untilEnd()
        await webhooks.close(drainSeconds: 2)
    }
}

/// The thread that hands messages to push services: likewise.
struct PushService: Service {
    let push: Push

    init(_ configuration: PushConfiguration, policy: AddressPolicy, daemon: RunningDaemon) {
        push = Push(configuration, policy: policy, wake: { [weak door = daemon.door] in door?.wake() })
        daemon.core.pushPoster = push
    }

    func run() async throws {
        await untilEnd()
        await push.close(drainSeconds: 2)
    }
}

/// Opens once HTTP listens: a daemon whose port is taken ends before it was online.
final class HTTPGate: Sendable {
    private let isOpen = Mutex(false)
    private let stream: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func open() {
        isOpen.withLock { $0 = true }
        continuation.finish()
    }

    /// Waits for that, or for the end of the daemon.
    ///
    /// - Returns: Whether it opened.
    func opening() async -> Bool {
        for await _ in stream.cancelOnGracefulShutdown() {}
        return isOpen.withLock { $0 }
    }
}

/// The server of the HTTP door: it ends before all else, so that what was asked is answered.
struct HTTPDoorService: Service {
    let service: HTTPService
    let gate: HTTPGate

    init(_ door: HTTPDoor, log: Logger, gate: HTTPGate) {
        self.gate = gate
        service = HTTPService(door, log: log, listening: { _ in gate.open() })
    }

    func run() async throws {
        do {
            try await service.run()
        } catch let failure as HTTPService.Failure {
            throw Daemon.Failure.unavailable(failure.description)
        }
    }
}

/// Ends the daemon when it is not online in time, or never can be.
struct StartService: Service {
    let health: Health
    let timeoutSeconds: Double

    func run() async throws {
        // A daemon that is stopped before it is online has not failed.
        try await cancelWhenGracefulShutdown {
            try await awaitOnline()
        }
    }

    private func awaitOnline() async throws {
        let health = self.health
        let timeout = timeoutSeconds
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                if let failure = await health.firstOnline() { throw Daemon.Failure.unavailable(failure.description) }
                if !Task.isCancelled { NotifyService.send("READY=1") }
            }
            group.addTask {
                guard (try? await Task.sleep(for: .seconds(timeout))) != nil else { return }
                throw Daemon.Failure.unavailable("not online after \(Int(timeout)) s: \(health.lastReason)")
            }
            try await group.next()
            group.cancelAll()
        }
    }
}

/// Runs a blocking call on a thread of its own: the cooperative pool must not wait.
func onThread(_ name: String, _ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        let thread = Thread {
            body()
            continuation.resume()
        }
        thread.name = name
        thread.stackSize = 4 << 20
        thread.start()
    }
}
