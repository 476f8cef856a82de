import HTTPTypes
import NIOCore
import NIOHTTP1

/// Watches over the requests of one connection: what cannot be parsed is answered, what was answered early is read no further,
/// a daemon that ends lets the request under way finish, and a client of HTTP/1.0 gets no chunks.
///
/// Source: RFC 9112, sections 6.1 and 6.3.
///
/// It belongs to its event loop.
final class ExchangeHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let patience: PatienceHandler
    private var inProgress = 0
    private var isReadingBody = false
    private var isAnswering = false
    private var closesAfterAnswer = false
    /// The client sends no more: its last request has been read, and others before it may still be answered.
    private var hasLastRequest = false
    /// A client that speaks HTTP/1.0 knows no chunks.
    private var isOld = false
    /// The last answer is written: nothing more is read.
    private var isOver = false

    /// So long a client that sends on may still read the answer before the connection is closed.
    private static let lingering = TimeAmount.seconds(2)

    init(_ patience: PatienceHandler) { self.patience = patience }

    /// From now on other handlers watch over the connection.
    func becomesSocket() { patience.enter(.nothing) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            inProgress += 1
            isReadingBody = true
            // Which of two is meant, proxies decide one way and servers another.
            let codings = head.headers["transfer-encoding"]
            guard head.headers["host"].count <= 1, codings.allSatisfy({ $0.lowercased() == "chunked" }), codings.count <= 1 else {
                return refuse(Self.malformed, context)
            }
            if !head.isKeepAlive { hasLastRequest = true }
            if head.version == .http1_0 { isOld = true }
            patience.enter(.body)
        case .body: patience.enter(.body)
        case .end:
            isReadingBody = false
            // It may have been answered before.
            patience.enter(inProgress == 0 ? .idle : .nothing)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOver else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch Self.unwrapOutboundIn(data) {
        case .head(var head) where head.status.code >= 200:
            isAnswering = true
            if head.headers["connection"].contains("close") || (hasLastRequest && inProgress == 1) { closesAfterAnswer = true }
            // A body of unknown length ends with the connection; the encoder writes chunks where the head says HTTP/1.1.
            if isOld, head.status.mayHaveResponseBody, !head.headers.contains(name: "content-length") {
                head.version = .http1_0
                head.headers.remove(name: "transfer-encoding")
                closesAfterAnswer = true
            }
            if closesAfterAnswer {
                head.headers.replaceOrAdd(name: "connection", value: "close")
            } else if isOld {
                // Without this such a client waits for the connection's end.
                head.headers.replaceOrAdd(name: "connection", value: "keep-alive")
            }
            context.write(Self.wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end:
            isAnswering = false
            inProgress -= 1
            guard closesAfterAnswer else {
                context.writeAndFlush(data, promise: promise)
                if inProgress == 0, !isReadingBody { patience.enter(.idle) }
                return
            }
            isOver = true
            let written = promise ?? context.eventLoop.makePromise()
            context.writeAndFlush(data, promise: written)
            end(context, after: written.futureResult)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        // The reader of the body must not take a part for the whole, as it would where the answer closes the channel first.
        context.fireErrorCaught(error)
        // A request whose body breaks is answered by its reader, which may have carried out a part of it.
        if isReadingBody, !isAnswering, inProgress == 1, !isOver {
            closesAfterAnswer = true
            return
        }
        switch error {
        case .headerOverflow: refuse(HTTPRefusal.headTooLarge, context)
        case .invalidVersion: refuse(Self.otherVersion, context)
        default: refuse(Self.malformed, context)
        }
    }

    private static let otherVersion = HTTPRefusal.invalid(
        "the version of HTTP is not the one for this request: send HTTP/1.1, also where a WebSocket is to begin")
    private static let malformed = HTTPRefusal.invalid("this is no HTTP request that can be read")

    private func refuse(_ refusal: HTTPRefusal, _ context: ChannelHandlerContext) {
        guard !isOver else { return }
        guard !isAnswering, inProgress <= 1 else { return context.close(promise: nil) }
        let body = refusal.body
        var headers = HTTPHeaders([("connection", "close"), ("content-length", "\(body.count)")])
        headers.add(name: "content-type", value: "application/json")
        let status = HTTPResponseStatus(statusCode: refusal.status.code, reasonPhrase: refusal.status.reasonPhrase)
        context.write(
            Self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        isOver = true
        end(context, after: context.writeAndFlush(Self.wrapOutboundOut(.end(nil))))
    }

    /// Nothing more is answered here. Closing at once would take the answer from a client that is still sending.
    private func end(_ context: ChannelHandlerContext, after written: EventLoopFuture<Void>) {
        patience.enter(.nothing)
        let channel = context.channel
        guard isReadingBody else { return written.whenComplete { _ in channel.close(promise: nil) } }
        written.whenComplete { _ in
            channel.close(mode: .output, promise: nil)
            channel.eventLoop.scheduleTask(in: Self.lingering) { channel.close(promise: nil) }
        }
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // What comes now is thrown away, as it comes.
        if isOver { context.read() }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            guard inProgress == 0 else { return closesAfterAnswer = true }
            // Behind what of the last answer the client has not taken yet.
            let channel = context.channel
            let taken = context.eventLoop.makePromise(of: Void.self)
            taken.futureResult.whenComplete { _ in channel.close(promise: nil) }
            if let front = try? context.pipeline.syncOperations.context(handlerType: PatienceHandler.self) {
                front.writeAndFlush(NIOAny(ByteBuffer()), promise: taken)
            } else {
                taken.succeed()
            }
        case ChannelEvent.inputClosed where isOver && isReadingBody: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }
}
