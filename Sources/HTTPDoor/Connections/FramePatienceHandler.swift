import NIOCore

/// Closes a connection of HTTP/2 that keeps the end of its preface, of a frame or of a request's head waiting.
///
/// What is sent of a body gives it more time. This comes before NIO's handler, and belongs to its event loop.
///
/// Source: RFC 9113, sections 3.4, 4.1, 6.1, 6.2, 6.10.
final class FramePatienceHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private static let prefaceBytes = 24
    private static let frameHeadBytes = 9
    private static let (data, headers, continuation): (UInt8, UInt8, UInt8) = (0, 1, 9)
    private static let endOfHeaders: UInt8 = 4

    private let patience: TimeAmount
    /// So much of the preface or of a frame is still to come.
    private var rest = FramePatienceHandler.prefaceBytes
    private var frameHead: [UInt8] = []
    private var isInBody = false
    private var isInHead = false
    private var deadline = NIODeadline.distantFuture
    private var timer: Scheduled<Void>?

    init(_ limits: HTTPLimits) { patience = .seconds(limits.patienceSeconds) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let hasMovedOn = follow(Self.unwrapInboundIn(data).readableBytesView)
        if rest == 0, frameHead.isEmpty, !isInHead {
            deadline = .distantFuture
        } else if hasMovedOn || deadline == .distantFuture {
            deadline = .now() + patience
            schedule(context)
        }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    /// - Returns: Whether something came to its end, or more of a body came.
    private func follow(_ bytes: ByteBufferView) -> Bool {
        var bytes = bytes[...]
        var hasMovedOn = false
        while !bytes.isEmpty {
            if rest > 0 {
                let count = min(rest, bytes.count)
                bytes = bytes.dropFirst(count)
                rest -= count
                if isInBody || rest == 0 && !isInHead { hasMovedOn = true }
                continue
            }
            let part = bytes.prefix(Self.frameHeadBytes - frameHead.count)
            frameHead += part
            bytes = bytes.dropFirst(part.count)
            guard frameHead.count == Self.frameHeadBytes else { continue }
            beginFrame()
            if rest == 0, !isInHead { hasMovedOn = true }
        }
        return hasMovedOn
    }

    private func beginFrame() {
        rest = Int(frameHead[0]) << 16 | Int(frameHead[1]) << 8 | Int(frameHead[2])
        let type = frameHead[3]
        isInBody = type == Self.data
        if type == Self.headers || type == Self.continuation { isInHead = frameHead[4] & Self.endOfHeaders == 0 }
        frameHead.removeAll(keepingCapacity: true)
    }

    /// One timer serves all deadlines: it is set anew when it went off too early.
    private func schedule(_ context: ChannelHandlerContext) {
        guard timer == nil else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        timer = context.eventLoop.assumeIsolatedUnsafeUnchecked().scheduleTask(deadline: deadline) {
            self.timer = nil
            guard self.deadline > .now() else { return bound.value.close(promise: nil) }
            if self.deadline < .distantFuture { self.schedule(bound.value) }
        }
    }
}
