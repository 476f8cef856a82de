import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL
import NIOTLS
import Posting

/// One connection of ``HTTP2Client``: behind TLS, and behind the library's handler of frames once HTTP/2 is agreed upon.
final class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private enum Phase {
        case connecting
        case open
        /// It takes nothing new, and ends with what runs.
        case retired
        case closed
    }

    private struct Stream {
        var done: @Sendable (HTTP2Result) -> Void
        var deadline: NIODeadline
        var answer: HTTP2Answer?
    }

    private let authority: String
    private let limits: PostLimits
    private let loop: any EventLoop
    private var phase = Phase.connecting
    private var context: ChannelHandlerContext?
    private var waiting: [HTTP2Request] = []
    private var streams: [Int: Stream] = [:]
    private var nextID = 1
    private var error: (any Error)?
    private var flushIsDue = false
    private var lastReadAt = NIODeadline.uptimeNanoseconds(0)
    private var lastDeadline = NIODeadline.now()
    /// For the first deadline of all requests: one by one they would cost more than their watching is worth.
    private var timer: (at: NIODeadline, task: Scheduled<Void>)?

    private static let answerBytesMax = 16 << 10
    private static let windowBytes = 65_535
    /// Far below where they end: 2³¹.
    private static let streamIDMax = 1 << 30
    /// Apple wants connections to be kept.
    private static let idle = TimeAmount.minutes(10)
    private static let lost = "the connection was closed before an answer"

    init(authority: String, _ limits: PostLimits, on loop: any EventLoop) {
        self.authority = authority
        self.limits = limits
        self.loop = loop
        arm(.now() + .milliseconds(limits.connectMilliseconds))
    }

    var isAccepting: Bool { phase == .connecting || phase == .open }

    func send(_ request: HTTP2Request) {
        switch phase {
        case .connecting: waiting.append(request)
        case .open: begin(request)
        case .retired, .closed: request.done(.failed(reason: Self.lost))
        }
    }

    /// It was not made, or is broken.
    func fail(_ error: any Error) {
        self.error = error
        end()
    }

    // MARK: Requests

    private func begin(_ request: HTTP2Request) {
        guard let context else { return request.done(.failed(reason: Self.lost)) }
        let id = nextID
        nextID += 2
        if nextID > Self.streamIDMax { phase = .retired }
        let deadline = NIODeadline.now() + .milliseconds(limits.postMilliseconds)
        lastDeadline = deadline
        streams[id] = Stream(done: request.done, deadline: deadline)
        let written = loop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenFailure { _ in self.complete(id) }
        write(.headers(.init(headers: headers(of: request))), id, context, written)
        write(
            .data(.init(data: .byteBuffer(context.channel.allocator.buffer(bytes: request.body)), endStream: true)), id, context)
        arm(deadline)
    }

    private func headers(of request: HTTP2Request) -> HPACKHeaders {
        var headers = HPACKHeaders()
        headers.reserveCapacity(4 + request.shared.count + request.own.count)
        headers.add(name: ":method", value: "POST")
        headers.add(name: ":scheme", value: "https")
        headers.add(name: ":authority", value: authority)
        headers.add(name: ":path", value: request.path, indexing: .nonIndexable)
        for (name, value) in request.shared { headers.add(name: name, value: value) }
        for (name, value) in request.own { headers.add(name: name, value: value, indexing: .nonIndexable) }
        return headers
    }

    private func write(
        _ payload: HTTP2Frame.FramePayload, _ id: Int, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>? = nil
    ) {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: HTTP2StreamID(id), payload: payload)), promise: promise)
        guard !flushIsDue else { return }
        flushIsDue = true
        loop.assumeIsolated().execute {
            self.flushIsDue = false
            self.context?.flush()
        }
    }

    /// A request is over; what began to arrive is its answer.
    private func complete(_ id: Int, _ result: HTTP2Result? = nil) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        stream.done(stream.answer.map { .answered($0) } ?? result ?? .failed(reason: Self.lost))
        if phase == .retired, streams.isEmpty { end() }
    }

    /// Its answer is not read to its end.
    private func cancel(_ id: Int, _ result: HTTP2Result? = nil) {
        complete(id, result)
        if phase != .closed, let context { write(.rstStream(.cancel), id, context) }
    }

    // MARK: The connection

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // It took too long before.
        if phase == .closed { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) { end() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? NIOHTTP2Errors.StreamError {
            complete(Int(error.streamID))
        } else {
            fail(error)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let closed as StreamClosedEvent:
            if closed.reason != nil { complete(Int(closed.streamID)) }
        case let updated as NIOHTTP2WindowUpdatedEvent:
            guard updated.streamID == .rootStream, let window = updated.inboundWindowSize, window < Self.windowBytes / 2 else {
                return
            }
            write(.windowUpdate(windowSizeIncrement: Self.windowBytes - window), 0, context)
        case let event as TLSUserEvent:
            if case .handshakeCompleted(let agreed) = event { agree(on: agreed, context) }
        default: break
        }
    }

    private func agree(on agreed: String?, _ context: ChannelHandlerContext) {
        guard phase == .connecting else { return }
        guard agreed == "h2" else { return end(.notHTTP2) }
        do {
            let frames = NIOHTTP2Handler(
                mode: .client,
                initialSettings: nioDefaultSettings + [HTTP2Setting(parameter: .enablePush, value: 0)])
            try context.pipeline.syncOperations.addHandler(frames, position: .before(self))
        } catch {
            fail(error)
        }
    }

    /// Not before the server said how many requests it takes at once.
    private func open() {
        guard phase == .connecting else { return }
        phase = .open
        for request in waiting { send(request) }
        waiting = []
    }

    /// Nothing runs on it any more.
    private func end(_ result: HTTP2Result? = nil) {
        guard phase != .closed else { return }
        let failure = phase == .connecting ? error.map(FailureText.of) ?? Self.lost : Self.lost
        phase = .closed
        timer?.task.cancel()
        timer = nil
        let unsent = waiting
        waiting = []
        for request in unsent { request.done(result ?? .failed(reason: failure)) }
        for id in streams.keys.sorted() { complete(id) }
        context?.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase != .closed else { return }
        let frame = unwrapInboundIn(data)
        let id = Int(frame.streamID)
        switch frame.payload {
        case .settings(.settings): open()
        case .headers(let part): receive(part.headers, isLast: part.endStream, id)
        case .data(let part):
            guard case .byteBuffer(let bytes) = part.data, streams[id] != nil else { return }
            streams[id]?.answer?.body += bytes.readableBytesView
            if part.endStream {
                complete(id)
            } else if streams[id]?.answer?.body.count ?? 0 > Self.answerBytesMax {
                // The rest says nothing more, also where it never ends.
                cancel(id)
            }
        case .goAway(let last, _, _):
            phase = .retired
            for unseen in streams.keys.sorted() where unseen > Int(last) { complete(unseen) }
            if streams.isEmpty { end() }
        default: break
        }
    }

    private func receive(_ headers: HPACKHeaders, isLast: Bool, _ id: Int) {
        if streams[id]?.answer == nil, let status = headers.first(name: ":status").flatMap({ Int($0) }), status >= 200 {
            streams[id]?.answer = HTTP2Answer(status: status, retryAfter: headers.first(name: "retry-after"))
        }
        if isLast { complete(id) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        lastReadAt = .now()
        context.fireChannelReadComplete()
    }

    // MARK: Time

    private func arm(_ deadline: NIODeadline) {
        if let timer {
            guard deadline < timer.at else { return }
            timer.task.cancel()
        }
        timer = (deadline, loop.assumeIsolated().scheduleTask(deadline: deadline) { self.timeIsOver() })
    }

    private func timeIsOver() {
        timer = nil
        guard phase != .connecting else { return fail(ChannelError.connectTimeout(.milliseconds(limits.connectMilliseconds))) }
        let now = NIODeadline.now()
        let overdue = streams.filter { $0.value.deadline <= now }
        for id in overdue.keys.sorted() { cancel(id, .failed(reason: "the answer took too long")) }
        let isDead = overdue.values.contains { lastReadAt < $0.deadline - .milliseconds(limits.postMilliseconds) }
        // A connection that brings nothing at all any more is not worth another try; one that nobody needs is closed.
        if isDead || streams.isEmpty && lastDeadline + Self.idle <= now {
            end()
        } else if phase != .closed {
            arm(streams.values.lazy.map(\.deadline).min() ?? lastDeadline + Self.idle)
        }
    }
}
