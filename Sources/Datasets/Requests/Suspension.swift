import DequeModule
import Records

/// Why what comes in for a dataset waits.
enum Suspension {
    /// A push waits for what the store knows of its documents. Time goes on.
    case push(AwaitedDocuments)
    /// Its deletion is not yet durable. Time stands still: what it brought would outlive the dataset.
    case deletion
}

/// What came in while its dataset was suspended.
enum WaitingInput {
    case request(ReceivedRequest)
    case update(topic: [UInt8], payload: [UInt8], isRepeated: Bool)
}

extension Dataset {
    /// So many updates wait at most; beyond, the oldest goes and counts as conflated.
    static let waitingUpdatesMax = 100_000

    var isBeingDeleted: Bool { if case .deletion? = suspension { true } else { false } }

    func wait(_ received: ReceivedRequest) { waiting.append(.request(received)) }

    func wait(_ update: IncomingUpdate, of topic: String) {
        if waiting.count >= Self.waitingUpdatesMax,
            let index = waiting.firstIndex(where: { if case .update(_, let payload, _) = $0 { !payload.isEmpty } else { false } })
        {
            waiting.remove(at: index)
            updateCounters.count(.conflated)
        }
        waiting.append(.update(topic: Array(topic.utf8), payload: Array(update.payload), isRepeated: update.isRepeated))
    }
}

extension Hub {
    /// Goes on with what waited for a dataset, until it is suspended anew.
    func resume(_ dataset: Dataset, _ turn: inout Turn) {
        dataset.suspension = nil
        while dataset.suspension == nil, let input = dataset.waiting.popFirst() {
            switch input {
            case .request(let received): handle(received, &turn)
            case .update(let topic, let payload, let isRepeated):
                topic.withUnsafeBytes { topic in
                    payload.withUnsafeBytes { payload in
                        receive(IncomingUpdate(topic: topic, payload: payload, isRepeated: isRepeated), &turn)
                    }
                }
            }
            showMoves(&turn)
        }
    }
}
