import NIOCore

/// Closes a connection that keeps a deadline waiting: at the very front, where bytes come in.
///
/// It belongs to its event loop.
final class PatienceHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// What is waited for.
    enum Phase {
        /// The first byte of a request.
        case idle
        /// The end of its head.
        case head
        /// The next part of its body.
        case body
        /// The daemon, or nothing.
        case nothing
    }

    private let limits: HTTPLimits
    private var phase = Phase.idle
    private var deadline = NIODeadline.distantFuture
    /// The reader takes nothing since.
    private var stalledUntil = NIODeadline.distantFuture
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    init(_ limits: HTTPLimits) { self.limits = limits }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        enter(.idle)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.cancel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if phase == .idle { enter(.head) }
        context.fireChannelRead(data)
    }

    /// A pause of ours, before the body is read on, is none of the client's.
    func read(context: ChannelHandlerContext) {
        if phase == .body { enter(.body) }
        context.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stalledUntil = context.channel.isWritable ? .distantFuture : .now() + .seconds(limits.idleSeconds)
        schedule()
        context.fireChannelWritabilityChanged()
    }

    func enter(_ phase: Phase) {
        self.phase = phase
        deadline =
            switch phase {
            case .idle: .now() + .seconds(limits.idleSeconds)
            case .head, .body: .now() + .seconds(limits.patienceSeconds)
            case .nothing: .distantFuture
            }
        schedule()
    }

    /// One timer serves them all: it is set anew only when it went off, or is too late.
    private func schedule() {
        let next = min(deadline, stalledUntil)
        guard let context, next < .distantFuture, timer == nil || next < timerAt else { return }
        timer?.cancel()
        timerAt = next
        timer = context.eventLoop.assumeIsolatedUnsafeUnchecked().scheduleTask(deadline: next) { self.timeIsUp() }
    }

    private var timerAt = NIODeadline.distantFuture

    private func timeIsUp() {
        timer = nil
        guard min(deadline, stalledUntil) <= .now() else { return schedule() }
        context?.close(promise: nil)
    }
}
