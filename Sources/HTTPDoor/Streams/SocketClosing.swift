import NIOCore

extension ChannelHandlerContext {
    /// So long the other side may take to close, too, once it has everything.
    private static let lingering = TimeAmount.seconds(2)

    /// Closes a connection behind its last bytes, such as the frame that says why.
    ///
    /// What is written before them leaves as fast as the reader takes it; one that takes nothing is not waited for longer than one
    /// that is idle.
    func close(after written: EventLoopFuture<Void>, within seconds: Int64) {
        let context = NIOLoopBound(self, eventLoop: eventLoop)
        let limit = eventLoop.scheduleTask(in: .seconds(seconds)) { context.value.close(promise: nil) }
        written.whenComplete { _ in
            limit.cancel()
            context.value.close(mode: .output, promise: nil)
            context.value.eventLoop.scheduleTask(in: Self.lingering) { context.value.close(promise: nil) }
        }
    }
}
