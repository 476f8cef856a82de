import Datasets
import NIOSSL
import Posting
import Synchronization
import WebhookReceiver

@testable import Webhooks

/// Webhooks, and what became of the posts.
final class Poster: Sendable {
    private struct State {
        var outcomes: [UInt64: PostOutcome] = [:]
        var count = 0
        var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())
    private let inner = Mutex<Webhooks?>(nil)

    var webhooks: Webhooks { inner.withLock { $0! } }

    init(
        allowsPrivate: Bool = true, tls: TLSConfiguration? = nil, lookup: NameResolver.Lookup? = nil,
        _ adjust: (inout Webhooks.Limits) -> Void = { _ in }
    ) {
        var limits = Webhooks.Limits()
        adjust(&limits)
        let webhooks = Webhooks(
            policy: AddressPolicy(allowsPrivate: allowsPrivate), version: "1.2.3", limits: limits, tls: tls,
            resolver: lookup.map { NameResolver(lookup: $0) } ?? NameResolver()
        ) { [weak self] in self?.take() }
        inner.withLock { $0 = webhooks }
    }

    private func take() {
        let outcomes = webhooks.collect()
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            for (token, outcome) in outcomes { state.outcomes[token] = outcome }
            state.count += outcomes.count
            guard let waiter = state.waiter, state.count >= waiter.count else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        waiter?.resume()
    }

    func post(_ url: String, token: UInt64 = 1, id: String = "m", body: String = "{}", secret: String? = nil) throws {
        webhooks.post([
            WebhookPost(token: token, url: try WebhookURL(url), matchID: id, body: Array(body.utf8), secret: secret)
        ])
    }

    /// Waits for so many outcomes in all.
    func outcomes(_ count: Int) async -> [UInt64: PostOutcome] {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count >= count { return true }
                state.waiter = (count, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
        return state.withLock { $0.outcomes }
    }

    /// Posts once and waits for what becomes of it.
    func outcome(_ url: String, body: String = "{}", secret: String? = nil) async throws -> PostOutcome? {
        let count = state.withLock { $0.count }
        try post(url, token: UInt64(count) + 1_000_000, body: body, secret: secret)
        return await outcomes(count + 1)[UInt64(count) + 1_000_000]
    }

    /// How many outcomes there are.
    var count: Int { state.withLock { $0.count } }
}

/// What a receiver was sent.
final class Inbox: Sendable {
    private let posts = Mutex<[WebhookReceiver.Post]>([])

    func add(_ post: WebhookReceiver.Post) { posts.withLock { $0.append(post) } }

    var all: [WebhookReceiver.Post] { posts.withLock { $0 } }
}

/// Runs a receiver and webhooks, and ends both.
func withWebhooks<Value>(
    allowsPrivate: Bool = true, host: String = "127.0.0.1", tls: (client: TLSConfiguration, server: TLSConfiguration)? = nil,
    lookup: NameResolver.Lookup? = nil, limits: (inout Webhooks.Limits) -> Void = { _ in },
    reply: @escaping @Sendable (WebhookReceiver.Post) -> WebhookReceiver.Reply = { _ in .status(200) },
    _ body: (Poster, _ port: Int, Inbox) async throws -> Value
) async throws -> Value {
    let inbox = Inbox()
    let receiver = try WebhookReceiver(host: host, tls: tls?.server) { post in
        inbox.add(post)
        return reply(post)
    }
    let poster = Poster(allowsPrivate: allowsPrivate, tls: tls?.client, lookup: lookup, limits)
    do {
        let value = try await body(poster, receiver.port, inbox)
        await poster.webhooks.close(drainSeconds: 0)
        receiver.stop()
        return value
    } catch {
        await poster.webhooks.close(drainSeconds: 0)
        receiver.stop()
        throw error
    }
}
