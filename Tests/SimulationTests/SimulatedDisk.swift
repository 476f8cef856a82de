import DaemonCore
import Datasets
import MemoryStore

@testable import Records

/// What outlives a crash, and the log in front of it: written when the simulation says so, full when it says so, and able to
/// end the process with any one of its writes, just before it or just after.
final class SimulatedDisk: DurableLog {
    private var durableLog = MemoryLog()
    var durable: MemoryStore { durableLog.store }
    /// Filters the broker may hold, as last made durable.
    private(set) var filters: [String] = []
    var isFull = false
    /// The process ends with the write after so many.
    var writesUntilCrash: Int?
    /// That write is durable, though nobody hears of it.
    var crashFollowsTheWrite = false
    /// Nothing of this life counts any more.
    private(set) var hasCrashed = false
    private(set) var writes = 0
    /// The first durable counter that did not fit the durable matches.
    private(set) var fault: String?
    /// Called when the loop has taken in that everything undecided was refused.
    var refusalTaken: (() -> Void)?
    /// Called with what became durable.
    var wrote: (([DurableChange]) -> Void)?
    private var matchesWritten: [String: Int64] = [:]
    private var entries: [(changes: [DurableChange], token: UInt64, mayWait: Bool)] = []
    private var questions: [(kind: StoreQuery.Kind, token: UInt64)] = []
    private var loads: [(request: LoadRequest, token: UInt64)] = []
    private var completions: [LogCompletion] = []
    private var isRefusing = false

    // MARK: What the loop uses

    private(set) var isWritable = true

    var backlog: Int { entries.reduce(0) { $0 + $1.changes.count } }

    func append(_ changes: [DurableChange], token: UInt64, mayWait: Bool) {
        guard !isRefusing else { return }
        guard isWritable || mayWait else { return refuse(from: token) }
        entries.append((changes, token, mayWait))
    }

    func resume(afterRefusal token: UInt64) {
        isRefusing = false
        refusalTaken?()
    }

    func read(_ question: StoreQuery.Kind, token: UInt64) { questions.append((question, token)) }

    func collect() -> [LogCompletion] {
        defer { completions = [] }
        return completions
    }

    func load(_ request: LoadRequest, token: UInt64) { loads.append((request, token)) }

    // MARK: What the simulation does

    var hasNews: Bool { !completions.isEmpty }
    var isIdle: Bool { entries.isEmpty && questions.isEmpty && loads.isEmpty && completions.isEmpty }

    /// The log's threads get so far: changes that stand side by side are one write.
    func work(_ count: Int) {
        // The real log tries each second, also where nothing waits.
        if !isFull { isWritable = true }
        guard !hasCrashed else { return }
        flush(min(count, entries.count))
        guard !hasCrashed else { return }
        for (kind, token) in questions.prefix(count) { completions.append(.answer(token, durable.finding(kind))) }
        questions.removeFirst(min(count, questions.count))
        guard count > 0 else { return }
        for (request, token) in loads { completions.append(.loaded(token, .success(durableLog.loaded(request)))) }
        loads = []
    }

    /// The machine starts again: what was not written is gone.
    func restart() {
        entries = []
        questions = []
        loads = []
        completions = []
        isWritable = true
        isRefusing = false
        hasCrashed = false
        writesUntilCrash = nil
    }

    private func flush(_ count: Int) {
        guard count > 0, let last = entries.prefix(count).last else { return }
        guard !isFull else {
            isWritable = false
            if let first = entries.first(where: { !$0.mayWait }) { refuse(from: first.token) }
            return
        }
        write(entries.prefix(count).flatMap(\.changes))
        guard !hasCrashed else { return }
        entries.removeFirst(count)
        completions.append(.durable(through: last.token))
    }

    private func refuse(from token: UInt64) {
        entries.removeAll { $0.token >= token }
        completions.append(.refused(from: token, reason: "the disk is full"))
        isRefusing = true
    }

    private func write(_ changes: [DurableChange]) {
        if let left = writesUntilCrash {
            writesUntilCrash = left - 1
            if left == 0 {
                hasCrashed = true
                if !crashFollowsTheWrite { return }
            }
        }
        isWritable = true
        writes += 1
        for change in changes {
            // An id may be taken again: its figures begin anew.
            if case .put(let record as SubscriptionRecord) = change, record.revision.hasPrefix("1-") {
                matchesWritten[record.id] = 0
            }
            if case .put(let record as MatchRecord) = change { matchesWritten[record.subscriptionId, default: 0] += 1 }
            if case .amend(let counters as DeliveryAmendment) = change {
                let (id, matched) = (counters.key.id, counters.delivery.matched)
                if matched != matchesWritten[id] ?? 0, fault == nil {
                    fault = "\(id) counts \(matched) matches, \(matchesWritten[id] ?? 0) were written, in \(changes)"
                }
            }
            if case .putFilters(_, let held) = change { filters = held }
            durableLog.store.apply(change)
        }
        wrote?(changes)
    }
}
