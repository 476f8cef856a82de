internal import Synchronization

/// One delegate, held weakly, and the task that hands it what comes, in order.
final class Delegation<Event: Sendable>: Sendable {
    private struct State {
        weak var delegate: (any AnyObject & Sendable)?
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())

    deinit { state.withLock { $0.task }?.cancel() }

    var delegate: (any AnyObject & Sendable)? { state.withLock { $0.delegate } }

    /// The one before hears nothing more.
    ///
    /// - Parameters:
    ///   - mailbox: What comes from now on; made only where somebody will read it.
    ///   - hand: Hands an event over; false where there is nobody any more.
    func replace(
        by delegate: (any AnyObject & Sendable)?, reading mailbox: () -> Mailbox<Event, Never>,
        _ hand: @escaping @Sendable (Event) async -> Bool
    ) {
        // A free task: it ends with its owner, or when another delegate takes over.
        let task = delegate.map { _ in
            let mailbox = mailbox()
            return Task {
                while let event = await mailbox.next() {
                    guard !Task.isCancelled, await hand(event) else { return }
                }
            }
        }
        let before = state.withLock { state in
            defer { state = State(delegate: delegate, task: task) }
            return state.task
        }
        before?.cancel()
    }
}
