import Datasets
import NIOHTTP1
import NIOPosix
import NIOSSL
import Posting

/// Posts matches to webhooks: each post is tried once, and its outcome collected by the owner of the hub.
///
/// Redirects are not followed, and answers are read to ``PostLimits/answerBytesMaximum`` and dropped. Must be closed.
public final class Webhooks: Sendable {
    public typealias Limits = PostLimits

    private let endpoints: Endpoints
    private let line: PostLine<WebhookPost>

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - version: Of geomatch, sent as `User-Agent`.
    ///   - wake: Called on the thread of the posts when ``collect()`` has something new.
    public convenience init(
        policy: AddressPolicy, version: String, limits: Limits = Limits(), wake: @escaping @Sendable () -> Void
    ) {
        self.init(policy: policy, version: version, limits: limits, tls: nil, resolver: NameResolver(), wake: wake)
    }

    init(
        policy: AddressPolicy, version: String, limits: Limits, tls: TLSConfiguration?, resolver: NameResolver,
        wake: @escaping @Sendable () -> Void
    ) {
        let userAgent = "geomatch/\(version)"
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let endpoints = Endpoints(policy: policy, limits: limits, tls: tls, resolver: resolver, on: group)
        self.endpoints = endpoints
        line = PostLine(limits, on: group, wake: wake) { post, line in
            endpoints.post(to: post.url, Self.headers(of: post, userAgent), body: post.body) { result in
                line.complete(post, Self.outcome(result))
            }
        }
    }

    /// Takes posts; the outcome of each comes in ``collect()``. From any thread, and at once.
    ///
    /// While it closes posts are left aside without an outcome: they are as outstanding as before.
    public func post(_ posts: [WebhookPost]) { line.post(posts) }

    /// The outcomes since the last call, in the order in which they came.
    public func collect() -> [(token: UInt64, outcome: PostOutcome)] { line.collect().map { ($0.post.token, $0.outcome) } }

    /// Begins nothing new, waits so long for what runs, gives up the rest, and ends the thread.
    ///
    /// What is given up has no outcome: whether its endpoint took it is not known. Called again, it does nothing.
    public func close(drainSeconds: Double) async {
        guard await line.drain(seconds: drainSeconds) else { return }
        await endpoints.close()
        await line.end()
    }

    /// How many clients are held.
    var clientCount: Int { endpoints.clientCount }

    private static func headers(of post: WebhookPost, _ userAgent: String) -> HTTPHeaders {
        var headers = HTTPHeaders([
            ("Content-Type", "application/json"), ("User-Agent", userAgent), ("Geomatch-Match-Id", post.matchID),
        ])
        if let secret = post.secret { headers.add(name: "Geomatch-Signature", value: Signature.of(post.body, secret: secret)) }
        return headers
    }

    private static func outcome(_ result: Endpoints.Result) -> PostOutcome {
        switch result {
        case .answered(let head):
            let status = Int(head.status.code)
            if (200...299).contains(status) { return .taken(status: status) }
            let hint = (300...399).contains(status) ? ", and redirects are not followed" : ""
            return .failed(reason: "the endpoint answered \(status)\(hint)", retryAfter: RetryAfter.of(head))
        case .refused(let reason): return .refused(reason: reason)
        case .failed(let reason): return .failed(reason: reason, retryAfter: nil)
        }
    }
}

extension WebhookPost: Postable {
    package var origin: String { url.origin }
}
