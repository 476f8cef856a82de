import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Posting

/// Sends requests to the services that the operator names, over HTTP/2 where they speak it.
final class ServiceClient: Sendable {
    enum Result: Sendable {
        case answered(HTTPResponseHead, body: [UInt8])
        case failed(reason: String)
    }

    private let client: HTTPClient
    private let limits: PostLimits
    private static let bodyKept = 16 << 10
    /// Both services want connections to be kept.
    private static let idleMinutes: Int64 = 10

    init(_ limits: PostLimits, tls: TLSConfiguration, on group: MultiThreadedEventLoopGroup) {
        self.limits = limits
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: .milliseconds(limits.connectMilliseconds)), decompression: .disabled)
        configuration.httpVersion = .automatic
        // As for endpoints.
        configuration.tracing.tracer = nil
        configuration.connectionPool = .init(
            idleTimeout: .minutes(Self.idleMinutes),
            concurrentHTTP1ConnectionsPerHostSoftLimit: limits.runningMaximumPerOrigin)
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    func post(
        to url: String, _ headers: HTTPHeaders, body: [UInt8], done: @escaping @Sendable (Result) -> Void
    ) {
        let answer = Answer(bytesMaximum: limits.answerBytesMaximum, keptMaximum: Self.bodyKept)
        do {
            let request = try HTTPClient.Request(url: url, method: .POST, headers: headers, body: .bytes(body))
            client.execute(
                request: request, delegate: answer, deadline: .now() + .milliseconds(limits.postMilliseconds)
            ).futureResult.whenComplete { result in
                if let head = answer.head { return done(.answered(head, body: answer.body)) }
                guard case .failure(let error) = result else { return done(.failed(reason: "no answer")) }
                done(.failed(reason: FailureText.of(error)))
            }
        } catch {
            done(.failed(reason: FailureText.of(error)))
        }
    }

    func close() async { try? await client.shutdown() }
}
