import NIOCore
import NIOHTTP1

/// Lets a request become a WebSocket only where it may; any other that asks for an upgrade goes on as a plain one, which is answered
/// with why not.
///
/// The upgrade handler behind it loses a request whose upgrade it does not carry out. It belongs to its event loop, and leaves the
/// pipeline once the first request is decided.
final class UpgradeGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let sockets: SocketUpgrade
    private var isDeciding = false
    /// What came meanwhile.
    private var waiting: [NIOAny] = []

    init(_ sockets: SocketUpgrade) { self.sockets = sockets }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDeciding else { return waiting.append(data) }
        guard case .head(let head) = Self.unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard head.headers.contains(name: "upgrade") else {
            context.fireChannelRead(data)
            return context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }
        isDeciding = true
        let gate = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        sockets.mayUpgrade(head, on: context.channel).whenComplete { result in
            let (gate, context) = gate.value
            gate.decided((try? result.get()) ?? false, head, context)
        }
    }

    private func decided(_ mayUpgrade: Bool, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        var head = head
        if !mayUpgrade {
            head.headers.remove(name: "upgrade")
            // The parser reads no further behind such a request.
            head.headers.replaceOrAdd(name: "connection", value: "close")
        }
        context.fireChannelRead(Self.wrapInboundOut(.head(head)))
        for data in waiting { context.fireChannelRead(data) }
        waiting = []
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}
