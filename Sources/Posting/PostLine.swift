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
        /// Nothing new is begun.
        var isClosing = false
        /// Nobody collects any longer.
        var isClosed = false
        var drained: EventLoopPromise<Void>?
    }

    private let group: MultiThreadedEventLoopGroup
    private let waitingMaximum: Int
    private let perform: @Sendable (Post, PostLine) -> Void
    private let wake: @Sendable () -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - group: Of one thread, which ends with ``end()``.
    ///   - wake: Called on the thread of the posts when ``collect()`` has something new.
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
            // The thread lives at least as long as nobody closes.
            defer { group.any().execute { self.begin() } }
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
            return outcomes
        }
    }

    /// A post is over.
    package func complete(_ post: Post, _ outcome: PostOutcome) {
        let (isFirst, isDrained) = state.withLock { state -> (Bool, Bool) in
            state.waiting.finished(origin: post.origin)
            let isFirst = !state.isClosed && state.outcomes.isEmpty
            if !state.isClosed { state.outcomes.append((post, outcome)) }
            // Not from here: posts that fail at once would pile up on the stack.
            if !state.isClosing { group.any().execute { self.begin() } }
            return (isFirst, state.isClosing && state.waiting.running == 0)
        }
        if isFirst { wake() }
        if isDrained { finishDraining() }
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

    /// Begins what may run.
    private func begin() {
        while let post = state.withLock({ $0.isClosing ? nil : $0.waiting.next() }) { perform(post, self) }
    }
}
