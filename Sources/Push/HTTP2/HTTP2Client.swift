import Datasets
import NIOCore
import NIOPosix
import NIOSSL
import Posting

/// Posts to one server over HTTP/2: side by side on one connection, which is made for the first request and again where it ended.
///
/// A client for any server gives each request a channel, timers and futures of its own, and writes it to the socket by itself; that is two
/// thirds of what a request costs. Here requests that begin together leave together. Used on the thread of its loop only, and ends with it.
final class HTTP2Client: Sendable {
    private struct State {
        var connection: HTTP2Connection?
        /// Reading the system's certificates takes a while: done once.
        var tls: NIOSSLContext?
    }

    private let address: WebhookURL
    private let limits: PostLimits
    private let tls: TLSConfiguration
    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>

    /// - Parameter address: `https:`; its path is not used.
    init(_ address: WebhookURL, _ limits: PostLimits, tls: TLSConfiguration, on loop: any EventLoop) {
        self.address = address
        self.limits = limits
        self.loop = loop
        var tls = tls
        // A server that knows the second only is not taken for one that fails.
        tls.applicationProtocols = ["h2", "http/1.1"]
        self.tls = tls
        state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: loop)
    }

    func post(_ request: HTTP2Request) {
        if let connection = state.value.connection, connection.isAccepting { return connection.send(request) }
        do {
            let connection = try connect()
            state.value.connection = connection
            connection.send(request)
        } catch {
            request.done(.failed(reason: FailureText.of(error)))
        }
    }

    private func connect() throws -> HTTP2Connection {
        let context = try state.value.tls ?? NIOSSLContext(configuration: tls)
        state.value.tls = context
        let (host, name): (String, String?) =
            switch address.host {
            case .name(let name): (name, name)
            case .address(let address): ("\(address)", nil)
            }
        let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
        let connection = HTTP2Connection(
            authority: String(address.audience.dropFirst("https://".utf8.count)), limits, on: loop)
        ClientBootstrap(group: loop).connectTimeout(.milliseconds(limits.connectMilliseconds))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: host, port: address.port).hop(to: loop).assumeIsolated()
            .flatMapThrowing { channel in try channel.pipeline.syncOperations.addHandlers([handler, connection]) }
            .whenFailure { connection.fail($0) }
        return connection
    }
}
