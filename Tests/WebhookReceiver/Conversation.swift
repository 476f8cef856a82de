import NIOCore
import NIOHTTP1

/// One connection.
final class Conversation: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let reply: @Sendable (WebhookReceiver.Post) -> WebhookReceiver.Reply
    private var post: WebhookReceiver.Post?

    init(reply: @escaping @Sendable (WebhookReceiver.Post) -> WebhookReceiver.Reply) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            post = WebhookReceiver.Post(
                method: head.method.rawValue, target: head.uri, headers: head.headers.map { ($0.name, $0.value) }, body: [])
        case .body(let part): post?.body += part.readableBytesView
        case .end:
            guard let post else { return }
            self.post = nil
            answer(reply(post), context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func answer(_ reply: WebhookReceiver.Reply, _ context: ChannelHandlerContext) {
        switch reply {
        case .status(let code, let headers, let body):
            head(code, HTTPHeaders(headers + [("Content-Length", "\(body.utf8.count)")]), context)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .silence: break
        case .dribble(let code):
            head(code, HTTPHeaders([("Transfer-Encoding", "chunked")]), context)
            more(bytes: 1, after: .milliseconds(20), context)
        case .flood(let code):
            head(code, HTTPHeaders([("Transfer-Encoding", "chunked")]), context)
            more(bytes: 16 << 10, after: .zero, context)
        case .hangUp: context.close(promise: nil)
        }
    }

    private func head(_ code: Int, _ headers: HTTPHeaders, _ context: ChannelHandlerContext) {
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: code), headers: headers)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func more(bytes: Int, after delay: TimeAmount, _ context: ChannelHandlerContext) {
        let part = ByteBuffer(repeating: UInt8(ascii: "x"), count: bytes)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(part)))).whenSuccess {
            bound.eventLoop.scheduleTask(in: delay) {
                let (handler, context) = bound.value
                if context.channel.isActive { handler.more(bytes: bytes, after: delay, context) }
            }
        }
    }
}
