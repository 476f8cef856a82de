import NIOCore
import NIOWebSocket

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

extension WebSocketFrame {
    /// What a frame that closes is answered with: a frame that may not be has the code for what is wrong with it.
    ///
    /// Source: RFC 6455, sections 5.5.1, 7.4.1 and 7.4.2, and the codes that are registered.
    var closingAnswer: WebSocketErrorCode {
        let bytes = Array(unmaskedData.readableBytesView)
        guard !bytes.isEmpty else { return .normalClosure }
        guard bytes.count >= 2 else { return .protocolError }
        switch Int(bytes[0]) << 8 | Int(bytes[1]) {
        case 1000...1003, 1007...1014, 3000...4999: break
        default: return .protocolError
        }
        return String(validating: bytes[2...], as: UTF8.self) == nil ? .dataInconsistentWithMessage : .normalClosure
    }
}
