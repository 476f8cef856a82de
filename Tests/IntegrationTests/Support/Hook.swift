import Foundation
import SeededRandom
import Testing
import WebhookReceiver
import Wire

/// An endpoint for webhooks that may fail, and what it was sent.
final class Hook: @unchecked Sendable {
    struct Taken {
        /// From the body and from the header, over all posts of a publication's match.
        var ids: Set<String> = []
        var count = 0
    }

    private let receiver: WebhookReceiver
    /// Guards everything below.
    private let lock = NSCondition()
    private var random: SplitMix64
    private var taken: [String: Taken] = [:]
    private var postCount = 0

    /// - Parameter failures: Of a hundred posts; failing is shown by a status, by closing the connection, or by closing it after the
    ///   match was taken.
    init(port: Int = 0, failures: UInt64 = 0, random: SplitMix64) throws {
        self.random = random
        let owner = Reference<Hook>()
        receiver = try WebhookReceiver(port: port) { post in owner.value?.take(post, failures: failures) ?? .status(500) }
        owner.value = self
    }

    var url: String { "http://127.0.0.1:\(receiver.port)/hook" }
    var posts: Int { lock.withLock { postCount } }
    /// By the publication that was met.
    var matches: [String: Taken] { lock.withLock { taken } }

    func stop() { receiver.stop() }

    private func take(_ post: WebhookReceiver.Post, failures: UInt64) -> WebhookReceiver.Reply {
        lock.withLock {
            postCount += 1
            let match = (try? JSONValue.parse(post.body)) ?? .null
            guard let publication = match["publication"]?["id"]?.asString, let id = match["id"]?.asString else {
                return .status(400)
            }
            let fails = random.next() % 100 < failures
            let way = random.next() % 3
            if fails, way == 0 { return .status(503) }
            if fails, way == 1 { return .hangUp }
            taken[publication, default: Taken()].ids.formUnion([id, post["Geomatch-Match-Id"] ?? "no header"])
            taken[publication, default: Taken()].count += 1
            return fails ? .hangUp : .status(204)
        }
    }

    /// Set once, before the port is known to anybody.
    private final class Reference<Value: AnyObject>: @unchecked Sendable {
        weak var value: Value?
    }
}

/// Runs `body` with an endpoint.
func withHook<Result>(
    port: Int = 0, failures: UInt64 = 0, random: SplitMix64, _ body: (Hook) throws -> Result
) throws -> Result {
    let hook = try Hook(port: port, failures: failures, random: random)
    defer { hook.stop() }
    return try body(hook)
}
