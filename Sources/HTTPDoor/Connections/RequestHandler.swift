import DequeModule
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// Hands the requests of a connection to its task, and takes the answers from it, both with bounds.
///
/// It belongs to its event loop, where the connection's task runs, too (``LoopExecutor``): the guard behind `@unchecked Sendable`.
/// `NIOAsyncChannel` would do, but is made to cross threads, and looks up types for each part: with it a small request cost two fifths more.
final class RequestHandler: ChannelDuplexHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart

    private let loop: any EventLoop
    private var context: ChannelHandlerContext?
    /// What came and was not read.
    private var parts = Deque<HTTPServerRequestPart>()
    /// How the input ended.
    private var end: Result<Void, any Error>?
    /// Tasks that wait for something here to change.
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// The channel asked to read on while enough waited.
    private var isReadHeld = false
    private var isInBody = false
    /// Is called at the end of the input; what comes before is thrown away.
    private var watch: (() -> Void)?

    /// Beyond these nothing more is read.
    private static let partsMax = 10

    init(_ loop: any EventLoop) { self.loop = loop }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { close() }

    func channelInactive(context: ChannelHandlerContext) {
        close()
        context.fireChannelInactive()
    }

    private func close() {
        context = nil
        endInput()
        changed()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard end == nil, watch == nil else { return }
        parts.append(Self.unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !parts.isEmpty { changed() }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        isReadHeld = parts.count >= Self.partsMax
        if !isReadHeld { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        changed()
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { endInput() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        endInput(.failure(error))
        context.fireErrorCaught(error)
    }

    private func endInput(_ result: Result<Void, any Error> = .success(())) {
        guard end == nil else { return }
        end = result
        changed()
        watch?()
    }

    // MARK: The task

    private func changed() {
        let continuations = waiting
        waiting.removeAll(keepingCapacity: true)
        for continuation in continuations { continuation.resume() }
    }

    private func change() async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiting.append($0) }
        } onCancel: {
            loop.execute { self.changed() }
        }
        try Task.checkCancellation()
    }

    /// The next part; nil where the client sends no more.
    private func next() async throws -> HTTPServerRequestPart? {
        while parts.isEmpty {
            if let end {
                try end.get()
                return nil
            }
            try await change()
        }
        let part = parts.removeFirst()
        readOn()
        return part
    }

    private func readOn() {
        guard isReadHeld, parts.isEmpty else { return }
        isReadHeld = false
        context?.read()
    }

    /// The head of the next request, behind what is left of the body before; nil where the client sends none.
    func nextHead() async throws -> HTTPRequest? {
        while let part = try await next() {
            guard case .head(let head) = part else { continue }
            isInBody = true
            return try HTTPRequest(head)
        }
        return nil
    }

    /// The next bytes of the request's body; nil where it is over, or the client sends no more of it.
    func nextBytes() async throws -> ByteBuffer? {
        guard isInBody, let part = try await next() else { return nil }
        if case .body(let bytes) = part { return bytes }
        isInBody = false
        return nil
    }

    /// Does something while the client still listens: where it sends no more, `gone` is called. Nothing is read after this.
    func watching<Result>(_ operation: () async throws -> Result, gone: @escaping () -> Void) async rethrows -> Result {
        parts.removeAll()
        watch = gone
        if end != nil { gone() }
        readOn()
        defer { watch = {} }
        return try await operation()
    }

    // MARK: Answers

    /// Writes an answer or a part of it, and waits while the client does not take what was written.
    func write(_ head: HTTPResponse? = nil, _ bytes: ByteBuffer = ByteBuffer(), isLast: Bool = false) async throws {
        guard let context else { throw ChannelError.ioOnClosedChannel }
        if let head { context.write(Self.wrapOutboundOut(.head(HTTPResponseHead(head))), promise: nil) }
        if bytes.readableBytes > 0 { context.write(Self.wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil) }
        if isLast { context.write(Self.wrapOutboundOut(.end(nil)), promise: nil) }
        context.flush()
        try await untilTaken()
    }

    /// Ends the answers behind those that were written. Closing at once would drop what a client has not taken that sends no more.
    func finish() async throws {
        guard let context else { return }
        let front = try context.pipeline.syncOperations.context(handlerType: PatienceHandler.self)
        let taken = loop.makePromise(of: Void.self)
        front.writeAndFlush(NIOAny(ByteBuffer()), promise: taken)
        try await taken.futureResult.get()
        try await context.channel.close(mode: .output)
    }

    private func untilTaken() async throws {
        while let context, !context.channel.isWritable { try await change() }
        if context == nil { throw ChannelError.ioOnClosedChannel }
    }
}

extension HTTPRequest {
    /// As it came in the clear: whether it was encrypted is known elsewhere.
    fileprivate init(_ head: HTTPRequestHead) throws {
        // The conversion parses any target as a URL, and most are paths.
        guard head.uri.utf8.first == UInt8(ascii: "/") else {
            self = try HTTPRequest(head, secure: false, splitCookie: false)
            return
        }
        self.init(
            method: try Method(head.method), scheme: "http", authority: head.headers["host"].first, path: head.uri,
            headerFields: HTTPFields(head.headers, splitCookie: false))
    }
}
