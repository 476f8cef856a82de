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
        case .document, .failed: self = .failed
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

extension DurableChange {
    /// The records that it is about, of those that are read one by one.
    fileprivate var keys: [RecordKey] {
        switch self {
        case .putPlace(let record): [.place(dataset: record.dataset, id: record.place.id)]
        case .deletePlace(let dataset, let id):
            [.place(dataset: dataset, id: id)]
                + (0..<168).map { .verification(dataset: dataset, placeId: id, hour: $0) }
        case .putCategory(let record): [.category(dataset: record.dataset, id: record.category.id)]
        case .putVerification(let record):
            [.verification(dataset: record.dataset, placeId: record.placeID, hour: record.hour)]
        case .putLiveState(let record): [.liveState(dataset: record.dataset, topic: record.topic)]
        case .forgetLiveState(let dataset, let topic): [.liveState(dataset: dataset, topic: topic)]
        case .putLiveSubscription(let record):
            [.liveSubscription(dataset: record.dataset, client: record.client, id: record.id)]
        case .deleteLiveSubscription(let dataset, let client, let id):
            [.liveSubscription(dataset: dataset, client: client, id: id)]
        case .putFollower(let record): [.follower(dataset: record.dataset, client: record.client)]
        case .deleteFollower(let dataset, let client): [.follower(dataset: dataset, client: client)]
        default: []
        }
    }
}

extension Webhooks: Poster {}
