import Datasets
import NIOCore
import NIOWebSocket
import Wire

/// A WebSocket: requests come in, replies and what its client hears of go out.
///
/// It belongs to its event loop.
final class SocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let door: HTTPDoor
    private let stream: EventStream
    private let cursor: Int64?
    /// The frames of one message so far.
    private var partial: [UInt8]?
    /// Requests whose replies have not left.
    private var outstanding = 0
    private var isReadHeld = false
    private var isClosing = false

    /// So many requests are under way before more are read.
    private static let outstandingMax = 64
    /// Of a message that comes in: one that is too large for a request is answered up to here, and closes the socket beyond.
    static let messageBytesMax = 1 << 20

    init(_ stream: EventStream, since cursor: Int64?, door: HTTPDoor) {
        self.stream = stream
        self.cursor = cursor
        self.door = door
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let handler = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        stream.onWaiting(on: context.eventLoop) {
            let (handler, context) = handler.value
            handler.drain(context)
        }
        let (stream, cursor) = (stream, cursor)
        let isTaken = door.submit { door in
            if door.open(stream, since: cursor) != nil { stream.end(.notAllowed) }
        }
        if !isTaken { stream.end(.goingAway) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let stream = stream
        stream.end(.gone)
        stream.forgetReader()
        partial = nil
        door.submit { $0.close(stream) }
        context.fireChannelInactive()
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let frame = Self.unwrapInboundIn(data)
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return close(context, .protocolError) }
        switch frame.opcode {
        case .text where partial == nil: take(frame, context)
        case .continuation where partial != nil: take(frame, context)
        case .binary where partial == nil: close(context, .unacceptableData)
        case .ping where frame.fin:
            guard context.channel.isWritable else { return }
            var buffer = ByteBuffer()
            buffer.writeFrame(.pong, frame.unmaskedData.readableBytesView)
            context.writeAndFlush(Self.wrapOutboundOut(buffer), promise: nil)
        case .pong: break
        case .connectionClose: close(context, frame.closingAnswer)
        default: close(context, .protocolError)
        }
    }

    private func take(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        // Taken out, so that it is appended to in its place.
        var bytes = partial.take() ?? []
        guard bytes.count + frame.length <= Self.messageBytesMax else { return close(context, .messageTooLarge) }
        bytes.append(contentsOf: frame.unmaskedData.readableBytesView)
        partial = frame.fin ? nil : bytes
        if frame.fin { request(bytes, context) }
    }

    private func request(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        guard String(validating: bytes, as: UTF8.self) != nil else { return close(context, .dataInconsistentWithMessage) }
        do throws(WireError) {
            let work = try Self.read(bytes, on: stream)
            outstanding += 1
            door.submit(work)
        } catch {
            refuse(bytes, error)
        }
    }

    /// A message that is no request is answered as one without a name, under the id that it has all the same.
    private func refuse(_ bytes: [UInt8], _ error: WireError) {
        outstanding += 1
        let reply = UpdateAnswer.refused(error).reply(to: RequestPayload.parse(bytes).requestId)
        stream.append(.reply(HTTPDoor.Reply(bytes: reply, queue: 0)))
    }

    /// `{"request":"live/subscribe",…parameters}`, or `{"topic","payload"}` for a live update.
    private static func read(_ bytes: [UInt8], on stream: EventStream) throws(WireError) -> HTTPDoor.Work {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(bytes)
        } catch {
            throw WireError(error)
        }
        if let object = value.asObject, object["request"] == nil, let topic = object["topic"]?.asString {
            return try update(topic, object, of: bytes, on: stream)
        }
        guard var object = value.asObject, let name = object["request"]?.asString else {
            throw WireError(
                .invalid,
                "a message is an object with `request`, such as \"device/list\", and its parameters, or a live update with `topic` and `payload`",
                field: "request")
        }
        object["request"] = nil
        let request = APIRequest(
            dataset: stream.dataset, caller: stream.caller, name: name,
            body: isTooLarge(bytes) ? bytes : JSONValue.object(object).serialised(), isOfClient: true)
        return { $0.receive(request, on: stream) }
    }

    /// The core refuses such a message by its length, and counts it: written anew, without its spaces, it may be short.
    private static func isTooLarge(_ bytes: [UInt8]) -> Bool { bytes.count > RequestPayload.payloadBytesMax }

    private static func update(
        _ topic: String, _ object: JSONObject, of bytes: [UInt8], on stream: EventStream
    ) throws(WireError) -> HTTPDoor.Work {
        guard let payload = object["payload"] else {
            throw WireError(.invalid, "`payload` is missing: an object, or null to clear the state", field: "payload")
        }
        let update = isTooLarge(bytes) ? bytes : payload == .null ? [] : payload.serialised()
        let arrival = LiveArrival(topic: topic, payload: update)
        let requestId = object["requestId"]?.asString
        return { $0.receive(arrival, requestId: requestId, on: stream) }
    }

    func read(context: ChannelHandlerContext) {
        // A client that asks faster than it reads waits for its replies.
        if outstanding >= Self.outstandingMax, !isClosing { isReadHeld = true } else { context.read() }
    }

    // MARK: Out

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { drain(context) }
        context.fireChannelWritabilityChanged()
    }

    private static let portionBytes = 64 << 10

    private func drain(_ context: ChannelHandlerContext) {
        guard !isClosing else { return }
        while context.channel.isWritable {
            let (items, end) = stream.take(bytes: Self.portionBytes)
            if !items.isEmpty { write(items, context) }
            if let end { return close(context, end.code) }
            if items.isEmpty { break }
        }
        // A reader that receives nothing is closed ahead of what is queued for it.
        if !context.channel.isWritable, stream.isTooSlow { return close(context, StreamEnd.tooSlow.code) }
        if isReadHeld, outstanding < Self.outstandingMax {
            isReadHeld = false
            context.read()
        }
    }

    private func write(_ items: [EventStream.Item], _ context: ChannelHandlerContext) {
        if items.count == 1, case .frames(let frames, let head) = items[0] {
            // As they are, without a copy.
            return context.writeAndFlush(Self.wrapOutboundOut(frames.encoded(under: head)), promise: nil)
        }
        var buffer = context.channel.allocator.buffer(capacity: items.reduce(0) { $0 + $1.bytes })
        var replies: [HTTPDoor.Reply] = []
        for item in items {
            switch item {
            case .message(let message): buffer.writeFrame(message)
            case .signOfLife: buffer.writeFrame(.text, "{}".utf8)
            case .frames(let frames, let head): buffer.writeImmutableBuffer(frames.encoded(under: head))
            case .reply(let reply):
                outstanding -= 1
                buffer.writeFrame(.text, reply.bytes)
                replies.append(reply)
            }
        }
        guard !replies.isEmpty else { return context.writeAndFlush(Self.wrapOutboundOut(buffer), promise: nil) }
        let (door, written) = (door, replies)
        context.writeAndFlush(Self.wrapOutboundOut(buffer)).whenComplete { _ in
            for reply in written { door.written(reply) }
        }
    }

    // MARK: The end

    private func close(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        guard !isClosing else { return }
        isClosing = true
        let stream = stream
        stream.end(.gone)
        // What ends with it ends now, not when the other side has closed, too.
        door.submit { $0.close(stream) }
        var buffer = ByteBuffer()
        buffer.writeCloseFrame(code)
        context.close(
            after: context.writeAndFlush(Self.wrapOutboundOut(buffer)), within: door.configuration.limits.idleSeconds)
        if isReadHeld { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: close(context, .goingAway)
        case ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? NIOWebSocketError else { return context.close(promise: nil) }
        close(context, error.code)
    }
}

extension StreamEnd {
    var code: WebSocketErrorCode {
        switch self {
        case .goingAway: .goingAway
        case .tooSlow: .unknown(1013)
        case .notAllowed: .policyViolation
        case .gone: .normalClosure
        }
    }
}
