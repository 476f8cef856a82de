import Synchronization

/// What the daemon's start waits for, and what ends it before it is online.
public final class Health: Sendable {
    public enum Failure: Error, Equatable, CustomStringConvertible {
        /// The broker refused a subscription, or passes nothing.
        case refused(String)

        public var description: String {
            switch self {
            case .refused(let why): why
            }
        }
    }

    private struct State {
        var wasOnline = false
        var isGivenUp = false
        var lastReason = "the broker did not answer"
        var failure: Failure?
        var ending: Failure?
        var waiter: CheckedContinuation<Failure?, Never>?
    }

    private let state = Mutex(State())

    private let turnCount = Atomic<UInt64>(0)
    private let online = Atomic<Bool>(false)

    public init() {}

    /// How many turns the loop has taken: one that takes none hangs.
    public var turns: UInt64 { turnCount.load(ordering: .relaxed) }

    /// Whether notifications can leave at present.
    public var isOnline: Bool { online.load(ordering: .relaxed) }

    public func setOnline(_ isOnline: Bool) { online.store(isOnline, ordering: .relaxed) }

    public func countTurn() { turnCount.add(1, ordering: .relaxed) }

    public func becomeOnline() {
        let waiter = state.withLock { state -> CheckedContinuation<Failure?, Never>? in
            state.wasOnline = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    public func note(_ reason: String) { state.withLock { $0.lastReason = reason } }

    /// What failed at the start ends it; later a refusal is only logged.
    public func fail(_ failure: Failure) {
        let waiter = state.withLock { state -> CheckedContinuation<Failure?, Never>? in
            if state.failure == nil { state.failure = failure }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: failure)
    }

    /// Ends the daemon for good, also once it is online: ``ending`` says why.
    public func end(_ failure: Failure) {
        state.withLock { $0.ending = failure }
        fail(failure)
    }

    /// Why the daemon ends by itself.
    public var ending: Failure? { state.withLock { $0.ending } }

    /// Why there is no connection.
    public var lastReason: String { state.withLock { $0.lastReason } }

    /// Nobody waits for it any longer.
    private func giveUp() {
        let waiter = state.withLock { state -> CheckedContinuation<Failure?, Never>? in
            state.isGivenUp = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
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
