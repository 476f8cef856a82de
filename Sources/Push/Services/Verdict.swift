import Datasets
import NIOHTTP1
import Posting
import Wire

/// What an answer of a push service means.
enum Verdict: Equatable {
    case taken(status: Int)
    /// The token is not valid any more.
    case gone
    /// With another token of ours it may be taken.
    case renew
    /// The operator has to change something.
    case misconfigured
    case again
    /// This message is never taken.
    case never
}

/// The answer of a push service, as far as it matters.
struct ServiceAnswer {
    var status: Int
    /// The service's own word for what is wrong; one word, or empty.
    var reason: String
    /// Milliseconds
    var retryAfter: Int64?

    /// For logs and owners.
    var shown: String { reason.isEmpty ? "\(status)" : "\(status) \(reason)" }

    /// - Parameter verdict: Of this answer, where a token was renewed before or none can be renewed.
    func outcome(_ verdict: Verdict, of service: String) -> PostOutcome {
        switch verdict {
        case .taken(let status): .taken(status: status)
        case .gone: .gone(reason: "\(service) answered \(shown): the token is not valid any more")
        case .renew, .misconfigured: .misconfigured(reason: "\(service) answered \(shown)")
        case .again: .failed(reason: "\(service) answered \(shown)", retryAfter: retryAfter)
        case .never: .refused(reason: "\(service) answered \(shown)")
        }
    }

    /// What a service says is wrong: never longer than a word, and nothing a log could stumble over.
    static func word(_ text: String?) -> String {
        guard let text, (1...64).contains(text.utf8.count),
            text.utf8.allSatisfy({ byte in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            })
        else { return "" }
        return text
    }
}

extension ServiceAnswer {
    /// APNs: `{"reason"}`.
    init(apns answer: HTTP2Answer) {
        let object = answer.body.isEmpty ? nil : (try? JSONValue.parse(answer.body))?.asObject
        self.init(
            status: answer.status, reason: Self.word(object?["reason"]?.asString),
            retryAfter: answer.retryAfter.flatMap { RetryAfter.milliseconds($0, at: WallClock.now()) })
    }

    /// Source: developer.apple.com, Handling notification responses from APNs.
    var apnsVerdict: Verdict {
        switch (status, reason) {
        case (200, _): .taken(status: status)
        case (410, _), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): .gone
        case (403, "ExpiredProviderToken"): .renew
        case (413, _), (400, "PayloadEmpty"), (400, "BadMessageId"), (400, "BadCollapseId"), (400, "BadExpirationDate"),
            (400, "BadPriority"), (400, "DuplicateHeaders"):
            .never
        case (429, _), (408, _), (500..., _): .again
        default: .misconfigured
        }
    }

    /// FCM: `{"error":{"status","details":[{"errorCode"}]}}`.
    init(fcm head: HTTPResponseHead, _ body: [UInt8]) {
        let error = (try? JSONValue.parse(body))?.asObject?["error"]?.asObject
        let code = error?["details"]?.asArray?.lazy.compactMap { $0.asObject?["errorCode"]?.asString }.first
        self.init(
            status: Int(head.status.code), reason: Self.word(code ?? error?["status"]?.asString), retryAfter: RetryAfter.of(head))
    }

    /// Source: firebase.google.com, REST Resource: ErrorCode.
    var fcmVerdict: Verdict {
        switch (status, reason) {
        case (200...299, _): .taken(status: status)
        case (404, "UNREGISTERED"), (403, "SENDER_ID_MISMATCH"): .gone
        case (401, "THIRD_PARTY_AUTH_ERROR"): .misconfigured
        case (401, _): .renew
        case (429, _), (408, _), (500..., _): .again
        default: .misconfigured
        }
    }

    init(web head: HTTPResponseHead) {
        self.init(status: Int(head.status.code), reason: "", retryAfter: RetryAfter.of(head))
    }

    /// Source: RFC 8030 and RFC 8292.
    var webVerdict: Verdict {
        switch status {
        case 200...299: .taken(status: status)
        case 404, 410: .gone
        case 401, 403: .renew
        case 408, 425, 429, 500..., 300...399: .again
        default: .never
        }
    }
}
