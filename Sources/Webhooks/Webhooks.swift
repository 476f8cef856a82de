import AsyncHTTPClient
import Datasets
import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Posts matches to webhooks: each post is tried once, and its outcome collected by whoever owns the hub.
///
/// Posts run on a thread of their own, several at once and no more than ``Limits/runningMaximum``; endpoints take turns, so that one that
/// does not answer delays no other. Redirects are not followed, and answers are read to ``Limits/answerBytesMaximum`` and dropped. A
/// name is resolved first, refused where the policy forbids any of its addresses, and connected to at the address that was checked.
/// Must be closed.
public final class Webhooks: Sendable {
    /// What bounds posting.
    public struct Limits: Sendable {
        /// Posts at once.
        public var runningMaximum = 256
        /// Posts at once to one endpoint, however many URLs it has.
        public var runningMaximumPerOrigin = 32
        /// Posts that wait for their turn; one beyond fails at once.
        public var waitingMaximum = 20_000
        public var connectMilliseconds: Int64 = 5_000
        /// From its turn to the end of the answer.
        public var postMilliseconds: Int64 = 15_000
        /// Bytes of an answer that are read, for the connection's sake; one with more costs the connection.
        public var answerBytesMaximum = 64 << 10
        /// Connections without a post are closed: sooner than by most servers, whose closing would meet a post on its way.
        public var idleMilliseconds: Int64 = 4_000
        /// Endpoints whose connections are managed together; something of each is remembered until others take their place.
        public var originsMaximum = 4096
        /// Names whose connections are kept.
        public var namesMaximum = 512

        public init() {}
    }

    private struct State {
        var waiting: FairQueue<WebhookPost>
        var clients: Clients
        var outcomes: [(token: UInt64, outcome: WebhookOutcome)] = []
        /// Nothing new is begun.
        var isClosing = false
        /// Nobody collects any longer.
        var isClosed = false
        var drained: EventLoopPromise<Void>?
    }

    private let group: MultiThreadedEventLoopGroup
    private let policy: AddressPolicy
    private let resolver: Resolver
    private let limits: Limits
    private let userAgent: String
    private let wake: @Sendable () -> Void
    private let state: Mutex<State>
    /// Clients on their way out.
    private let retiring = DispatchGroup()

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - version: Of geomatch, told as `User-Agent`.
    ///   - wake: Called on the thread of the posts when ``collect()`` has something new.
    public convenience init(
        policy: AddressPolicy, version: String, limits: Limits = Limits(), wake: @escaping @Sendable () -> Void
    ) {
        self.init(policy: policy, version: version, limits: limits, tls: nil, resolver: Resolver(), wake: wake)
    }

