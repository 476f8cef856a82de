import Crypto
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Makes a WebSocket of a connection where a request asks for it and may; one that may not goes on as a plain request, which is answered
/// with why not.
///
/// Any request may ask, not only the first: clients do so on connections that they kept. What is behind the socket's handlers then
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

    /// What a request becomes with its end.
    private enum Admitted {
        case here(HTTPRequestHead, HTTPDoor)
        /// A WebSocket of another node, whose half of it is connected.
        case node(HTTPRequestHead, ForwardedSocket, mark: String)
    }

    private let sockets: SocketUpgrade
    private var state = State.open
    /// What came meanwhile.
    private var waiting: [NIOAny] = []
    private var admitted: Admitted?
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
        // Source: RFC 6455, section 4.2.1.
        if head.version == .http1_0, head.headers["upgrade"].contains(where: { $0.lowercased() == "websocket" }) {
            inProgress += 1
            return context.fireErrorCaught(HTTPParserError.invalidVersion)
        }
        state = .deciding
        let gate = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        sockets.decide(head, on: context.channel).hop(to: context.eventLoop).whenComplete { result in
            let (gate, context) = gate.value
            switch try? result.get() {
            case .refused, nil: gate.refuse(head, context)
            case .here(let door): gate.admit(.here(head, door), context)
            case .node(let address, let mark): gate.connect(head, to: address, mark, context)
            }
        }
    }

    private func admit(_ admitted: Admitted, _ context: ChannelHandlerContext) {
        self.admitted = admitted
        upgradeIfEnded(context)
    }

    private func connect(_ head: HTTPRequestHead, to address: String, _ mark: String, _ context: ChannelHandlerContext) {
        let gate = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        sockets.connect(to: address, on: context.eventLoop).whenComplete { result in
            let (gate, context) = gate.value
            // Who is answered as a plain request learns that the node cannot be reached.
            guard case .success(let far) = result else { return gate.refuse(head, context) }
            guard context.channel.isActive else { return far.value.close() }
            gate.admit(.node(head, far.value, mark: mark), context)
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
        guard let admitted, let end = waiting.first, case .end = Self.unwrapInboundIn(end) else { return }
        waiting = []
        self.admitted = nil
        state = .over
        let pipeline = context.pipeline.syncOperations
        do {
            let handlers = try handlers(for: admitted, context)
            let exchange = try pipeline.handler(type: ExchangeHandler.self)
            exchange.becomesSocket()
            pipeline.removeHandler(exchange, promise: nil)
            try pipeline.addHandlers(handlers, position: .after(self))
            pipeline.removeHandler(try pipeline.handler(type: HTTPResponseEncoder.self), promise: nil)
            // What it read beyond the request follows.
            pipeline.removeHandler(try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self), promise: nil)
            pipeline.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    /// What carries on; the other node answers for a WebSocket of its own.
    private func handlers(for admitted: Admitted, _ context: ChannelHandlerContext) throws -> [any ChannelHandler] {
        switch admitted {
        case .node(let head, let far, let mark):
            return [ForwardedSocket.join(far, head, mark: mark, sockets.door.configuration.limits)]
        case .here(let head, let door):
            let handler = try sockets.handler(for: head, at: door, on: context.channel)
            let answer = HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: handler.fields)
            context.writeAndFlush(Self.wrapOutboundOut(.head(answer)), promise: nil)
            return [ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: handler.frameBytesMax)), handler.handler]
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .node(_, let far, _) = admitted { far.close() }
        context.fireChannelInactive()
    }

    /// Source: RFC 6455, section 4.2.2.
    static func accept(_ key: String) -> String {
        let digest = Insecure.SHA1.hash(data: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        return Base64Text.encode(Array(digest))
    }
}
