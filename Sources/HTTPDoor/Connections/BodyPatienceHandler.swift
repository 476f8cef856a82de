import NIOCore
import NIOHTTPTypes

/// Ends a request of HTTP/2 whose body pauses for too long; its connection goes on.
///
/// It belongs to its event loop.
final class BodyPatienceHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart

    private let patience: TimeAmount
    private var isReadingBody = false
    /// Runs while more of the body is asked for: a pause of ours is none of the client's.
    private var timer: Scheduled<Void>?

    init(_ limits: HTTPLimits) { patience = .seconds(limits.patienceSeconds) }

    func read(context: ChannelHandlerContext) {
        if isReadingBody, timer == nil {
            let context = NIOLoopBound(context, eventLoop: context.eventLoop)
            timer = context.value.eventLoop.scheduleTask(in: patience) { context.value.close(promise: nil) }
        }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        stop()
        if case .end = Self.unwrapInboundIn(data) { isReadingBody = false } else { isReadingBody = true }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    private func stop() {
        timer?.cancel()
        timer = nil
    }
}