    init(
        policy: AddressPolicy, version: String, limits: Limits, tls: TLSConfiguration?, resolver: Resolver,
        wake: @escaping @Sendable () -> Void
    ) {
        self.policy = policy
        self.resolver = resolver
        self.limits = limits
        self.wake = wake
        userAgent = "geomatch/\(version)"
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: .milliseconds(limits.connectMilliseconds)), decompression: .disabled)
        configuration.httpVersion = .http1Only
        configuration.connectionPool = .init(
            idleTimeout: .milliseconds(limits.idleMilliseconds),
            concurrentHTTP1ConnectionsPerHostSoftLimit: limits.runningMaximumPerOrigin)
        // Whoever decides about the next try is told of the first that failed.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.http1_1ConnectionDebugInitializer = { Self.check($0, policy) }
        let clients = Clients(originsMaximum: limits.originsMaximum, namesMaximum: limits.namesMaximum) {
            [group, configuration] resolved in
            var configuration = configuration
            if let resolved { configuration.dnsOverride = [resolved.name: "\(resolved.address)"] }
            return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        }
        state = Mutex(
            State(
                waiting: FairQueue(runningMaximum: limits.runningMaximum, perOrigin: limits.runningMaximumPerOrigin),
                clients: clients))
    }

    // MARK: What the owner calls

    /// Takes posts; the outcome of each comes in ``collect()``. From any thread, and at once.
    ///
    /// While it closes posts are left aside without an outcome: they are as outstanding as before.
    public func post(_ posts: [WebhookPost]) {
        let hasRefused = state.withLock { state -> Bool in
            guard !state.isClosing, !posts.isEmpty else { return false }
            // The thread lives at least as long as nobody closes.
            defer { group.any().execute { self.begin() } }
            var hasRefused = false
            for post in posts {
                guard state.waiting.count < limits.waitingMaximum else {
                    state.outcomes.append((post.token, .failed(reason: "too many posts wait for their turn", retryAfter: nil)))
                    hasRefused = true
                    continue
                }
                state.waiting.append(post, origin: post.url.origin)
            }
            return hasRefused
        }
        if hasRefused { wake() }
    }

    /// The outcomes since the last call, in the order in which they came.
    public func collect() -> [(token: UInt64, outcome: WebhookOutcome)] {
        state.withLock { state in
            let outcomes = state.outcomes
            state.outcomes = []
            return outcomes
        }
    }

    /// Begins nothing new, waits so long for what runs, gives up the rest, and ends the thread.
    ///
    /// What is given up has no outcome: whether its endpoint took it is not known. Called again, it does nothing.
    public func close(drainSeconds: Double) async {
        let (drained, isIdle) = state.withLock { state -> (EventLoopFuture<Void>?, Bool) in
            guard !state.isClosing else { return (nil, true) }
            let drained = group.any().makePromise(of: Void.self)
            state.isClosing = true
            state.drained = drained
            return (drained.futureResult, state.waiting.running == 0)
        }
        guard let drained else { return }
        if isIdle { finishDraining() }
        let timeout = group.any().scheduleTask(in: .milliseconds(Int64(drainSeconds * 1000))) { self.finishDraining() }
        try? await drained.get()
        timeout.cancel()
        let clients = state.withLock { state in
            state.isClosed = true
            return state.clients.removeAll()
        }
        for client in clients { retire(client) }
        await withCheckedContinuation { continuation in
            retiring.notify(queue: .global()) { continuation.resume() }
        }
        try? await group.shutdownGracefully()
    }

    private func finishDraining() {
        let drained = state.withLock { state -> EventLoopPromise<Void>? in
            defer { state.drained = nil }
            return state.drained
        }
        drained?.succeed()
    }

    // MARK: Posting

    /// Begins what may run.
    private func begin() {
        while let post = state.withLock({ $0.isClosing ? nil : $0.waiting.next() }) { perform(post) }
    }

    private func perform(_ post: WebhookPost) {
        if let refusal = policy.refusal(of: post.url) {
            settle(post, .refused(reason: refusal))
            return
        }
        guard case .name(let name) = post.url.host else { return send(post, resolved: nil) }
        resolver.resolve(name) { addresses in
            guard let address = addresses.first else {
                return self.settle(post, .failed(reason: "the name cannot be resolved", retryAfter: nil))
            }
            if let refusal = self.policy.refusal(of: name, resolvedTo: addresses) {
                return self.settle(post, .refused(reason: refusal))
            }
            self.send(post, resolved: Clients.Resolved(name: name, address: address))
        }
    }

    private func send(_ post: WebhookPost, resolved: Clients.Resolved?) {
        let answer = Answer(bytesMaximum: limits.answerBytesMaximum)
        do {
            let request = try request(for: post)
            let taken = state.withLock { $0.isClosed ? nil : $0.clients.take(for: post.url.origin, resolved: resolved) }
            // It ended while the name was looked up.
            guard let (number, client, retired) = taken else { return }
            for client in retired { retire(client) }
            client.execute(
                request: request, delegate: answer, deadline: .now() + .milliseconds(limits.postMilliseconds)
            ).futureResult.whenComplete { result in
                if let retired = self.state.withLock({ $0.clients.giveBack(number) }) { self.retire(retired) }
                if let resolved, answer.head == nil { self.resolver.failed(resolved.address, of: resolved.name) }
                self.settle(post, self.outcome(answer, result, post.url))
            }
        } catch {
            settle(post, .failed(reason: FailureText.of(error), retryAfter: nil))
        }
    }

    private func retire(_ client: HTTPClient) {
        retiring.enter()
        client.shutdown { _ in self.retiring.leave() }
    }

    /// How many clients are held.
    var clientCount: Int { state.withLock { $0.clients.count } }

    private func request(for post: WebhookPost) throws -> HTTPClient.Request {
        var headers = HTTPHeaders([
            ("Content-Type", "application/json"), ("User-Agent", userAgent), ("Geomatch-Match-Id", post.matchID),
        ])
        if let secret = post.secret { headers.add(name: "Geomatch-Signature", value: Signature.of(post.body, secret: secret)) }
        return try HTTPClient.Request(url: post.url.normalized, method: .POST, headers: headers, body: .bytes(post.body))
    }

    private func outcome(_ answer: Answer, _ result: Result<Void, any Error>, _ url: WebhookURL) -> WebhookOutcome {
        if let head = answer.head {
            // What follows the head tells nothing more, also where it never ends.
            let status = Int(head.status.code)
            if (200...299).contains(status) { return .taken(status: status) }
            let hint = (300...399).contains(status) ? ", and redirects are not followed" : ""
            let retryAfter = head.headers.first(name: "Retry-After").flatMap { RetryAfter.milliseconds($0, at: WallClock.now()) }
            return .failed(reason: "the endpoint answered \(status)\(hint)", retryAfter: retryAfter)
        }
        guard case .failure(let error) = result else { return .failed(reason: "no answer", retryAfter: nil) }
        if error is ForbiddenAddress { return .refused(reason: policy.refusal(of: url.origin)) }
        return .failed(reason: FailureText.of(error), retryAfter: nil)
    }

    private func settle(_ post: WebhookPost, _ outcome: WebhookOutcome) {
        let (isFirst, isDrained) = state.withLock { state -> (Bool, Bool) in
            state.waiting.finished(origin: post.url.origin)
            let isFirst = !state.isClosed && state.outcomes.isEmpty
            if !state.isClosed { state.outcomes.append((post.token, outcome)) }
            // Not from here: posts that fail at once would pile up on the stack.
            if !state.isClosing { group.any().execute { self.begin() } }
            return (isFirst, state.isClosing && state.waiting.running == 0)
        }
        if isFirst { wake() }
        if isDrained { finishDraining() }
    }

    // MARK: The policy

    private struct ForbiddenAddress: Error {}

    /// A second look at whom a new connection leads to, before anything is asked on it.
    private static func check(_ channel: any Channel, _ policy: AddressPolicy) -> EventLoopFuture<Void> {
        if let address = channel.remoteAddress.flatMap(IPAddress.init(socket:)), policy.refusal(of: address) == nil {
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        // The client has to forget the connection before it learns that it is closed.
        channel.eventLoop.execute { channel.close(promise: nil) }
        return channel.eventLoop.makeFailedFuture(ForbiddenAddress())
    }
}
