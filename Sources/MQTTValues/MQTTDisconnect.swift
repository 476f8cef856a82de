/// Why there is no connection, and when the next one is tried.
public struct MQTTDisconnect: Sendable, Equatable, CustomStringConvertible {
    public enum Cause: Sendable, Equatable {
        /// An open connection is gone.
        case lost(String)
        /// The broker answered CONNECT with a refusal; `code` is its number, as MQTT 3.1.1 or 5 has it.
        case refused(Refusal, code: UInt8, text: String)
        /// Nobody answered, the name is unknown, TLS failed, or the answer never came.
        case unreachable(String)
        /// ``MQTTLink/stop(drainSeconds:)`` ended it.
        case stopped
    }

    /// The kinds of refusal somebody can act on.
    public enum Refusal: Sendable, Equatable {
        case badCredentials, notAuthorised, identifierRejected, serverUnavailable, protocolVersion, other
    }

    public var cause: Cause
    /// Seconds until the next try; `nil` when there is none.
    public var retryAfterSeconds: Double?

    package init(cause: Cause, retryAfterSeconds: Double? = nil) {
        self.cause = cause
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// True where only somebody's action helps: the tries go on at the slow end of the backoff.
    public var needsAction: Bool {
        guard case .refused(let refusal, _, _) = cause else { return false }
        return refusal == .badCredentials || refusal == .notAuthorised || refusal == .identifierRejected
    }

    public var description: String {
        switch cause {
        case .lost(let text): "connection lost: \(text)"
        case .refused(_, let code, let text): "connection refused: \(text) (code \(code))"
        case .unreachable(let text): "broker not reached: \(text)"
        case .stopped: "stopped"
        }
    }
}

extension MQTTDisconnect.Refusal {
    /// Both numberings: MQTT 3.1.1 section 3.2.2.3 (1…5) and MQTT 5 section 3.2.2.2 (128 and above).
    package init(code: UInt8) {
        self =
            switch code {
            case 1, 0x84: .protocolVersion
            case 2, 0x85: .identifierRejected
            case 3, 0x88, 0x89: .serverUnavailable
            case 4, 0x86, 0x8C: .badCredentials
            case 5, 0x87, 0x8A: .notAuthorised
            default: .other
            }
    }

    package func text(code: UInt8) -> String {
        switch self {
        case .badCredentials: "bad user name or password"
        case .notAuthorised: "not authorised (user name, password or access list)"
        case .identifierRejected: "client identifier not allowed"
        case .serverUnavailable: "server unavailable"
        case .protocolVersion: "protocol version not supported"
        case .other: "reason 0x\(String(code, radix: 16, uppercase: true))"
        }
    }
}
