import DaemonCore
import Datasets
import Records
import Store
import Webhooks

// The store and the webhooks at the ports of the core.

/// The journal as the core's log.
final class JournalLog: DurableLog {
    private let journal: Journal

    init(_ journal: Journal) { self.journal = journal }

    var isWritable: Bool { journal.isWritable }
    var backlog: Int { journal.backlog }

    func append(_ changes: [DurableChange], token: UInt64, mayWait: Bool) {
        journal.append(changes, token: token, mayWait: mayWait)
    }

    func resume(afterRefusal token: UInt64) { journal.resume(afterRefusal: token) }

    func read(_ question: StoreQuery.Kind, token: UInt64) {
        journal.read(token: token) { store in
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

    func collect() -> [LogCompletion] {
        journal.collect().map { completion in
            switch completion {
            case .durable(let token): .durable(through: token)
            case .refused(let token, let error): .refused(from: token, reason: error.description)
            case .answer(let token, let answer): .answer(token, StoreFinding(answer))
            }
        }
    }
}

extension StoreFinding {
    fileprivate init(_ answer: StoreAnswer) {
        switch answer {
        case .matches(let matches): self = .matches(matches)
        case .noSuchMatch: self = .noSuchMatch
        case .match(let match): self = .match(match)
        case .feed(let page): self = .feed(page)
        case .documents(let documents): self = .documents(documents)
        case .failed: self = .failed
        }
    }
}

extension Store: DurableState {
    public func restore(dataset: String, _ visit: (DurableChange) throws -> Void) throws {
        try restore(dataset: dataset, repliesSince: .min, visit)
    }

    public func restore(like changes: [DurableChange], _ visit: (DurableChange) throws -> Void) throws {
        for change in try records(changes.flatMap(\.keys)) { try visit(change) }
    }
}

extension Webhooks: Poster {}
