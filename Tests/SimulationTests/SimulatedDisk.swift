import Datasets
import MemoryStore
import Store

@testable import geomatchd
@testable import Records

/// What outlives a crash, and the log in front of it: written when the simulation says so, full when it says so, and able to
/// end the process with any one of its writes, just before it or just after.
final class SimulatedDisk: DurableLog, DurableState {
    private enum Entry {
        case changes([DurableChange], token: UInt64)
        case question(StoreQuery.Kind, token: UInt64)
    }

    private(set) var durable = MemoryStore()
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
    private var matchesWritten: [String: Int64] = [:]
    private var entries: [Entry] = []
    private var completions: [JournalCompletion] = []

    // MARK: What the loop uses

    private(set) var isWritable = true

    var backlog: Int {
        entries.reduce(0) { sum, entry in
            if case .changes(let changes, _) = entry { sum + changes.count } else { sum }
        }
    }

    func append(_ changes: [DurableChange], token: UInt64) { entries.append(.changes(changes, token: token)) }

    func commitNow(_ changes: [DurableChange]) throws(StoreError) {
        guard !hasCrashed else { return }
        guard isWritable else { throw .full }
        try flush(entries.count)
        try write(changes)
    }

    func ask(_ question: StoreQuery.Kind, token: UInt64) { entries.append(.question(question, token: token)) }

    func lookUp(_ lookups: [DocumentLookup]) throws(StoreError) -> [KnownDocument?] {
        try commitNow([])
        return durable.documents(lookups)
    }

    func collect() -> [JournalCompletion] {
        defer { completions = [] }
        return completions
    }

    func restore(dataset: String, _ visit: (DurableChange) throws -> Void) throws {
        for change in durable.restored(dataset) { try visit(change) }
    }

    // MARK: What the simulation does

    var hasNews: Bool { !completions.isEmpty }
    var isIdle: Bool { entries.isEmpty && completions.isEmpty }

    /// The log's thread gets so far: changes that stand side by side are one write.
    func work(_ count: Int) {
        // The real log tries each second, also where nothing waits.
        if !isFull { isWritable = true }
        try? flush(count)
    }

    /// The machine starts again: what was not written is gone.
    func restart() {
        entries = []
        completions = []
        isWritable = true
        hasCrashed = false
        writesUntilCrash = nil
    }

    private func flush(_ count: Int) throws(StoreError) {
        var left = count
        while left > 0, !entries.isEmpty, !hasCrashed {
            var changes: [DurableChange] = []
            var tokens: [UInt64] = []
            while left > 0, case .changes(let next, let token)? = entries.dropFirst(tokens.count).first {
                changes += next
                tokens.append(token)
                left -= 1
            }
            if !tokens.isEmpty {
                try write(changes)
                guard !hasCrashed else { return }
                entries.removeFirst(tokens.count)
                completions += tokens.map { .durable($0) }
            } else if case .question(let question, let token) = entries[0] {
                entries.removeFirst()
                left -= 1
                completions.append(.answer(token, StoreAnswer(durable.finding(question))))
            }
        }
    }

    private func write(_ changes: [DurableChange]) throws(StoreError) {
        guard !hasCrashed else { return }
        guard !isFull else {
            isWritable = false
            throw .full
        }
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
            if case .putSubscription(let record) = change, record.revision.hasPrefix("1-") { matchesWritten[record.id] = 0 }
            if case .putMatch(let record) = change { matchesWritten[record.subscriptionId, default: 0] += 1 }
            if case .putDelivery(_, let id, let delivery) = change, delivery.matched != matchesWritten[id] ?? 0, fault == nil {
                fault = "\(id) counts \(delivery.matched) matches, \(matchesWritten[id] ?? 0) were written, in \(changes)"
            }
            if case .putFilters(_, let held) = change { filters = held }
            durable.apply(change)
        }
    }
}

extension StoreAnswer {
    fileprivate init(_ finding: StoreFinding) {
        switch finding {
        case .matches(let matches): self = .matches(matches)
        case .noSuchMatch: self = .noSuchMatch
        case .match(let match): self = .match(match)
        case .feed(let page): self = .feed(page)
        case .document(let document): self = .document(document)
        case .failed: self = .failed
        }
    }
}
