import Crypto
import Datasets
import NIOHTTP1
import Posting
import Synchronization

/// Apple Push Notification service.
final class APNs: Sendable {
    private let configuration: PushConfiguration.APNs
    private let client: ServiceClient
    private let clock: @Sendable () -> Moment
    private let tokens = Mutex(TokenCache(lifetime: APNs.tokenLifetime))

    /// Apple takes tokens of up to an hour.
    private static let tokenLifetime: Int64 = 50 * 60_000
    private static let name = "APNs"

    init(_ configuration: PushConfiguration.APNs, _ client: ServiceClient, clock: @escaping @Sendable () -> Moment) {
        self.configuration = configuration
        self.client = client
        self.clock = clock
    }

    func send(_ post: PushPost, token: String, isRepeated: Bool = false, _ done: @escaping @Sendable (PostOutcome) -> Void) {
        let signed: String
        do {
            signed = try providerToken()
        } catch {
            return done(.misconfigured(reason: "`push.apns.key-file` cannot sign"))
        }
        let text = PushText(post.message)
        client.post(
            to: "\(configuration.url)/3/device/\(token)", headers(of: post, isShown: text.isShown, signed), body: text.apns
        ) { result in
            guard case .answered(let head, let body) = result else {
                guard case .failed(let reason) = result else { return }
                return done(.failed(reason: "\(Self.name): \(reason)", retryAfter: nil))
            }
            guard head.version.major >= 2 else {
                return done(.misconfigured(reason: "`push.apns.url` does not speak HTTP/2"))
            }
            let answer = ServiceAnswer(apns: head, body)
            let verdict = answer.apnsVerdict
            if verdict == .renew, !isRepeated, self.tokens.withLock({ $0.reject(signed, at: self.clock()) }) {
                return self.send(post, token: token, isRepeated: true, done)
            }
            done(answer.outcome(verdict, of: Self.name))
        }
    }

    private func providerToken() throws -> String {
        let now = clock()
        return try tokens.withLock { tokens in
            try tokens.current(at: now) {
                try SigningKey.es256(configuration.key).sign(
                    type: nil, keyID: configuration.keyID,
                    [("iss", .string(configuration.teamID)), ("iat", .integer(now.seconds))])
            }
        }
    }

    private func headers(of post: PushPost, isShown: Bool, _ token: String) -> HTTPHeaders {
        HTTPHeaders([
            ("authorization", "bearer \(token)"), ("apns-topic", configuration.topic), ("apns-id", post.id),
            ("apns-push-type", isShown ? "alert" : "background"), ("apns-priority", isShown ? "10" : "5"),
            ("apns-expiration", "\(post.expiresAt / 1000)"), ("apns-collapse-id", PairHash.of(post.pair)),
            ("content-type", "application/json"),
        ])
    }
}

/// Names a pair without saying which.
enum PairHash {
    /// 32 characters of base64url: all that a `Topic` (RFC 8030 section 5.4) may be.
    static func of(_ pair: String) -> String { Base64URL.encode(Array(SHA256.hash(data: Array(pair.utf8))).prefix(24)) }
}
