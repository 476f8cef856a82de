import Records
import Wire

/// Why what comes in for a dataset waits.
enum Suspension {
    /// A push waits for what the store knows of its documents. Time goes on.
    case push(AwaitedDocuments)
    /// Its deletion is not yet durable. Time does not advance: what it brought would outlive the dataset.
    case deletion
}

extension Hub {
    /// So many inputs that waited are handled in one turn.
    private static let inputsPerTurn = 1000

    /// Whether what comes in for a dataset waits, or some of it.
    public func isSuspended(_ name: String) -> Bool { datasets[name]?.isSuspended ?? waiting.isWaiting(name) }

    /// Whether live updates of a dataset wait.
    func holdsUpdates(_ name: String) -> Bool { datasets[name]?.holdsUpdates ?? waiting.isWaiting(name) }

    /// Whether a request waits until its dataset goes on.
    func mustWait(_ context: ReplyContext) -> Bool {
        guard isSuspended(context.dataset) else { return false }
        guard let dataset = datasets[context.dataset], dataset.letsOthersPass, case .push(let awaited)? = dataset.suspension
        else {
            return true
        }
        return context.client == awaited.call.client.name || context.request.hasPrefix("changes/")
            || context.request.hasPrefix("dataset/")
    }

    /// Something waits: what comes from now on waits behind it.
    private func endPassing(_ name: String) {
        guard let dataset = datasets[name], case .push(var awaited)? = dataset.suspension, awaited.letsOthersPass else { return }
        awaited.letsOthersPass = false
        dataset.suspension = .push(awaited)
    }

    /// A request that was handled while nothing waited may be a push for which others need not wait.
    func letOthersPass(_ name: String) {
        guard let dataset = datasets[name], case .push(var awaited)? = dataset.suspension, awaited.isForeign else { return }
        awaited.letsOthersPass = true
        dataset.suspension = .push(awaited)
    }

    /// Whether a dataset is read again after a refusal.
    public func isLoading(_ name: String) -> Bool { datasets[name]?.isLoading ?? false }

    /// A request waits until its dataset goes on; beyond what may wait it is refused, which is not remembered: trying again is the remedy.
    func wait(_ received: ReceivedRequest, _ turn: inout Turn) {
        let context = received.context
        endPassing(context.dataset)
        guard !waiting.append(received, to: context.dataset, at: turn.now) else { return }
        countUnhandled(context.request, of: context.dataset)
        let error = WireError(
            .limit,
            "\(configuration.limits.waitingRequests) requests to the dataset `\(context.dataset)` wait, or \(configuration.limits.waitingRequestBytes) bytes of them, the maximum: try again later"
        )
        reply(context.encode(error), to: context, &turn)
    }

    /// An update waits until its dataset goes on.
    ///
    /// - Parameter topic: Its seven levels, encoded and normalised.
    func wait(_ message: IncomingUpdate, of topic: String, in name: String, isAdopted: Bool = false, _ turn: inout Turn) {
        endPassing(name)
        let update = WaitingInputs.Update(
            topic: topic, payload: Array(message.payload), isRepeated: message.isRepeated, isAdopted: isAdopted,
            isWaypoint: message.isWaypoint)
        switch waiting.append(update, to: name, at: turn.now) {
        case .waits: break
        case .replaces: if !isAdopted { datasets[name]?.updateCounters.count(.conflated) }
        case .refused:
            let limits = configuration.limits
            let error = WireError(
                .limit,
                "updates of \(limits.liveTopics) live topics wait, or \(limits.waitingUpdateBytes) bytes of them, the maximum")
            if !isAdopted { topic.withBytes { refuse(error, published: $0, of: name, &turn) } }
        }
    }

    /// Some of what waited may go on, see ``continueWaiting(_:)``.
    public var isResuming: Bool { waiting.hasReady }

    /// Goes on with what waited for a dataset, in order, some of it in each turn, until it is suspended anew.
    func resume(_ name: String, _ turn: inout Turn) {
        waiting.makeReady(name)
        // Others may have their turn first: what comes in meanwhile waits behind what waits.
        if waiting.isWaiting(name) { datasets[name]?.isSuspended = true }
        continueWaiting(&turn)
    }

    /// Handles some of what waited for datasets that go on, each as of the instant it came: what it met may have expired since.
    public func continueWaiting(_ turn: inout Turn) {
        let now = turn.now
        var budget = Self.inputsPerTurn
        while budget > 0, let name = waiting.beginNext() {
            if isOpen(name) { datasets[name]?.isSuspended = false }
            while budget > 0, isOpen(name), let input = waiting.next() {
                budget -= 1
                // Time may have gone on for the dataset, or the clock back.
                turn.now = min(max(input.at, datasets[name]?.advancedTo ?? .min), now)
                handle(input.content, &turn)
                live.reportMoves(&turn)
            }
            turn.now = now
            if waiting.end(isReady: isOpen(name)) { datasets[name]?.isSuspended = true }
        }
    }

    private func isOpen(_ name: String) -> Bool { datasets[name].map { $0.suspension == nil && !$0.isLoading } ?? true }

    private func handle(_ input: WaitingInputs.Content, _ turn: inout Turn) {
        switch input {
        case .request(let received): handle(received, &turn)
        case .update(let update):
            update.topic.withBytes { topic in
                update.payload.withUnsafeBytes { payload in
                    var message = IncomingUpdate(topic: topic, payload: payload, isRepeated: update.isRepeated)
                    message.isWaypoint = update.isWaypoint
                    if update.isAdopted { adopt(message, &turn) } else { receive(message, &turn) }
                }
            }
        }
    }
}
