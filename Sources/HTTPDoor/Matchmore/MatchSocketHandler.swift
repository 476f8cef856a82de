import NIOCore
import NIOWebSocket

/// A socket of an old client: ids of matches go out as text, and nothing else does; what comes in as text means nothing.
///
/// A text `ping` would be taken for the id of a match, so that signs of life are frames of the protocol. It belongs to its event loop.
final class MatchSocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = ByteBuffer

    private let door: HTTPDoor
    private let target: MatchSocketTarget
    private let stream: EventStream
    /// The last that was written.
    private var last: StreamMessage?
    private var heardAt = NIODeadline.now()
    private var signsOfLife: RepeatedTask?
    private var isClosing = false

    private static let signOfLife = TimeAmount.seconds(20)
    /// A client that answers none of them for so long is gone.
    private static let silenceMax = TimeAmount.seconds(90)

    init(_ target: MatchSocketTarget, door: HTTPDoor) {
        self.target = target
        self.door = door
        stream = EventStream(dataset: target.device.world, caller: target.caller ?? Caller(client: ""))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let loop = context.eventLoop
        let handler = NIOLoopBound((self, context), eventLoop: loop)
        stream.onWaiting {
            loop.execute {
                let (handler, context) = handler.value
                handler.drain(context)
            }
        }
        signsOfLife = loop.scheduleRepeatedTask(initialDelay: Self.signOfLife, delay: Self.signOfLife) { _ in
            let (handler, context) = handler.value
            handler.showLife(context)
        }
        let (stream, target) = (stream, target)
        if !door.submit({ $0.open(stream, for: target) }) { stream.end(.goingAway) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { signsOfLife?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        signsOfLife?.cancel()
        stream.forgetReader()
        if !isClosing { leave() }
        context.fireChannelInactive()
    }

    /// Nothing more is written: what comes about from now on waits.
    private func leave() {
        isClosing = true
        let (stream, device, last) = (stream, target.device, last)
        stream.end(.gone)
        door.submit { $0.close(stream, of: device, last: last) }
    }

    private func showLife(_ context: ChannelHandlerContext) {
        guard heardAt + Self.silenceMax > .now() else { return context.close(promise: nil) }
        guard !isClosing, context.channel.isWritable else { return }
        var buffer = ByteBuffer()
        buffer.writeFrame(.ping, [])
        context.writeAndFlush(Self.wrapOutboundOut(buffer), promise: nil)
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let frame = Self.unwrapInboundIn(data)
        heardAt = .now()
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return close(context, .protocolError) }
        switch frame.opcode {
        case .ping where frame.fin:
            guard context.channel.isWritable else { return }
            var buffer = ByteBuffer()
            buffer.writeFrame(.pong, frame.unmaskedData.readableBytesView)
            context.writeAndFlush(Self.wrapOutboundOut(buffer), promise: nil)
        case .connectionClose: close(context, frame.closingAnswer)
        case .text, .binary, .continuation, .pong: break
        default: close(context, .protocolError)
        }
    }

    // MARK: Out

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { drain(context) }
        context.fireChannelWritabilityChanged()
    }

    private static let portionBytes = 64 << 10

    private func drain(_ context: ChannelHandlerContext) {
        guard !isClosing else { return }
        while context.channel.isWritable {
            let (items, end) = stream.take(bytes: Self.portionBytes)
            if !items.isEmpty { write(items, context) }
            if let end { return close(context, end.code) }
            if items.isEmpty { return }
        }
        if stream.isTooSlow { close(context, StreamEnd.tooSlow.code) }
    }

    private func write(_ items: [EventStream.Item], _ context: ChannelHandlerContext) {
        var buffer = ByteBuffer()
        for case .message(let message) in items {
            buffer.writeFrame(.text, message.payload)
            last = message
        }
        context.writeAndFlush(Self.wrapOutboundOut(buffer), promise: nil)
    }

    // MARK: The end

    private func close(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        guard !isClosing else { return }
        leave()
        var buffer = ByteBuffer()
        buffer.writeCloseFrame(code)
        context.close(
            after: context.writeAndFlush(Self.wrapOutboundOut(buffer)), within: door.configuration.limits.idleSeconds)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: close(context, .goingAway)
        case ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? NIOWebSocketError else { return context.close(promise: nil) }
        close(context, error.code)
    }
}
