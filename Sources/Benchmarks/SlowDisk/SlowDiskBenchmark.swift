import ArgumentParser
import DaemonCore
import Datasets
import Foundation
import Logging
import Records
import Store
import Synchronization

/// `geomatch-bench slowdisk`: live updates beside requests, with a store whose commits take long.
struct SlowDiskBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slowdisk",
        abstract: "How long live updates take beside requests, with a store whose commits take long.")

    @Option(help: "How long each commit takes, in milliseconds.") var commit = 50.0
    @Option(help: "Requests a second that change something.") var requests = 500
    @Option(help: "Live updates a second.") var updates = 2000
    @Option(help: "Seconds.") var seconds = 10.0

    func run() throws {
        let folder = NSTemporaryDirectory() + "geomatch-slowdisk-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let load = SlowDiskLoad(store: try Store(path: folder + "/store"), commitSeconds: commit / 1000)
        load.run(requests: requests, updates: updates, seconds: seconds)
        print(
            """
            commits of \(commit) ms, \(requests) requests/s, \(updates) updates/s for \(seconds) s
            live update to live state: p50 \(load.updateTimes.text(0.5)) ms, p99 \(load.updateTimes.text(0.99)) ms, \
            max \(load.updateTimes.text(1)) ms, \(load.updateTimes.count) of \(load.updatesSent)
            request to reply: p50 \(load.replyTimes.text(0.5)) ms, p99 \(load.replyTimes.text(0.99)) ms, \
            \(load.replyTimes.count) of \(load.requestsSent)
            """)
    }
}

/// The core on one thread, fed by a clock.
private final class SlowDiskLoad: Door {
    private let core: Core
    private let journal: Journal
    private(set) var updateTimes = Times()
    private(set) var replyTimes = Times()
    private(set) var updatesSent = 0
    private(set) var requestsSent = 0
    /// When what is being handled was due, in nanoseconds.
    private var dueAt: UInt64 = 0
    private var requestsDue: [UInt64] = []

    init(store: Store, commitSeconds: Double) {
        let hub = Hub(HubConfiguration())
        core = Core(
            hub: hub, seed: (1, 2), logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() },
            health: Health())
        let isWoken = Flag()
        flag = isWoken
        journal = Journal(
            store: SlowStore(store, commitSeconds: commitSeconds), wake: { isWoken.raise() }, report: { _ in })
        core.log = StoreLog(journal)
        core.add(self)
        core.createDatasets(["d"])
        core.doorOpened(holding: nil)
    }

    private let flag: Flag

    func run(requests: Int, updates: Int, seconds: Double) {
        let start = DispatchTime.now().uptimeNanoseconds
        let end = start + UInt64(seconds * 1e9)
        var now = start
        while now < end || (!core.isSettled && now < end + 5_000_000_000) {
            if flag.lower() { core.woken() }
            let elapsed = Double(min(now, end) - start) / 1e9
            core.begin()
            while updatesSent < Int(elapsed * Double(updates)) { sendUpdate(start, updates) }
            while requestsSent < Int(elapsed * Double(requests)) { sendRequest(start, requests) }
            core.end()
            _ = core.tick()
            usleep(100)
            now = DispatchTime.now().uptimeNanoseconds
        }
        _ = journal.close(timeoutSeconds: 5)
    }

    private func sendUpdate(_ start: UInt64, _ rate: Int) {
        updatesSent += 1
        dueAt = start + UInt64(Double(updatesSent) / Double(rate) * 1e9)
        let latitude = 43.7 + Double(updatesSent % 997) * 1e-5
        let topic = Array("d/-/-/-/-/u\(updatesSent % 1000)/position".utf8)
        let payload = Array(#"{"lat":\#(latitude),"lon":7.4}"#.utf8)
        topic.withUnsafeBytes { topic in
            payload.withUnsafeBytes { core.receive(IncomingUpdate(topic: topic, payload: $0)) }
        }
        core.end()
    }

    private func sendRequest(_ start: UInt64, _ rate: Int) {
        requestsSent += 1
        requestsDue.append(start + UInt64(Double(requestsSent) / Double(rate) * 1e9))
        let body = Array(#"{"id":"r\#(requestsSent)","deviceType":"MobileDevice"}"#.utf8)
        let answer = ReturnAddress(door: 0, bytes: withUnsafeBytes(of: requestsSent - 1) { Array($0) })
        body.withUnsafeBytes {
            core.receive(Envelope(dataset: "d", client: "bench", name: "device/create", body: $0, answer: answer))
        }
    }

    // MARK: Door

    var backlog: Int { 0 }
    func datasetsChanged() {}
    func wake() { flag.raise() }

    func send(_ batch: OutputBatch) {
        let now = DispatchTime.now().uptimeNanoseconds
        for item in batch.items {
            switch item.kind {
            case .liveState: updateTimes.append(now &- min(now, dueAt))
            case .reply(let address):
                let index = address.bytes.withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
                replyTimes.append(now &- min(now, requestsDue[index]))
            default: continue
            }
        }
    }
}

/// Raised by any thread, lowered by the loop.
private final class Flag: Sendable {
    private let isRaised = Atomic<Bool>(false)
    func raise() { isRaised.store(true, ordering: .releasing) }
    func lower() -> Bool { isRaised.exchange(false, ordering: .acquiringAndReleasing) }
}

/// Nanoseconds, by quantile.
private struct Times {
    private var all: [UInt64] = []
    var count: Int { all.count }
    mutating func append(_ time: UInt64) { all.append(time) }

    /// Milliseconds.
    func text(_ quantile: Double) -> String {
        guard !all.isEmpty else { return "-" }
        let sorted = all.sorted()
        let value = sorted[min(sorted.count - 1, Int(Double(sorted.count) * quantile))]
        return String(format: "%.2f", Double(value) / 1e6)
    }
}

/// The journal as the core's log; a bench asks the store nothing.
private final class StoreLog: DurableLog {
    private let journal: Journal

    init(_ journal: Journal) { self.journal = journal }

    var isWritable: Bool { journal.isWritable }
    var backlog: Int { journal.backlog }
    func append(_ changes: [DurableChange], token: UInt64, mayWait: Bool) {
        journal.append(changes, token: token, mayWait: mayWait)
    }
    func resume(afterRefusal token: UInt64) { journal.resume(afterRefusal: token) }
    func read(_ question: StoreQuery.Kind, token: UInt64) {}
    /// A bench's store never refuses.
    func load(_ request: LoadRequest, token: UInt64) {}
    func collect() -> [LogCompletion] {
        journal.collect().map { completion in
            switch completion {
            case .durable(let token): .durable(through: token)
            case .refused(let token, let error): .refused(from: token, reason: error.description)
            case .answer(let token, _): .answer(token, .failed)
            }
        }
    }
}
