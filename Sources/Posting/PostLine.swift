import Datasets
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Something that is posted once.
package protocol Postable: Sendable {
    /// Its outcome comes back under it.
    var token: UInt64 { get }
    /// What takes turns with others.
    var origin: String { get }
}

/// Posts that wait for their turn on a thread of their own, several at once and no more than ``PostLimits/runningMaximum``, and the
/// outcomes of those that are over, for the owner of the hub.
///
/// Origins take turns, so that one that does not answer delays no other. Must be closed.
package final class PostLine<Post: Postable>: Sendable {
    private struct State {
        var waiting: FairQueue<Post>
        var outcomes: [(post: Post, outcome: PostOutcome)] = []
        /// The owner knows of the outcomes.
        var isWoken = false
        /// The owner is woken soon, for all outcomes until then.
        var isWakeDue = false
        /// The thread will begin what may run: once for all that changes until then.
        var isBeginDue = false
        /// Nothing new is begun.
        var isClosing = false
        /// Nobody collects any longer.
        var isClosed = false
        var drained: EventLoopPromise<Void>?
    }

    private let group: MultiThreadedEventLoopGroup
    /// Outcomes wait so long for others at most.
    private let gatheringMilliseconds: Int64 = 5
    private let waitingMaximum: Int
    private let perform: @Sendable (Post, PostLine) -> Void
    private let wake: @Sendable () -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - group: Of one thread, which ends with ``end()``.
    ///   - wake: Called on the thread of the posts, soon after ``collect()`` has something new.
    ///   - perform: Begins a post, on the thread; ``complete(_:_:)`` ends it.
    package init(
        _ limits: PostLimits, on group: MultiThreadedEventLoopGroup, wake: @escaping @Sendable () -> Void,
        perform: @escaping @Sendable (Post, PostLine) -> Void
    ) {
        self.group = group
        self.perform = perform
        self.wake = wake
        waitingMaximum = limits.waitingMaximum
        state = Mutex(
            State(waiting: FairQueue(runningMaximum: limits.runningMaximum, perOrigin: limits.runningMaximumPerOrigin)))
        #if os(Linux)
            // This thread's own: matches go first.
            group.any().execute { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }
        #endif
    }

    /// Takes posts; the outcome of each comes in ``collect()``. From any thread, and at once.
    ///
    /// While it closes posts are left aside without an outcome: they are as outstanding as before.
    package func post(_ posts: [Post]) {
        let hasRefused = state.withLock { state -> Bool in
            guard !state.isClosing, !posts.isEmpty else { return false }
            defer { beginSoon(&state) }
            var hasRefused = false
            for post in posts {
                guard state.waiting.count < waitingMaximum else {
                    state.outcomes.append((post, .failed(reason: "too many posts wait for their turn", retryAfter: nil)))
                    hasRefused = true
                    continue
                }
                state.waiting.append(post, origin: post.origin)
            }
            return hasRefused
        }
        if hasRefused { wake() }
    }

    /// The outcomes since the last call, in the order in which they came.
    package func collect() -> [(post: Post, outcome: PostOutcome)] {
        state.withLock { state in
            let outcomes = state.outcomes
            state.outcomes = []
            state.isWoken = false
            return outcomes
        }
    }

    /// A post is over.
    package func complete(_ post: Post, _ outcome: PostOutcome) {
        let (isAwaited, isDrained) = state.withLock { state -> (Bool, Bool) in
            state.waiting.finished(origin: post.origin)
            if !state.isClosed { state.outcomes.append((post, outcome)) }
            // Not from here: posts that fail at once would pile up on the stack.
            beginSoon(&state)
            return (wakeSoon(&state), state.isClosing && state.waiting.running == 0)
        }
        if isAwaited { wake() }
        if isDrained { finishDraining() }
    }

    /// Each waking costs the owner a turn, so outcomes gather: until there is one for every four posts that run, as others may follow
    /// those that are over, or for ``gatheringMilliseconds``.
    ///
    /// - Returns: Whether the owner is to be woken now.
    private func wakeSoon(_ state: inout State) -> Bool {
        guard !state.isClosed, !state.isWoken else { return false }
        if state.isClosing || state.outcomes.count * 4 >= state.waiting.running {
            state.isWoken = true
            return true
        }
        guard !state.isWakeDue else { return false }
        state.isWakeDue = true
        group.any().scheduleTask(in: .milliseconds(gatheringMilliseconds)) { self.wakeNow() }
        return false
    }

    private func wakeNow() {
        let isAwaited = state.withLock { state in
            state.isWakeDue = false
            guard !state.isClosed, !state.isWoken, !state.outcomes.isEmpty else { return false }
            state.isWoken = true
            return true
        }
        if isAwaited { wake() }
    }

    /// Begins nothing new, waits so long for what runs, and gives up the rest.
    ///
    /// What is given up has no outcome: whether its endpoint took it is not known.
    ///
    /// - Returns: false where it was called before.
    package func drain(seconds: Double) async -> Bool {
        let (drained, isIdle) = state.withLock { state -> (EventLoopFuture<Void>?, Bool) in
            guard !state.isClosing else { return (nil, true) }
            let drained = group.any().makePromise(of: Void.self)
            state.isClosing = true
            state.drained = drained
            return (drained.futureResult, state.waiting.running == 0)
        }
        guard let drained else { return false }
        wakeNow()
        if isIdle { finishDraining() }
        let timeout = group.any().scheduleTask(in: .milliseconds(Int64(seconds * 1000))) { self.finishDraining() }
        try? await drained.get()
        timeout.cancel()
        state.withLock { $0.isClosed = true }
        return true
    }

    /// Ends the thread.
    package func end() async { try? await group.shutdownGracefully() }

    private func finishDraining() {
        let drained = state.withLock { state -> EventLoopPromise<Void>? in
            defer { state.drained = nil }
            return state.drained
        }
        drained?.succeed()
    }

    private func beginSoon(_ state: inout State) {
        // The thread lives at least as long as nobody closes.
        guard !state.isBeginDue, !state.isClosing else { return }
        state.isBeginDue = true
        group.any().execute { self.begin() }
    }

    /// Begins what may run.
    private func begin() {
        state.withLock { $0.isBeginDue = false }
        while let post = state.withLock({ $0.isClosing ? nil : $0.waiting.next() }) { perform(post, self) }
    }
}
