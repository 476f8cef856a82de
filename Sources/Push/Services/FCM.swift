import Datasets
import Foundation
import NIOHTTP1
import Posting
import Synchronization
import Wire

/// Firebase Cloud Messaging, HTTP v1.
final class FCM: Sendable {
    private let configuration: PushConfiguration.FCM
    private let client: ServiceClient
    private let tokens: AccessTokens
    private let clock: @Sendable () -> Moment
    private static let name = "FCM"

    init(_ configuration: PushConfiguration.FCM, _ client: ServiceClient, clock: @escaping @Sendable () -> Moment) {
        self.configuration = configuration
        self.client = client
        self.clock = clock
        tokens = AccessTokens(configuration, client, clock: clock)
    }

    func send(_ post: PushPost, token: String, isRepeated: Bool = false, _ done: @escaping @Sendable (PostOutcome) -> Void) {
        tokens.get { result in
            switch result {
            case .token(let bearer): self.send(post, token: token, bearer: bearer, isRepeated: isRepeated, done)
            case .none(let outcome): done(outcome)
            }
        }
    }

    private func send(
        _ post: PushPost, token: String, bearer: String, isRepeated: Bool, _ done: @escaping @Sendable (PostOutcome) -> Void
    ) {
        let seconds = max(0, (post.expiresAt - clock().wall) / 1000)
        let headers = HTTPHeaders([("Authorization", "Bearer \(bearer)"), ("Content-Type", "application/json")])
        client.post(
            to: "\(configuration.url)/v1/projects/\(configuration.projectID)/messages:send", headers,
            body: PushText(post.message).fcm(token: token, seconds: seconds)
        ) { result in
            guard case .answered(let head, let body) = result else {
                guard case .failed(let reason) = result else { return }
                return done(.failed(reason: "\(Self.name): \(reason)", retryAfter: nil))
            }
            let answer = ServiceAnswer(fcm: head, body)
            let verdict = answer.fcmVerdict
            if verdict == .renew {
                self.tokens.forget(bearer)
                if !isRepeated { return self.send(post, token: token, isRepeated: true, done) }
            }
            done(answer.outcome(verdict, of: Self.name))
        }
    }
}

/// The tokens that a service account is given for its signature, asked for once for all that wait.
final class AccessTokens: Sendable {
    enum Result: Sendable {
        case token(String)
        case none(PostOutcome)
    }

    private struct State {
        var token: (text: String, until: Int64)?
        /// Why there is none, and until when nobody asks again; on the monotonic clock.
        var failure: (outcome: PostOutcome, until: Int64)?
        var waiting: [@Sendable (Result) -> Void] = []
    }

    private let configuration: PushConfiguration.FCM
    private let client: ServiceClient
    private let clock: @Sendable () -> Moment
    private let state = Mutex(State())
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// Seconds that a signature is good for.
    private static let assertionSeconds: Int64 = 3600
    /// A token is not used in its last minutes.
    private static let margin: Int64 = 5 * 60_000
    private static let failurePause: Int64 = 1000

    init(_ configuration: PushConfiguration.FCM, _ client: ServiceClient, clock: @escaping @Sendable () -> Moment) {
        self.configuration = configuration
        self.client = client
        self.clock = clock
    }

    /// Calls `body` at once or when there is an answer.
    func get(_ body: @escaping @Sendable (Result) -> Void) {
        let now = clock().monotonic
        let (known, isFirst) = state.withLock { state -> (Result?, Bool) in
            if let token = state.token, now < token.until { return (.token(token.text), false) }
            if let failure = state.failure, now < failure.until { return (.none(failure.outcome), false) }
            state.waiting.append(body)
            return (nil, state.waiting.count == 1)
        }
        if let known { return body(known) }
        if isFirst { request() }
    }

    /// The service does not take a token.
    func forget(_ text: String) {
        state.withLock { if $0.token?.text == text { $0.token = nil } }
    }

    private func request() {
        let assertion: String
        do {
            assertion = try sign(at: clock().seconds)
        } catch {
            return end(.none(.misconfigured(reason: "`push.fcm.service-account-file` cannot sign")))
        }
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
        client.post(
            to: configuration.tokenURL, HTTPHeaders([("Content-Type", "application/x-www-form-urlencoded")]),
            body: Array(form.utf8)
        ) { result in
            switch result {
            case .answered(let head, let body): self.end(Self.read(head, body, at: self.clock().monotonic))
            case .failed(let reason): self.end(.none(.failed(reason: "FCM's token service: \(reason)", retryAfter: nil)))
            }
        }
    }

    private func sign(at seconds: Int64) throws -> String {
        try SigningKey.rs256(configuration.key).sign(
            keyID: configuration.keyID,
            [
                ("iss", .string(configuration.email)), ("scope", .string(Self.scope)), ("aud", .string(configuration.tokenURL)),
                ("iat", .integer(seconds)), ("exp", .integer(seconds + Self.assertionSeconds)),
            ])
    }

    /// A token with when it ends, or why there is none.
    private static func read(_ head: HTTPResponseHead, _ body: [UInt8], at now: Int64) -> (Result, until: Int64?) {
        let object = (try? JSONValue.parse(body))?.asObject
        let status = Int(head.status.code)
        guard (200...299).contains(status) else {
            let reason = ServiceAnswer.word(object?["error"]?.asString)
            let answer = ServiceAnswer(status: status, reason: reason, retryAfter: RetryAfter.of(head))
            let isPassing = status == 429 || status == 408 || status >= 500
            return (.none(answer.outcome(isPassing ? .again : .misconfigured, of: "FCM's token service")), nil)
        }
        guard let token = object?["access_token"]?.asString, !token.isEmpty,
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return (.none(.failed(reason: "FCM's token service gave no token", retryAfter: nil)), nil) }
        let seconds = min(max(object?["expires_in"]?.asInt64 ?? 3600, 0), 86_400)
        // A token that ends soon is used for half of its time.
        return (.token(token), now + max(seconds * 1000 - margin, seconds * 500))
    }

    private func end(_ result: (Result, until: Int64?)) { end(result.0, until: result.until) }

    private func end(_ result: Result, until: Int64? = nil) {
        let now = clock().monotonic
        let waiting = state.withLock { state in
            switch result {
            case .token(let text): state.token = (text, until ?? now)
            case .none(let outcome): state.failure = (outcome, now + Self.failurePause)
            }
            defer { state.waiting = [] }
            return state.waiting
        }
        for body in waiting { body(result) }
    }
}
