import Crypto
import Datasets
import Foundation
import NIOHTTP1
import Posting
import Synchronization

/// Web Push: RFC 8030, encrypted by RFC 8291, signed by RFC 8292.
final class WebPush: Sendable {
    private let configuration: PushConfiguration.Web
    private let endpoints: Endpoints
    private let clock: @Sendable () -> Moment
    private let tokens = Mutex<[String: TokenCache]>([:])

    /// A signature is used for half as long as it is good, so that a clock that is hours behind does no harm.
    private static let tokenLifetime: Int64 = 6 * 3_600_000
    private static let tokenSeconds: Int64 = 12 * 3600
    private static let originsMax = 1024
    private static let name = "the push service"

    init(_ configuration: PushConfiguration.Web, _ endpoints: Endpoints, clock: @escaping @Sendable () -> Moment) {
        self.configuration = configuration
        self.endpoints = endpoints
        self.clock = clock
    }

    func send(
        _ post: PushPost, to subscription: WebPushSubscription, isRepeated: Bool = false,
        _ done: @escaping @Sendable (PostOutcome) -> Void
    ) {
        let origin = subscription.endpoint.audience
        let text = PushText(post.message)
        let body: [UInt8]
        let token: String
        do {
            body = try WebPushEncryption.encrypt(text.web, for: subscription.publicKey, secret: subscription.secret)
            token = try self.token(for: origin)
        } catch {
            return done(.refused(reason: "the browser's key is none"))
        }
        let seconds = max(0, (post.expiresAt - clock().wall) / 1000)
        let headers = HTTPHeaders([
            ("TTL", "\(seconds)"), ("Urgency", text.isShown ? "high" : "normal"), ("Topic", PairHash.of(post.pair)),
            ("Content-Encoding", "aes128gcm"), ("Content-Type", "application/octet-stream"),
            // Without a space behind the comma: there are judges that take none.
            ("Authorization", "vapid t=\(token),k=\(configuration.publicKey)"),
        ])
        endpoints.post(to: subscription.endpoint, headers, body: body) { result in
            switch result {
            case .refused(let reason): done(.refused(reason: reason))
            case .failed(let reason): done(.failed(reason: "\(Self.name): \(reason)", retryAfter: nil))
            case .answered(let head):
                let answer = ServiceAnswer(web: head)
                let verdict = answer.webVerdict
                if verdict == .renew, !isRepeated, self.reject(token, for: origin) {
                    return self.send(post, to: subscription, isRepeated: true, done)
                }
                done(answer.outcome(verdict, of: Self.name))
            }
        }
    }

    private func token(for origin: String) throws -> String {
        let now = clock()
        return try tokens.withLock { tokens in
            if tokens.count >= Self.originsMax, tokens[origin] == nil { tokens.removeAll() }
            return try tokens[origin, default: TokenCache(lifetime: Self.tokenLifetime)].current(at: now) {
                try VAPID.token(
                    for: origin, until: now.seconds + Self.tokenSeconds, subject: configuration.subject, key: configuration.key)
            }
        }
    }

    private func reject(_ token: String, for origin: String) -> Bool {
        tokens.withLock { $0[origin]?.reject(token, at: clock()) ?? true }
    }
}

/// RFC 8292
enum VAPID {
    /// - Parameters:
    ///   - origin: Of the push service.
    ///   - until: Seconds since 1970.
    static func token(for origin: String, until: Int64, subject: String, key: P256.Signing.PrivateKey) throws -> String {
        try SigningKey.es256(key).sign(
            keyID: nil, [("aud", .string(origin)), ("exp", .integer(until)), ("sub", .string(subject))])
    }
}

extension WebhookURL {
    /// The origin as RFC 6454 writes it: without the port that goes without saying.
    var audience: String {
        let suffix = ":\(scheme.defaultPort)"
        return origin.hasSuffix(suffix) ? String(origin.dropLast(suffix.count)) : origin
    }
}
