import Crypto
import Datasets
import Posting
import Synchronization

/// Apple Push Notification service.
final class APNs: Sendable {
    private let configuration: PushConfiguration.APNs
    private let client: HTTP2Client
    private let clock: @Sendable () -> Moment
    private let tokens = Mutex(TokenCache(lifetime: APNs.tokenLifetime))

    /// Apple takes tokens of up to an hour.
    private static let tokenLifetime: Int64 = 50 * 60_000
    private static let name = "APNs"

    init(_ configuration: PushConfiguration.APNs, _ client: HTTP2Client, clock: @escaping @Sendable () -> Moment) {
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
            HTTP2Request(
                path: "\(configuration.path)/3/device/\(token)", shared: shared(isShown: text.isShown), own: own(post, signed),
                body: text.apns
            ) { result in
                switch result {
                case .failed(let reason): done(.failed(reason: "\(Self.name): \(reason)", retryAfter: nil))
                case .notHTTP2: done(.misconfigured(reason: "`push.apns.url` does not speak HTTP/2"))
                case .answered(let answer):
                    let answer = ServiceAnswer(apns: answer)
                    let verdict = answer.apnsVerdict
                    if verdict == .renew, !isRepeated, self.tokens.withLock({ $0.reject(signed, at: self.clock()) }) {
                        return self.send(post, token: token, isRepeated: true, done)
                    }
                    done(answer.outcome(verdict, of: Self.name))
                }
            })
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

    private func shared(isShown: Bool) -> [(name: String, value: String)] {
        [
            ("apns-topic", configuration.topic), ("apns-push-type", isShown ? "alert" : "background"),
            ("apns-priority", isShown ? "10" : "5"), ("content-type", "application/json"),
        ]
    }

    /// The token is one of these as Apple wants it kept out of the table of the connection, which is small on its side.
    private func own(_ post: PushPost, _ token: String) -> [(name: String, value: String)] {
        [
            ("authorization", "bearer \(token)"), ("apns-id", post.id), ("apns-expiration", "\(post.expiresAt / 1000)"),
            ("apns-collapse-id", PairHash.of(post.pair)),
        ]
    }
}

/// Names a pair without saying which.
enum PairHash {
    /// 32 characters of base64url: all that a `Topic` (RFC 8030 section 5.4) may be.
    static func of(_ pair: String) -> String { Base64URL.encode(Array(SHA256.hash(data: Array(pair.utf8))).prefix(24)) }
}
