import AsyncHTTPClient
import Datasets
import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Sends requests to endpoints that clients name.
///
/// A name is resolved first, refused where the policy forbids any of its addresses, and connected to at the address that was checked.
/// Redirects are not followed. Must be closed.
package final class Endpoints: Sendable {
    /// What became of a request.
    package enum Result: Sendable {
        case answered(HTTPResponseHead)
        /// Nothing was asked: the policy forbids the address.
        case refused(reason: String)
        case failed(reason: String)
    }

    private let policy: AddressPolicy
    private let resolver: NameResolver
    private let limits: PostLimits
    private let clients: Mutex<Clients?>
    /// Clients on their way out.
    private let retiring = DispatchGroup()

    /// - Parameter group: Its one thread runs the requests.
    package init(
        policy: AddressPolicy, limits: PostLimits, tls: TLSConfiguration?, resolver: NameResolver,
        on group: MultiThreadedEventLoopGroup
    ) {
        self.policy = policy
        self.resolver = resolver
        self.limits = limits
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: .milliseconds(limits.connectMilliseconds)), decompression: .disabled)
        configuration.httpVersion = .http1Only
        // Nobody traces, and a span of nobody's costs each request 4 % of its time.
        configuration.tracing.tracer = nil
        configuration.connectionPool = .init(
            idleTimeout: .milliseconds(limits.idleMilliseconds),
            concurrentHTTP1ConnectionsPerHostSoftLimit: limits.runningMaximumPerOrigin)
        // The caller decides about the next try, and is given the first failure.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.http1_1ConnectionDebugInitializer = { Self.check($0, policy) }
        let made = Clients(originsMaximum: limits.originsMaximum, namesMaximum: limits.namesMaximum) { [configuration] resolved in
            var configuration = configuration
            if let resolved { configuration.dnsOverride = [resolved.name: "\(resolved.address)"] }
            return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        }
        clients = Mutex(made)
    }

    /// How many clients are held.
    package var clientCount: Int { clients.withLock { $0?.count ?? 0 } }

    /// Posts to a URL.
    ///
    /// - Parameter done: Called on the thread of the group or of the resolver; not at all where it was closed meanwhile.
    package func post(
        to url: WebhookURL, _ headers: HTTPHeaders, body: [UInt8], done: @escaping @Sendable (Result) -> Void
    ) {
        if let refusal = policy.refusal(of: url) { return done(.refused(reason: refusal)) }
        guard case .name(let name) = url.host else { return send(to: url, headers, body: body, resolved: nil, done) }
        resolver.resolve(name) { addresses in
            guard let address = addresses.first else { return done(.failed(reason: "the name cannot be resolved")) }
            if let refusal = self.policy.refusal(of: name, resolvedTo: addresses) { return done(.refused(reason: refusal)) }
            self.send(to: url, headers, body: body, resolved: Clients.Resolved(name: name, address: address), done)
        }
    }

    /// Ends all connections. Called again, it does nothing.
    package func close() async {
        let all = clients.withLock { clients in
            defer { clients = nil }
            return clients?.removeAll() ?? []
        }
        for client in all { retire(client) }
        await withCheckedContinuation { continuation in
            retiring.notify(queue: .global()) { continuation.resume() }
        }
    }

    private func send(
        to url: WebhookURL, _ headers: HTTPHeaders, body: [UInt8], resolved: Clients.Resolved?,
        _ done: @escaping @Sendable (Result) -> Void
    ) {
        let answer = Answer(bytesMaximum: limits.answerBytesMaximum)
        do {
            let request = try HTTPClient.Request(url: url.normalized, method: .POST, headers: headers, body: .bytes(body))
            let taken = clients.withLock { $0?.take(for: url.origin, resolved: resolved) }
            // It ended while the name was looked up.
            guard let (number, client, retired) = taken else { return }
            for client in retired { retire(client) }
            client.execute(
                request: request, delegate: answer, deadline: .now() + .milliseconds(limits.postMilliseconds)
            ).futureResult.whenComplete { result in
                if let retired = self.clients.withLock({ $0?.giveBack(number) }) { self.retire(retired) }
                if let resolved, answer.head == nil { self.resolver.failed(resolved.address, of: resolved.name) }
                done(self.result(answer, result, url))
            }
        } catch {
            done(.failed(reason: FailureText.of(error)))
        }
    }

    private func result(_ answer: Answer, _ result: Swift.Result<Void, any Error>, _ url: WebhookURL) -> Result {
        // What follows the head says nothing more, also where it never ends.
        if let head = answer.head { return .answered(head) }
        guard case .failure(let error) = result else { return .failed(reason: "no answer") }
        if error is ForbiddenAddress { return .refused(reason: policy.refusal(of: url.origin)) }
        return .failed(reason: FailureText.of(error))
    }

    private func retire(_ client: HTTPClient) {
        retiring.enter()
        client.shutdown { _ in self.retiring.leave() }
    }

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
