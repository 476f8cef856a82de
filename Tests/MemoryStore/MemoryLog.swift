import DaemonCore
import Datasets
import Records

/// A log in memory: what is appended becomes durable, or is refused, when ``work()`` is called.
public final class MemoryLog: DurableLog {
    public var store: MemoryStore
    /// What became durable, in order.
    public var committed: [DurableChange] = []
    /// The same since a test last emptied it.
    public var written: [DurableChange] = []
    /// The disk is full; it is noticed when something is written.
    public var isFull = false
    public private(set) var isWritable = true
    private var pending: [(changes: [DurableChange], token: UInt64, mayWait: Bool)] = []
    private var questions: [(kind: StoreQuery.Kind, token: UInt64)] = []
    private var loads: [(request: LoadRequest, token: UInt64)] = []
    private var completions: [LogCompletion] = []
    /// So many readings after a refusal fail.
    public var failingLoads = 0
    /// A refusal was reported and not yet taken in.
    private var isRefusing = false

    public init(_ store: MemoryStore = MemoryStore()) { self.store = store }

    public var backlog: Int { pending.reduce(0) { $0 + $1.changes.count } }
    public var hasCompletions: Bool { !completions.isEmpty }

    public func append(_ changes: [DurableChange], token: UInt64, mayWait: Bool) {
        guard !isRefusing else { return }
        pending.append((changes, token, mayWait))
    }

    public func resume(afterRefusal token: UInt64) { isRefusing = false }

    public func read(_ question: StoreQuery.Kind, token: UInt64) { questions.append((question, token)) }

    public func load(_ request: LoadRequest, token: UInt64) { loads.append((request, token)) }

    public func collect() -> [LogCompletion] {
        defer { completions = [] }
        return completions
    }

    /// The process ends: what was not written is gone.
    public func forgetUnwritten() {
        pending = []
        questions = []
        loads = []
        completions = []
        isRefusing = false
        isWritable = true
    }

    /// Writes what was appended, or refuses it; answers what was asked.
    ///
    /// - Parameter count: So much of what was appended at most.
    public func work(count: Int = .max) {
        if isFull { refuse() } else { write(count) }
        for (kind, token) in questions { completions.append(.answer(token, store.finding(kind))) }
        questions = []
        for (request, token) in loads { completions.append(.loaded(token, read(request))) }
        loads = []
    }

    private func read(_ request: LoadRequest) -> Result<LoadedState, LoadFailure> {
        guard failingLoads == 0 else {
            failingLoads -= 1
            return .failure(LoadFailure(Unreadable()))
        }
        return .success(loaded(request))
    }

    private struct Unreadable: Error {}

    private func write(_ count: Int) {
        isWritable = true
        let written = pending.prefix(count)
        guard let last = written.last else { return }
        for entry in written {
            committed += entry.changes
            self.written += entry.changes
            for change in entry.changes { store.apply(change) }
        }
        pending.removeFirst(written.count)
        completions.append(.durable(through: last.token))
    }

    private func refuse() {
        guard !pending.isEmpty else { return }
        isWritable = false
        guard let first = pending.firstIndex(where: { !$0.mayWait }) else { return }
        completions.append(.refused(from: pending[first].token, reason: "no space"))
        pending.removeSubrange(first...)
        isRefusing = true
    }

    /// What is durable of what a refusal put in doubt.
    public func loaded(_ request: LoadRequest) -> LoadedState {
        var state = LoadedState()
        for dataset in request.datasets { state.datasets += store.restored(dataset) }
        state.parts = store.records(request.parts.flatMap(\.keys))
        return state
    }
}
