import Datasets
import Dispatch
import Foundation
import Logging
import MQTTLink
import ServiceLifecycle
import Store
import Webhooks

// The long-running parts in dependency order: each ends before those it needs.

/// The child mosquitto ends last.
struct EmbeddedBrokerService: Service {
    let broker: EmbeddedBroker?

    func run() async throws {
        try await gracefulShutdown()
        guard let broker else { return }
        await onThread("broker-stop") { broker.stop() }
    }
}

/// The thread that writes the store: it takes what the loop still has to say, and ends when that is durable.
struct JournalService: Service {
    let journal: Journal
    let loop: DaemonLoop
    let log: Logger

    init(store: Store, loop: DaemonLoop, log: Logger) {
        self.log = log
        self.loop = loop
        journal = Journal(
            store: store, wake: { [weak loop] in loop?.link?.wake() },
            report: { event in
                switch event {
                case .failing(let error): log.error("store cannot be written", metadata: ["error": "\(error)"])
                case .recovered(let waited):
                    log.info("store recovered", metadata: ["after.seconds": "\((waited * 10).rounded() / 10)"])
                case .closed(let unwritten):
                    if unwritten > 0 { log.error("changes lost at the end", metadata: ["count": "\(unwritten)"]) }
                }
            })
        loop.journal = journal
    }

    func run() async throws {
        try await gracefulShutdown()
        let (journal, loop) = (self.journal, self.loop)
        await onThread("journal-close") { loop.wroteEverything = journal.close(timeoutSeconds: 2) }
    }
}

/// A handover, and what notes that it is done.
struct DueHandover: Sendable {
    let handover: SessionHandover
    let done: @Sendable () -> Void

    /// The link's own try tells what is wrong with the endpoint.
    func run() { if (try? handover.run()) == true { done() } }
}

/// The thread that runs the link, and with it everything that is decided.
struct LinkService: Service {
    let loop: DaemonLoop
    let link: MQTTLink
    /// Comes before the link, where one is due.
    let handover: DueHandover?

    init(loop: DaemonLoop, link: MQTTLink, handover: DueHandover?) {
        self.loop = loop
        self.link = link
        self.handover = handover
        loop.link = link
    }

    func run() async throws {
        let (loop, link, handover) = (self.loop, self.link, self.handover)
        await withGracefulShutdownHandler {
            await onThread("link") {
                handover?.run()
                link.run()
            }
        } onGracefulShutdown: {
            handover?.handover.stop()
            loop.stop()
        }
    }
}

/// The thread that posts to webhooks: it ends first, so that what was taken is still counted as delivered.
struct WebhooksService: Service {
    let webhooks: Webhooks

    init(policy: AddressPolicy, version: String, loop: DaemonLoop) {
        webhooks = Webhooks(policy: policy, version: version, wake: { [weak loop] in loop?.link?.wake() })
        loop.webhooks = webhooks
    }

    func run() async throws {
        try await gracefulShutdown()
        await webhooks.close(drainSeconds: 2)
    }
}

/// Ends the daemon when it is not online in time, or never can be.
struct StartService: Service {
    let health: Health
    let timeoutSeconds: Double

    func run() async throws {
        // Whoever is stopped before it is online has not failed.
        try await cancelWhenGracefulShutdown {
            try await awaitOnline()
            if let failure = await health.finalFailure() { throw Daemon.Failure.internal(failure.description) }
        }
    }

    private func awaitOnline() async throws {
        let health = self.health
        let timeout = timeoutSeconds
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                guard let failure = await health.firstOnline() else { return }
                if case .storeUnreadable = failure { throw Daemon.Failure.internal(failure.description) }
                throw Daemon.Failure.unavailable(failure.description)
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
private func onThread(_ name: String, _ body: @escaping @Sendable () -> Void) async {
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
