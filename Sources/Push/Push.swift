import Datasets
import NIOPosix
import NIOSSL
import Posting

/// Hands messages to push services: each is tried once, and its outcome collected by the owner of the hub. Must be closed.
public final class Push: Sendable {
    public typealias Limits = PostLimits

    private let endpoints: Endpoints
    private let client: ServiceClient
    private let line: PostLine<PushPost>

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - policy: Where the endpoints of browsers may be.
    ///   - wake: Called on the thread of the posts when ``collect()`` has something new.
    public convenience init(
        _ configuration: PushConfiguration, policy: AddressPolicy, limits: Limits = Push.limits,
        wake: @escaping @Sendable () -> Void
    ) {
        self.init(
            configuration, policy: policy, limits: limits, resolver: NameResolver(),
            clock: { Moment(wall: WallClock.now(), monotonic: WallClock.monotonic()) }, wake: wake)
    }

    init(
        _ configuration: PushConfiguration, policy: AddressPolicy, limits: Limits, resolver: NameResolver,
        clock: @escaping @Sendable () -> Moment, wake: @escaping @Sendable () -> Void
    ) {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let endpoints = Endpoints(policy: policy, limits: limits, tls: configuration.tls, resolver: resolver, on: group)
        let client = ServiceClient(limits, tls: configuration.tls, on: group)
        let apns = configuration.apns.map {
            APNs($0, HTTP2Client($0.address, limits, tls: configuration.tls, on: group.any()), clock: clock)
        }
        let fcm = configuration.fcm.map { FCM($0, client, clock: clock) }
        let web = configuration.web.map { WebPush($0, endpoints, clock: clock) }
        self.endpoints = endpoints
        self.client = client
        line = PostLine(limits, on: group, wake: wake) { post, line in
            let done: @Sendable (PostOutcome) -> Void = { line.complete(post, $0) }
            let missing = PostOutcome.misconfigured(reason: "`\(post.target.kind.key)` is not configured any more")
            switch post.target {
            case .apns(let token): apns.map { $0.send(post, token: token, done) } ?? done(missing)
            case .fcm(let token): fcm.map { $0.send(post, token: token, done) } ?? done(missing)
            case .web(let subscription): web.map { $0.send(post, to: subscription, done) } ?? done(missing)
            }
        }
    }

    /// As for webhooks, with more at once for services that stand for all phones.
    public static var limits: Limits {
        var limits = Limits()
        limits.runningMaximumPerOrigin = 96
        return limits
    }

    /// Takes posts; the outcome of each comes in ``collect()``. From any thread, and at once.
    public func post(_ posts: [PushPost]) { line.post(posts) }

    /// The outcomes since the last call, in the order in which they came.
    public func collect() -> [PushResult] {
        line.collect().map { PushResult(token: $0.post.token, kind: $0.post.target.kind, outcome: $0.outcome) }
    }

    /// Begins nothing new, waits so long for what runs, gives up the rest, and ends the thread. Called again, it does nothing.
    public func close(drainSeconds: Double) async {
        guard await line.drain(seconds: drainSeconds) else { return }
        await endpoints.close()
        await client.close()
        await line.end()
    }
}

extension PushPost: Postable {
    package var origin: String { target.origin }
}
