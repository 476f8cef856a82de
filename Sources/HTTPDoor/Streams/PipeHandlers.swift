import NIOCore
import NIOPosix
import NIOWebSocket

/// The browser's half of a byte pipe to the broker: frames in, bytes on.
///
/// It belongs to its event loop, which both halves share.
final class PipeSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let broker: BrokerAddress
    private var context: ChannelHandlerContext?
    private var other: PipeBrokerHandler?
    /// What came before the broker was reached.
    private var early: [ByteBuffer] = []
    private var earlyBytes = 0
    private var isReadHeld = false
    private var isClosing = false

    private static let earlyBytesMax = 64 << 10
    /// Of one frame that comes in: the longest message that the embedded broker takes, and some small ones with it.
    static let frameBytesMax = (2 << 20) + (64 << 10)

    init(_ broker: BrokerAddress) { self.broker = broker }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let other = PipeBrokerHandler(self)
        let bound = NIOLoopBound((self, other), eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop)
            .connectTimeout(.seconds(10))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(bound.value.1) }
            }
            .connect(host: broker.host, port: broker.port)
            .hop(to: context.eventLoop)
            .whenComplete { result in
                let (handler, other) = bound.value
                switch result {
                case .success: handler.connected(other)
                case .failure: handler.end(.unknown(1014))
                }
            }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    private func connected(_ other: PipeBrokerHandler) {
        guard context?.channel.isActive == true, !isClosing else { return other.close() }
        self.other = other
        for bytes in early { other.write(bytes) }
        early = []
        mayRead()
    }

    var isWritable: Bool { context?.channel.isWritable ?? false }

    // MARK: From the browser

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let frame = Self.unwrapInboundIn(data)
        guard frame.maskKey != nil else { return end(.protocolError) }
        switch frame.opcode {
        case .binary, .continuation:
            guard let other else {
                earlyBytes += frame.length
                guard earlyBytes <= Self.earlyBytesMax else { return end(.messageTooLarge) }
                return early.append(frame.unmaskedData)
            }
            other.write(frame.unmaskedData)
        case .ping where context.channel.isWritable:
            var buffer = ByteBuffer()
            buffer.writeFrame(.pong, frame.unmaskedData.readableBytesView)
            context.writeAndFlush(Self.wrapOutboundOut(buffer), promise: nil)
        case .ping, .pong: break
        case .connectionClose: end(frame.closingAnswer)
        default: end(.unacceptableData)
        }
    }

    func read(context: ChannelHandlerContext) {
        if let other, !other.isWritable { isReadHeld = true } else { context.read() }
    }

    func mayRead() {
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { other?.mayRead() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        other?.close()
        other = nil
        context.fireChannelInactive()
    }

    // MARK: From the broker

    func send(_ bytes: ByteBuffer) {
        guard !isClosing else { return }
        var head = ByteBuffer()
        head.writeFrameHead(.binary, length: bytes.readableBytes)
        context?.write(Self.wrapOutboundOut(head), promise: nil)
        context?.writeAndFlush(Self.wrapOutboundOut(bytes), promise: nil)
    }

    /// Says the code and closes both halves.
    func end(_ code: WebSocketErrorCode) {
        guard let context, !isClosing else { return }
        isClosing = true
        other?.close()
        other = nil
        var buffer = ByteBuffer()
        buffer.writeCloseFrame(code)
        context.writeAndFlush(Self.wrapOutboundOut(buffer)).whenComplete { [channel = context.channel] _ in
            channel.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: end(.goingAway)
        case ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? NIOWebSocketError else { return context.close(promise: nil) }
        end(error.code)
    }
}

/// The broker's half.
final class PipeBrokerHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private weak var socket: PipeSocketHandler?
    private var context: ChannelHandlerContext?
    private var isReadHeld = false

    init(_ socket: PipeSocketHandler) { self.socket = socket }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    var isWritable: Bool { context?.channel.isWritable ?? false }

    func write(_ bytes: ByteBuffer) { context?.writeAndFlush(Self.wrapOutboundOut(bytes), promise: nil) }

    func close() { context?.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { socket?.send(Self.unwrapInboundIn(data)) }

    func read(context: ChannelHandlerContext) {
        if let socket, !socket.isWritable { isReadHeld = true } else { context.read() }
    }

    func mayRead() {
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { socket?.mayRead() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        socket?.end(.normalClosure)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
