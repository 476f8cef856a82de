import Synchronization

/// What the daemon's start waits for, and what ends it.
public final class Health: Sendable {
    public enum Failure: Error, Equatable, CustomStringConvertible {
        /// The broker refused a subscription, or passes nothing.
        case refused(String)
        case storeUnreadable(String)

        /// The daemon cannot go on.
        public var isFinal: Bool {
            if case .storeUnreadable = self { true } else { false }
        }

        public var description: String {
            switch self {
            case .refused(let why): why
            case .storeUnreadable(let why): "the store cannot be read: \(why)"
            }
        }
    }

    private struct State {
        var wasOnline = false
        var isGivenUp = false
        var lastReason = "the broker did not answer"
        var failure: Failure?
        var waiter: CheckedContinuation<Failure?, Never>?
        /// Who waits for a failure after the start.
        var lateWaiter: CheckedContinuation<Failure?, Never>?
    }

    private let state = Mutex(State())

    private let turnCount = Atomic<UInt64>(0)

    public init() {}

    /// How many turns the loop has taken: one that takes none hangs.
    public var turns: UInt64 { turnCount.load(ordering: .relaxed) }

    func countTurn() { turnCount.add(1, ordering: .relaxed) }

    public func becomeOnline() {
        let waiter = state.withLock { state -> CheckedContinuation<Failure?, Never>? in
            state.wasOnline = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    public func note(_ reason: String) { state.withLock { $0.lastReason = reason } }

    /// What failed at the start ends it; later a refusal is only told, and a store that cannot be read is the end.
    public func fail(_ failure: Failure) {
        let waiters = state.withLock { state -> [CheckedContinuation<Failure?, Never>?] in
            if state.failure == nil || failure.isFinal { state.failure = failure }
            let waiters = [state.waiter, failure.isFinal ? state.lateWaiter : nil]
            state.waiter = nil
            if failure.isFinal { state.lateWaiter = nil }
            return waiters
        }
        for waiter in waiters { waiter?.resume(returning: failure) }
    }

    /// Why there is no connection.
    public var lastReason: String { state.withLock { $0.lastReason } }

    /// Nobody waits for it any longer.
    private func giveUp() {
        let waiters = state.withLock { state -> [CheckedContinuation<Failure?, Never>?] in
            state.isGivenUp = true
            defer {
                state.waiter = nil
                state.lateWaiter = nil
            }
            return [state.waiter, state.lateWaiter]
        }
        for waiter in waiters { waiter?.resume(returning: nil) }
    }

    /// Waits for a failure that ends the daemon also after its start; nil where the wait is cancelled.
    public func finalFailure() async -> Failure? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> (isKnown: Bool, failure: Failure?) in
                    if let failure = state.failure, failure.isFinal { return (true, failure) }
                    if state.isGivenUp { return (true, nil) }
                    state.lateWaiter = continuation
                    return (false, nil)
                }
                if answer.isKnown { continuation.resume(returning: answer.failure) }
            }
        } onCancel: {
            giveUp()
        }
    }

    /// Waits until the daemon is online for the first time, or something made that impossible; nil also where the wait is cancelled.
    public func firstOnline() async -> Failure? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> (isKnown: Bool, failure: Failure?) in
                    if state.wasOnline || state.isGivenUp { return (true, nil) }
                    if let failure = state.failure { return (true, failure) }
                    state.waiter = continuation
                    return (false, nil)
                }
                if answer.isKnown { continuation.resume(returning: answer.failure) }
            }
        } onCancel: {
            giveUp()
        }
    }
}
