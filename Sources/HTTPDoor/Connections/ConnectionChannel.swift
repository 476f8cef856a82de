import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import NIOTLS

/// A connection: its limits, and its requests one after the other, or a WebSocket.
struct ConnectionChannel: ServerChildChannel {
    /// What the two sides' protocol makes of a connection.
    enum Use: Sendable {
        case requests(RequestHandler)
        /// HTTP/2.
        case streams(HTTP2Channel.Value)
    }

    /// What the two sides agreed on.
    private struct Negotiated: Sendable {
        let use: EventLoopFuture<Use>
    }

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        /// nil: there are too many connections.
        let use: EventLoopFuture<Use>?
    }

    private let responder: HTTPResponder
    private let door: HTTPDoor
    private let streams: HTTP2Channel
    private let sockets: SocketUpgrade
    private let limits: HTTPLimits
    private let counts: ConnectionCounts

    init(_ door: HTTPDoor) {
        let (responder, limits) = (HTTPResponder(door), door.configuration.limits)
        self.responder = responder
        streams = HTTP2Channel(
            responder: { request, writer, channel in
                try await responder.respond(
                    to: IncomingRequest(request), .stream(writer), on: channel, isAlone: false)
            },
            configuration: .init(
                idleTimeout: .seconds(limits.idleSeconds),
                streamConfiguration: .init(additionalChannelHandlers: [BodyPatienceHandler(limits)])))
        self.door = door
        self.limits = limits
        counts = door.connections
        sockets = SocketUpgrade(door: door)
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            guard counts.admit(channel) else {
                // What is said in the clear would break the handshake.
                if let certificate = door.configuration.tls {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: certificate.plainContext))
                }
                return Value(channel: channel, use: nil)
            }
            guard let certificate = door.configuration.tls else { return Value(channel: channel, use: try configure(channel)) }
            return Value(channel: channel, use: try encrypt(channel, certificate, logger))
        }
    }

    /// What follows is decided when both sides have agreed on a protocol.
    private func encrypt(_ channel: any Channel, _ certificate: HTTPCertificate, _ logger: Logger) throws -> EventLoopFuture<Use>
    {
        let pipeline = channel.pipeline.syncOperations
        let negotiation = NIOTypedApplicationProtocolNegotiationHandler<Negotiated> { result, channel in
            channel.eventLoop.makeCompletedFuture {
                guard case .negotiated("h2") = result else { return Negotiated(use: try configure(channel)) }
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandlers([FramePatienceHandler(limits), EarlySettings()])
                let connection = streams.setup(channel: channel, logger: logger)
                try pipeline.addHandler(GoingAwayHandler(), position: .after(pipeline.handler(type: NIOHTTP2Handler.self)))
                EarlySettings.raiseLimit(on: channel)
                return Negotiated(use: connection.map { .streams($0) })
            }
        }
        try pipeline.addHandler(NIOSSLServerHandler(context: certificate.context))
        try pipeline.addHandler(negotiation)
        // A client that begins no handshake is a connection without a request.
        let timer = channel.eventLoop.scheduleTask(in: .seconds(limits.patienceSeconds)) { channel.close(promise: nil) }
        negotiation.protocolNegotiationResult.whenComplete { _ in timer.cancel() }
        return negotiation.protocolNegotiationResult.flatMap(\.use)
    }

    private func configure(_ channel: any Channel) throws -> EventLoopFuture<Use> {
        let pipeline = channel.pipeline.syncOperations
        let patience = PatienceHandler(limits)
        let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: decoderLimits)
        try pipeline.addHandlers([patience, HTTPResponseEncoder(), ByteToMessageHandler(decoder), UpgradeGate(sockets)])
        let requests = RequestHandler(channel.eventLoop)
        try pipeline.addHandlers([ExchangeHandler(patience), requests])
        return channel.eventLoop.makeSucceededFuture(.requests(requests))
    }

    private var decoderLimits: NIOHTTPDecoderLimitConfiguration {
        var configuration = NIOHTTPDecoderLimitConfiguration()
        configuration.maxHeaderFieldSize = limits.headBytes
        configuration.maxHeaderListSize = limits.headBytes
        configuration.maxHeaderFieldCount = limits.headFields
        return configuration
    }

    func handle(value: Value, logger: Logger) async {
        guard let use = value.use else { return await refuse(value.channel) }
        await withTaskExecutorPreference(LoopExecutor(value.channel.eventLoop)) {
            switch try? await use.get() {
            case .requests(let requests): await answer(requests, on: value.channel)
            case .streams(let connection): await streams.handle(value: connection, logger: logger)
            case nil: try? await value.channel.close()
            }
        }
    }

    private func answer(_ requests: RequestHandler, on channel: any Channel) async {
        do {
            while let head = try await requests.nextHead() {
                let request = IncomingRequest(head, over: requests)
                try await responder.respond(to: request, .connection(requests), on: channel, isAlone: true)
                if request.headers[.connection] == "close" { break }
            }
        } catch is HTTPParserError {
            // It has been answered; what the client still sends is taken until it has read that.
        } catch {
            channel.close(promise: nil)
        }
        try? await requests.finish()
        try? await channel.closeFuture.get()
    }

    private func refuse(_ channel: any Channel) async {
        let body = HTTPRefusal.tooManyConnections.body
        let head =
            "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: application/json\r\n"
            + "content-length: \(body.count)\r\n\r\n"
        // A handshake that does not go on has this long; what is refused counts nowhere.
        let timer = channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.close(promise: nil) }
        defer { timer.cancel() }
        try? await channel.writeAndFlush(ByteBuffer(bytes: Array(head.utf8) + body))
        try? await channel.close()
    }
}
