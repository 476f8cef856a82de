internal import Foundation
internal import MQTTValues
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import NIOWebSocket
internal import Wire

/// Where the daemon's socket is, and how one is known to it.
struct SocketAddressOfDaemon: Sendable {
    let host: String
    let port: Int
    let tls: NIOSSLContext?
    private let path: String
    private let headers: HTTPHeaders

    init(_ endpoint: MQTTEndpoint, _ configuration: GeomatchConfiguration) throws(GeomatchError) {
        host = endpoint.host
        port = endpoint.port
        do {
            tls = try endpoint.tls.map(Self.context)
        } catch {
            throw GeomatchError(.invalid, "the certificates cannot be used: \(error)", field: "tls")
        }
        let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
        func encoded(_ text: String) -> String { text.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }
        path = "/api/\(encoded(configuration.dataset))/socket?client=\(encoded(configuration.client))"
        let name = host.contains(":") ? "[\(host)]" : host
        var headers = HTTPHeaders([("Host", "\(name):\(port)")])
        if let key = endpoint.password {
            let login = Data("\(endpoint.username ?? configuration.client):\(key)".utf8).base64EncodedString()
            headers.add(name: "Authorization", value: "Basic \(login)")
        }
        self.headers = headers
    }

    private static func context(_ files: MQTTEndpoint.TLS) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let file = files.caFile { configuration.trustRoots = .file(file) }
        if let certificate = files.certificateFile, let key = files.keyFile {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) }
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
        }
        return try NIOSSLContext(configuration: configuration)
    }

    /// - Parameter cursor: Of the last durable message that came.
    func request(since cursor: String?) -> HTTPRequestHead {
        HTTPRequestHead(
            version: .http1_1, method: .GET, uri: path + (cursor.map { "&since=\($0)" } ?? ""), headers: headers)
    }
}

/// One connection to the daemon's socket, which reports what happens to it.
enum SocketConnection {
    typealias Report = @Sendable (SocketLink.Event) -> Void

    private static let frameBytesMax = 64 << 20

    static func open(_ address: SocketAddressOfDaemon, since cursor: String?, timeout: Duration, _ report: @escaping Report) {
        let timeout = TimeAmount.milliseconds(max(1, timeout.milliseconds))
        ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try configure(channel, address, since: cursor, timeout: timeout, report)
                }
            }
            .connect(host: address.host, port: address.port)
            .whenFailure { report(.closed(.unreachable(text(of: $0)))) }
    }

    private static func configure(
        _ channel: any Channel, _ address: SocketAddressOfDaemon, since cursor: String?, timeout: TimeAmount,
        _ report: @escaping Report
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        if let tls = address.tls {
            let isName = (try? SocketAddress(ipAddress: address.host, port: 0)) == nil
            try pipeline.addHandler(try NIOSSLClientHandler(context: tls, serverHostname: isName ? address.host : nil))
        }
        let upgrader = NIOTypedWebSocketClientUpgrader<Void>(
            maxFrameSize: frameBytesMax,
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(SocketFrames(report))
                    report(.opened(channel))
                }
            })
        let upgrade = NIOTypedHTTPClientUpgradeConfiguration(
            upgradeRequestHead: address.request(since: cursor), upgraders: [upgrader],
            notUpgradingCompletionHandler: { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(SocketRefusal(report)) }
            })
        let upgraded = try pipeline.configureUpgradableHTTPClientPipeline(
            configuration: NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: upgrade))
        let timer = channel.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
        upgraded.whenComplete { _ in timer.cancel() }
        upgraded.whenFailure { error in
            if let text = handshakeText(of: error) { report(.closed(.unreachable(text))) }
            channel.close(promise: nil)
        }
        channel.closeFuture.whenComplete { _ in report(.closed(.lost("the connection ended"))) }
    }

    static func write(_ bytes: [UInt8], to channel: any Channel) {
        // From a client each frame is masked (RFC 6455, section 5.3).
        let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(bytes: bytes))
        channel.writeAndFlush(frame, promise: nil)
    }

    static func close(_ channel: any Channel, withinSeconds seconds: Double) {
        var data = ByteBuffer()
        data.write(webSocketErrorCode: .normalClosure)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: data)
        channel.writeAndFlush(frame).whenComplete { _ in
            channel.eventLoop.scheduleTask(in: .milliseconds(Int64(seconds * 1000))) { channel.close(promise: nil) }
        }
    }

    /// Why TLS did not come about; nil for other errors.
    private static func handshakeText(of error: any Error) -> String? {
        switch error {
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            "certificate verify failed: it is for another name"
        case NIOSSLError.handshakeFailed(let reason):
            switch "\(reason)" {
            case let text where text.contains("CERTIFICATE_VERIFY_FAILED"): "certificate verify failed"
            case let text where text.contains("WRONG_VERSION_NUMBER"): "no TLS is spoken there"
            case let text where text.contains("EOF during handshake"): "no TLS is spoken there"
            case let text: "the TLS handshake failed: \(text)"
            }
        default: nil
        }
    }

    private static func text(of error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { text(of: $0.error) } ?? "the name \(error.host) is unknown"
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case ChannelError.connectTimeout: "no answer in time"
        default: "\(error)"
        }
    }
}

/// Receives the frames of an open socket; belongs to its event loop.
private final class SocketFrames: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let report: SocketConnection.Report
    private var partial: [UInt8] = []

    init(_ report: @escaping SocketConnection.Report) { self.report = report }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text, .continuation:
            partial += frame.unmaskedData.readableBytesView
            guard frame.fin else { return }
            report(.frame(partial))
            partial = []
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(Self.wrapOutboundOut(pong), promise: nil)
        case .connectionClose:
            var reason = frame.unmaskedData
            report(.closed(Self.cause(reason.readWebSocketErrorCode())))
            context.close(promise: nil)
        default: break
        }
    }

    private static func cause(_ code: WebSocketErrorCode?) -> MQTTDisconnect.Cause {
        switch code {
        case .policyViolation?: .refused(.notAuthorised, code: 0x87, text: "the key has expired or was deleted")
        case .goingAway?: .lost("the daemon ends")
        case .unknown(1013)?: .lost("too much waited to be read")
        default: .lost("the daemon closed the socket")
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Reads why a socket was not opened; belongs to its event loop.
private final class SocketRefusal: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let report: SocketConnection.Report
    private var status = 0
    private var body: [UInt8] = []

    init(_ report: @escaping SocketConnection.Report) { self.report = report }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): status = Int(head.status.code)
        case .body(let part): if body.count < 64 << 10 { body += part.readableBytesView }
        case .end:
            report(.closed(cause))
            context.close(promise: nil)
        }
    }

    private var cause: MQTTDisconnect.Cause {
        let error = (try? JSONValue.parse(body))?.asObject?["error"]?.asObject
        let text = error?["message"]?.asString ?? "HTTP status \(status): is this geomatchd?"
        return switch status {
        case 401: .refused(.badCredentials, code: 0x86, text: text)
        case 400..<500: .refused(.notAuthorised, code: 0x87, text: text)
        default: .unreachable(text)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
