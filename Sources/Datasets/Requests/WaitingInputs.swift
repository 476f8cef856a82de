import DequeModule
import Records

/// What came in for datasets that are suspended, in order, until they go on.
///
/// Updates are all kept up to a bound; beyond it a newer one takes the place of an older one of its topic.
struct WaitingInputs {
    /// Something that waits, and when it came, milliseconds since 1970 UTC.
    struct Input {
        var at: Int64
        var content: Content
    }

    enum Content {
        case request(ReceivedRequest)
        case update(Update)
    }

    struct Update {
        var topic: String
        var payload: [UInt8]
        var isRepeated = false
        /// It is a live state that somebody kept, see ``Hub/adopt(_:restores:_:)``.
        var isAdopted = false
        /// See ``IncomingUpdate/isWaypoint``.
        var isWaypoint = false

        /// What it occupies, its place in the queue included.
        var bytes: Int { payload.count + 2 * topic.utf8.count + 192 }
    }

    /// What became of an update that is to wait.
    enum Outcome {
        case waits
        /// An older one of its topic goes.
        case replaces
        /// There is no room: as many topics wait as a dataset may have, or as many bytes as may wait.
        case refused
    }

    private let limits: HubLimits
    private var queues: [String: Queue] = [:]
    /// Datasets that may go on, in turn.
    private var ready = Deque<String>()
    /// The dataset that goes on just now.
    private var active: String?

    init(limits: HubLimits) { self.limits = limits }

    /// What comes in for a dataset has to wait behind what waits.
    func isWaiting(_ dataset: String) -> Bool { !queues.isEmpty && dataset != active && queues[dataset] != nil }

    /// How many wait, of all datasets.
    var count: Int { queues.values.reduce(0) { $0 + $1.count } }

    /// - Returns: false where too many wait, in number or bytes.
    mutating func append(_ request: ReceivedRequest, to dataset: String, at now: Int64) -> Bool {
        queues[dataset, default: Queue()].append(request, at: now, limits)
    }

    mutating func append(_ update: Update, to dataset: String, at now: Int64) -> Outcome {
        queues[dataset, default: Queue()].append(update, at: now, limits)
    }

    // MARK: Going on

    /// Some dataset may go on.
    var hasReady: Bool { !ready.isEmpty }

    /// A dataset is suspended no longer.
    mutating func makeReady(_ dataset: String) {
        if queues[dataset] != nil, !ready.contains(dataset) { ready.append(dataset) }
    }

    /// Begins with the next dataset that may go on; ends with ``end(isReady:)``.
    mutating func beginNext() -> String? {
        active = ready.popFirst()
        return active
    }

    /// The next input of the dataset that goes on.
    mutating func next() -> Input? { active.flatMap { queues[$0]?.popFirst() } }

    /// - Parameter isReady: It may go on again, when others had their turn.
    /// - Returns: Whether something still waits.
    mutating func end(isReady: Bool) -> Bool {
        guard let dataset = active else { return false }
        active = nil
        guard queues[dataset]?.isEmpty == false else {
            queues[dataset] = nil
            return false
        }
        if isReady { ready.append(dataset) }
        return true
    }
}

extension WaitingInputs {
    /// The inputs of one dataset.
    private struct Queue {
        private struct Key: Hashable {
            var topic: ByteKey
            var isAdopted: Bool

            init(_ update: Update) {
                topic = ByteKey(update.topic)
                isAdopted = update.isAdopted
            }
        }

        /// nil where a newer update of the same topic came.
        private var inputs = Deque<Input?>()
        /// The number of the first of them.
        private var firstNumber = 0
        /// The newest update of each topic, by number.
        private var newest: [Key: Int] = [:]
        private var updateCount = 0
        private var updateBytes = 0
        private var requestCount = 0
        private var requestBytes = 0

        var count: Int { updateCount + requestCount }
        var isEmpty: Bool { count == 0 }

        mutating func append(_ request: ReceivedRequest, at now: Int64, _ limits: HubLimits) -> Bool {
            guard requestCount < limits.waitingRequests, requestBytes + request.bytes <= limits.waitingRequestBytes else {
                return false
            }
            requestCount += 1
            requestBytes += request.bytes
            inputs.append(Input(at: now, content: .request(request)))
            return true
        }

        mutating func append(_ update: Update, at now: Int64, _ limits: HubLimits) -> Outcome {
            let key = Key(update)
            let bytes = update.bytes
            let isOverBytes = updateBytes + bytes > limits.waitingUpdateBytes
            var outcome = Outcome.waits
            if updateCount >= limits.waitingUpdates || isOverBytes {
                if let number = newest[key], case .update(let older)? = inputs[number - firstNumber]?.content {
                    guard !isOverBytes || updateBytes - older.bytes + bytes <= limits.waitingUpdateBytes else { return .refused }
                    inputs[number - firstNumber] = nil
                    updateCount -= 1
                    updateBytes -= older.bytes
                    outcome = .replaces
                } else if newest.count >= limits.liveTopics || isOverBytes {
                    return .refused
                }
            }
            newest[key] = firstNumber + inputs.count
            updateCount += 1
            updateBytes += bytes
            inputs.append(Input(at: now, content: .update(update)))
            if inputs.count > 2 * (updateCount + requestCount) + 1024 { dropReplaced() }
            return outcome
        }

        mutating func popFirst() -> Input? {
            while let first = inputs.popFirst() {
                firstNumber += 1
                guard let first else { continue }
                switch first.content {
                case .request(let request):
                    requestCount -= 1
                    requestBytes -= request.bytes
                case .update(let update):
                    updateCount -= 1
                    updateBytes -= update.bytes
                    if newest[Key(update)] == firstNumber - 1 { newest[Key(update)] = nil }
                }
                return first
            }
            return nil
        }

        private mutating func dropReplaced() {
            inputs.removeAll { $0 == nil }
            firstNumber = 0
            newest.removeAll(keepingCapacity: true)
            for (number, input) in inputs.enumerated() {
                if case .update(let update)? = input?.content { newest[Key(update)] = number }
            }
        }
    }
}
