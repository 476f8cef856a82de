import DaemonCore
import Datasets
import Logging
import Records

/// A core with some datasets, and what they publish, all on the caller's thread.
///
/// `@unchecked Sendable`: one thread at a time has it.
final class CoreLoad: @unchecked Sendable {
    private let core: Core
    private let walks: [DatasetWalk]
    private let log = ImmediateLog()
    private let door: CountingDoor
    var matches: Int { door.matches }

    private static let batch = 256

    init(_ walks: [DatasetWalk]) {
        self.walks = walks
        core = Core(
            hub: Hub(HubConfiguration()), seed: (1, 2), logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() },
            health: Health())
        door = CountingDoor(core)
        core.log = log
        core.add(door)
        core.createDatasets(walks.map(\.dataset))
        core.doorOpened(holding: nil)
        for walk in walks { register(walk) }
    }

    private func register(_ walk: DatasetWalk) {
        for request in walk.requests {
            core.begin()
            Array(request.body.utf8).withUnsafeBytes { body in
                core.receive(
                    Envelope(
                        dataset: walk.dataset, client: "bench", name: request.name, body: body,
                        answer: ReturnAddress(door: 0, bytes: [])))
            }
            turn()
        }
        precondition(door.refusals == 0, "\(door.refusals) requests were refused, the last with \(door.lastRefusal)")
    }

    /// All updates once, the datasets in turn.
    func run() {
        let count = walks[0].updates.count
        for start in stride(from: 0, to: count, by: Self.batch) {
            core.begin()
            for index in start..<min(count, start + Self.batch) {
                for walk in walks {
                    let update = walk.updates[index]
                    update.topic.withUnsafeBytes { topic in
                        update.payload.withUnsafeBytes { core.receive(IncomingUpdate(topic: topic, payload: $0)) }
                    }
                }
            }
            turn()
        }
    }

    private func turn() {
        core.end()
        _ = core.tick()
        while log.hasCompletions || door.hasDelivered {
            door.confirm()
            core.woken()
        }
    }
}

/// Everything that leaves arrives at once.
private final class CountingDoor: Door {
    private unowned let core: Core
    private(set) var matches = 0
    private(set) var refusals = 0
    private(set) var lastRefusal = ""
    private var delivered: [UInt64] = []

    init(_ core: Core) { self.core = core }

    var backlog: Int { 0 }
    var hasDelivered: Bool { !delivered.isEmpty }
    func datasetsChanged() {}
    func wake() {}

    func send(_ batch: OutputBatch) {
        for item in batch.items {
            switch item.kind {
            case .audience(let audience, _): matches += audience.members.count
            case .notification(let notification):
                matches += 1
                if notification.token != 0 { delivered.append(notification.token) }
            case .reply:
                let text = String(decoding: batch.bytes[item.payload], as: UTF8.self)
                guard text.contains(#""error":"#) else { continue }
                refusals += 1
                lastRefusal = text
            default: continue
            }
        }
    }

    func confirm() {
        let tokens = delivered
        delivered.removeAll(keepingCapacity: true)
        for token in tokens { core.delivered(token, refusal: nil) }
    }
}

/// A log that has everything at once and keeps nothing.
final class ImmediateLog: DurableLog {
    private var completions: [LogCompletion] = []
    var hasCompletions: Bool { !completions.isEmpty }
    var isWritable: Bool { true }
    var backlog: Int { 0 }

    func append(_ changes: [DurableChange], token: UInt64, mayWait: Bool) { completions.append(.durable(through: token)) }
    func resume(afterRefusal token: UInt64) {}
    func read(_ question: StoreQuery.Kind, token: UInt64) { completions.append(.answer(token, .failed)) }
    /// Nothing is refused.
    func load(_ request: LoadRequest, token: UInt64) {}

    func collect() -> [LogCompletion] {
        defer { completions.removeAll(keepingCapacity: true) }
        return completions
    }
}
