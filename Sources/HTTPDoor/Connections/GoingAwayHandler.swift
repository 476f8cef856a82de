import NIOCore
import NIOHTTP2

/// Closes a connection of HTTP/2 some seconds after the server said that it goes away.
///
/// It does so where there was no stream for a while, and then waits for an answer, which a client that is gone never gives. This comes
/// right behind NIO's handler, and belongs to its event loop.
final class GoingAwayHandler: ChannelOutboundHandler {
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private static let patience = TimeAmount.seconds(3)

    private var timer: Scheduled<Void>?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if timer == nil, case .goAway = Self.unwrapOutboundIn(data).payload {
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            timer = context.eventLoop.scheduleTask(in: Self.patience) { bound.value.close(promise: nil) }
        }
        context.write(data, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }
}
