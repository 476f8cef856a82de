import DaemonCore
import Datasets
import Push
import Records
import Store
import Synchronization
import Webhooks

// The store and the webhooks at the ports of the core.

/// The journal as the core's log.
final class JournalLog: DurableLog, Sendable {
    private let journal: Journal
    private let store: any DurableStore
    /// What was read after refusals, by token, until it is collected.
    private let loaded = Mutex<[UInt64: Result<LoadedState, LoadFailure>]>([:])

    init(_ journal: Journal, _ store: any DurableStore) {
        self.journal = journal
        self.store = store
    }

    var isWritable: Bool { journal.isWritable }
    var backlog: Int { journal.backlog }

    func append(_ changes: [DurableChange], token: UInt64, mayWait: Bool) {
        journal.append(changes, token: token, mayWait: mayWait)
    }

    func resume(afterRefusal token: UInt64) { journal.resume(afterRefusal: token) }

    func read(_ question: StoreQuery.Kind, token: UInt64) {
        // While a push waits for its documents, others may, too.
        let isForAll = if case .documents = question { true } else { false }
        journal.read(token: token, isForAll: isForAll) { store in
            switch question {
            case .matches(let dataset, let deviceId, let after):
                guard let matches = try store.matches(dataset: dataset, deviceId: deviceId, after: after) else {
                    return .noSuchMatch
                }
                return .matches(matches)
            case .match(let dataset, let id): return .match(try store.match(dataset: dataset, id: id))
            case .feed(let query): return .feed(try store.feedPage(query))
            case .documents(let lookups): return .documents(try store.documents(lookups))
            }
        }
    }

    func load(_ request: LoadRequest, token: UInt64) {
        journal.read(token: token, isForAll: true) { [store, weak self] _ in
            let state = Result { try store.load(request) }.mapError(LoadFailure.init)
            self?.loaded.withLock { $0[token] = state }
            return .failed
        }
    }

    private func takeLoaded(_ token: UInt64) -> Result<LoadedState, LoadFailure>? {
        loaded.withLock { $0.removeValue(forKey: token) }
    }

    func collect() -> [LogCompletion] {
        journal.collect().map { completion in
            switch completion {
            case .durable(let token): .durable(through: token)
            case .refused(let token, let error): .refused(from: token, reason: error.description)
            case .answer(let token, let answer):
                takeLoaded(token).map { .loaded(token, $0) } ?? .answer(token, answer)
            }
        }
    }
}

extension DurableStore {
    fileprivate func load(_ request: LoadRequest) throws -> LoadedState {
        var state = LoadedState()
        // Memory knows the replies; what is read alone comes with the parts.
        for dataset in request.datasets {
            try restore(dataset: dataset, repliesSince: .max) {
                if $0.kind?.row.isReadAlone != true { state.datasets.append($0) }
            }
        }
        state.parts = try records(request.parts.flatMap(\.keys))
        return state
    }
}

extension Webhooks: Poster {}
extension Push: PushPoster {}
