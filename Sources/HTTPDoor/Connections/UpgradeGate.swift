import Crypto
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Makes a WebSocket of a connection where a request asks for it and may; one that may not goes on as a plain request, which is answered
/// with why not.
///
/// Any request may ask, not only the first: clients do so on connections that they kept. What stands behind the socket's handlers then
/// gets no data any more. It belongs to its event loop.
final class UpgradeGate: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case open
        /// A request is decided, or its end awaited.
        case deciding
        case over
    }

    private let sockets: SocketUpgrade
    private var state = State.open
    /// What came meanwhile.
    private var waiting: [NIOAny] = []
    /// It becomes a WebSocket with the end of its request.
    private var admitted: HTTPRequestHead?
    private var inProgress = 0

    init(_ sockets: SocketUpgrade) { self.sockets = sockets }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch state {
        case .open: pass(data, context)
        case .deciding:
            waiting.append(data)
            upgradeIfEnded(context)
        case .over: context.fireChannelRead(data)
        }
    }

    private func pass(_ data: NIOAny, _ context: ChannelHandlerContext) {
        guard case .head(let head) = Self.unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard head.headers.contains(name: "upgrade") else {
            inProgress += 1
            return context.fireChannelRead(data)
        }
        // Behind a request that is not answered yet there can be no socket.
        guard inProgress == 0 else { return refuse(head, context) }
        state = .deciding
        let gate = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        sockets.mayUpgrade(head, on: context.channel).hop(to: context.eventLoop).whenComplete { result in
            let (gate, context) = gate.value
            guard (try? result.get()) == true else { return gate.refuse(head, context) }
            gate.admitted = head
            gate.upgradeIfEnded(context)
        }
    }

    private func refuse(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        var head = head
        head.headers.remove(name: "upgrade")
        // The parser reads no further behind such a request.
        head.headers.replaceOrAdd(name: "connection", value: "close")
        state = .open
        inProgress += 1
        context.fireChannelRead(Self.wrapInboundOut(.head(head)))
        let waiting = waiting
        self.waiting = []
        for data in waiting { context.fireChannelRead(data) }
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if state != .over, case .end = Self.unwrapOutboundIn(data) { inProgress -= 1 }
        context.write(data, promise: promise)
    }

    // MARK: Upgrading

    private func upgradeIfEnded(_ context: ChannelHandlerContext) {
        // The parser hands over nothing behind the end of a request with an upgrade.
        guard let head = admitted, let end = waiting.first, case .end = Self.unwrapInboundIn(end) else { return }
        waiting = []
        admitted = nil
        state = .over
        let pipeline = context.pipeline.syncOperations
        do {
            let handler = try sockets.handler(for: head, on: context.channel)
            let answer = HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: handler.fields)
            context.writeAndFlush(Self.wrapOutboundOut(.head(answer)), promise: nil)
            let exchange = try pipeline.handler(type: ExchangeHandler.self)
            exchange.becomesSocket()
            pipeline.removeHandler(exchange, promise: nil)
            try pipeline.addHandlers(
                [
                    WebSocketFrameEncoder(),
                    ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: SocketUpgrade.frameBytesMax)),
                    WebSocketProtocolErrorHandler(isServer: true), handler.handler,
                ], position: .after(self))
            pipeline.removeHandler(try pipeline.handler(type: HTTPResponseEncoder.self), promise: nil)
            // What it read beyond the request follows.
            pipeline.removeHandler(try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self), promise: nil)
            pipeline.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    /// Source: RFC 6455, section 4.2.2.
    static func accept(_ key: String) -> String {
        let digest = Insecure.SHA1.hash(data: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        return Base64Text.encode(Array(digest))
    }
}
