import DaemonCore
import Datasets
import Foundation
import Logging
import MemoryStore
import ServiceLifecycle
import Synchronization

@testable import HTTPDoor

/// The core and its HTTP door on a memory store, with a thread for the core and a server on a free port.
///
/// `core` and `log` belong to the core's thread: the guard behind `@unchecked Sendable`.
final class HTTPHouse: @unchecked Sendable {
    let core: Core
    let door: HTTPDoor
    let log: MemoryLog
    /// While set, nothing becomes durable.
    let diskIsHeld = Atomic(false)
    private(set) var port = 0
    private let bell = Bell()

    /// - Parameter store: What a former life left behind.
    init(
        _ configuration: HTTPDoorConfiguration, on store: MemoryStore = MemoryStore(),
        _ adjust: (inout HubConfiguration) -> Void = { _ in }
    ) {
        log = MemoryLog(store)
        var hub = HubConfiguration()
        hub.naming = Naming(root: "geomatch/") { dataset, client in "geomatch/\(dataset)/\(client)/" }
        hub.signKey = KeySigner().sign
        adjust(&hub)
        let restored = Hub(hub)
        for change in store.restored() {
            do { try restored.restore(change, at: 0) } catch { preconditionFailure("\(error.message) at \(change)") }
        }
        restored.endRestoration(liveNumber: store.highestLiveNumber, matchNumber: store.highestMatchNumber)
        core = Core(
            hub: restored, seed: (1, 2), logger: Logger(label: "http") { _ in SwiftLogNoOpLogHandler() }, health: Health())
        core.log = log
        door = HTTPDoor(configuration, core: core, wakeCore: { [bell] in bell.ring() })
    }

    /// Runs `body` with a server for it.
    func serving<Result: Sendable>(_ body: (HTTPHouse) async throws -> Result) async throws -> Result {
        let (ends, ended) = AsyncStream<Void>.makeStream()
        let thread = Thread { [self] in
            core.doorOpened(holding: nil)
            while !bell.isOver { turn() }
            ended.finish()
        }
        thread.stackSize = 4 << 20
        thread.start()
        let (ports, found) = AsyncStream<Int>.makeStream()
        let service = HTTPService(door, log: core.logger, listening: { found.yield($0) })
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: core.logger))
        let server = Task(executorPreference: ServerThreads.shared) { try await group.run() }
        for await port in ports {
            self.port = port
            break
        }
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body(self)) } catch { result = .failure(error) }
        await end(group, server)
        bell.end()
        // From here on the core and its log are the test's: what lay in them is looked at, or left to a next life.
        for await _ in ends {}
        return try result.get()
    }

    /// What was accepted last is taken up before everything is cut off: a connection that nobody took up would end the process.
    private func end(_ group: ServiceGroup, _ server: Task<Void, any Error>) async {
        await group.triggerGracefulShutdown()
        try? await Task.sleep(for: .milliseconds(50))
        server.cancel()
    }

    /// One turn of the loop; the disk does at once all it has to.
    private func turn() {
        bell.wait(milliseconds: 20)
        core.woken()
        _ = core.tick()
        repeat {
            if !diskIsHeld.load(ordering: .sequentiallyConsistent) { log.work() }
            core.woken()
        } while log.hasCompletions
    }
}

/// Where servers run: the bodies of tests wait for them, and would hold the threads that tasks share.
final class ServerThreads: TaskExecutor {
    static let shared = ServerThreads()
    private static let queue = DispatchQueue(label: "servers", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// What wakes a loop.
final class Bell: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let over = Mutex(false)

    var isOver: Bool { over.withLock { $0 } }

    func ring() { semaphore.signal() }

    func wait(milliseconds: Int) { _ = semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) }

    func end() {
        over.withLock { $0 = true }
        ring()
    }
}

/// Runs `body` with a door on a free port.
func withHTTP<Result: Sendable>(
    _ adjust: (inout HTTPDoorConfiguration) -> Void = { _ in }, hub: (inout HubConfiguration) -> Void = { _ in },
    on store: MemoryStore = MemoryStore(), _ body: (HTTPHouse) async throws -> Result
) async throws -> Result {
    var configuration = HTTPDoorConfiguration()
    configuration.port = 0
    adjust(&configuration)
    return try await HTTPHouse(configuration, on: store, hub).serving(body)
}
