import AsyncHTTPClient
import NIOCore
import NIOPosix
import NIOSSL

/// Why a post failed, in a few words that quote nothing an endpoint sent.
package enum FailureText {
    package static func of(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError: of(error)
        case let error as NIOConnectionError: of(error)
        case let error as IOError: of(error)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: "TLS failed"
        case ChannelError.connectTimeout: "connecting took too long"
        case is ChannelError: "the connection was lost"
        default: "the answer is not HTTP"
        }
    }

    private static func of(_ error: HTTPClientError) -> String {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout: "connecting took too long"
        case .tlsHandshakeTimeout: "the TLS handshake took too long"
        case .deadlineExceeded, .readTimeout, .writeTimeout: "the answer took too long"
        case .remoteConnectionClosed, .uncleanShutdown: "the connection was closed before an answer"
        default: error.shortDescription
        }
    }

    private static func of(_ error: NIOConnectionError) -> String {
        for attempt in error.connectionErrors {
            if let failure = attempt.error as? IOError { return of(failure) }
            if case ChannelError.connectTimeout = attempt.error { return "connecting took too long" }
        }
        return error.dnsAError != nil || error.dnsAAAAError != nil ? "the name cannot be resolved" : "it cannot be connected to"
    }

    private static func of(_ error: IOError) -> String {
        switch error.errnoCode {
        case ECONNREFUSED: "the connection was refused"
        case ECONNRESET, EPIPE: "the connection was closed before an answer"
        case EHOSTUNREACH, ENETUNREACH: "there is no route to the endpoint"
        case ETIMEDOUT: "connecting took too long"
        case EMFILE, ENFILE: "no file descriptors are left"
        default: "the connection failed (errno \(error.errnoCode))"
        }
    }
}
