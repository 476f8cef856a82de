import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// One half of a WebSocket whose dataset another node has: bytes go to the other half as they are.
///
/// Both halves belong to one event loop.
final class ForwardedSocket: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var context: ChannelHandlerContext?
    private var other: ForwardedSocket?
    private var isReadHeld = false
    private var isClosing = false
    /// What went to the client; nil: this is the other node's half.
    private var frames: FrameBoundary?

    /// So long a reader may take nothing of the rest.
    private let idleSeconds: Int64

    init(_ limits: HTTPLimits) { idleSeconds = limits.idleSeconds }

    /// Says to the other node what was asked, and makes the client's half.
    static func join(
        _ far: ForwardedSocket, _ head: HTTPRequestHead, mark: String, _ limits: HTTPLimits
    ) -> ForwardedSocket {
        let near = ForwardedSocket(limits)
        near.frames = FrameBoundary()
        (near.other, far.other) = (far, near)
        var text = "\(head.method.rawValue) \(ForwardedTarget.encode(head.uri)) HTTP/1.1\r\n"
        var fields = head.headers
        fields.replaceOrAdd(name: Forwarding.field, value: mark)
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        far.write(ByteBuffer(string: text + "\r\n"))
        return near
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Bytes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { other?.write(Self.unwrapInboundIn(data)) }

    private func write(_ bytes: ByteBuffer) {
        guard !isClosing else { return }
        frames?.pass(bytes.readableBytesView)
        context?.writeAndFlush(Self.wrapOutboundOut(bytes), promise: nil)
    }

    private var isWritable: Bool { context?.channel.isWritable ?? false }

    func read(context: ChannelHandlerContext) {
        if let other, !other.isWritable { isReadHeld = true } else { context.read() }
    }

    private func mayRead() {
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { other?.mayRead() }
        context.fireChannelWritabilityChanged()
    }

    // MARK: The end

    func close() { context?.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) {
        endOther()
        context.fireChannelInactive()
    }

    private func endOther() {
        let other = other.take()
        other?.other = nil
        other?.end()
    }

    /// The other half is gone: what is written still leaves, and after it, where a frame may follow, a close frame (going away).
    private func end() {
        guard let context, !isClosing else { return }
        if frames?.takesClose == true {
            context.write(Self.wrapOutboundOut(ByteBuffer(bytes: Self.goingAway)), promise: nil)
        }
        isClosing = true
        context.close(after: context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer())), within: idleSeconds)
    }

    /// A frame that closes, with 1001. Source: RFC 6455, sections 5.5.1 and 7.4.1.
    private static let goingAway: [UInt8] = [0x88, 2, 0x03, 0xE9]

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            let other = other.take()
            other?.other = nil
            other?.close()
            end()
        case ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension SocketUpgrade {
    /// The half of a WebSocket that belongs to another node.
    func connect(to address: String, on loop: any EventLoop) -> EventLoopFuture<NIOLoopBound<ForwardedSocket>> {
        guard let place = NodeAddress(address), let tls = door.configuration.forwarding?.tls else {
            return loop.makeFailedFuture(ChannelError.unknownLocalAddress)
        }
        let half = NIOLoopBound(ForwardedSocket(door.configuration.limits), eventLoop: loop)
        return ClientBootstrap(group: loop)
            .connectTimeout(.seconds(2))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if place.isEncrypted {
                        let context = try NIOSSLContext(configuration: tls)
                        try pipeline.addHandler(try NIOSSLClientHandler(context: context, serverHostname: place.name))
                    }
                    try pipeline.addHandler(half.value)
                }
            }
            .connect(host: place.host, port: place.port)
            .map { _ in half }
    }
}

/// `http[s]://HOST[:PORT]`.
struct NodeAddress {
    var host: String
    var port: Int
    var isEncrypted: Bool
    /// For the certificate, where the host is no address.
    var name: String? { (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil }

    init?(_ text: String) {
        guard let scheme = text.firstRange(of: "://") else { return nil }
        isEncrypted = text[..<scheme.lowerBound] == "https"
        var rest = text[scheme.upperBound...].prefix { $0 != "/" }
        port = isEncrypted ? 443 : 80
        if let colon = rest.lastIndex(of: ":"), !rest.hasSuffix("]") {
            guard let number = Int(rest[rest.index(after: colon)...]) else { return nil }
            port = number
            rest = rest[..<colon]
        }
        host = String(rest.hasPrefix("[") ? rest.dropFirst().dropLast() : rest)
    }
}

/// Follows what a WebSocket's server sends, to know where a frame may begin.
struct FrameBoundary {
    private enum State {
        /// How much of the empty line behind the answer's head has come.
        case head(Int)
        case frame([UInt8])
        case payload(Int)
        /// The answer is no WebSocket's, or a frame that closes has passed.
        case over
    }

    private var state = State.head(0)
    /// The first bytes of the answer.
    private var status: [UInt8] = []

    /// Whether a frame that closes may follow.
    var takesClose: Bool {
        if case .frame(let bytes) = state { bytes.isEmpty } else { false }
    }

    /// Source: RFC 6455, section 5.2; what a server sends is not masked.
    mutating func pass(_ bytes: some Collection<UInt8>) {
        var rest = bytes[...]
        while let byte = rest.first {
            switch state {
            case .over: return
            case .payload(let count):
                let passed = min(count, rest.count)
                rest = rest.dropFirst(passed)
                state = passed == count ? .frame([]) : .payload(count - passed)
                continue
            case .head(let count):
                if status.count < Self.upgraded.count { status.append(byte) }
                let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
                let matched = byte == end[count] ? count + 1 : byte == end[0] ? 1 : 0
                state = matched < end.count ? .head(matched) : status == Self.upgraded ? .frame([]) : .over
            case .frame(let header):
                state = header.isEmpty && byte & 0x0F == Self.closing ? .over : Self.state(behind: header + [byte])
            }
            rest = rest.dropFirst()
        }
    }

    private static let upgraded = Array("HTTP/1.1 101".utf8)
    private static let closing: UInt8 = 8

    private static func state(behind header: [UInt8]) -> State {
        guard header.count >= 2 else { return .frame(header) }
        let short = Int(header[1] & 0x7F)
        let extended = short == 126 ? 2 : short == 127 ? 8 : 0
        guard header.count == 2 + extended else { return .frame(header) }
        let length = extended == 0 ? short : header[2...].reduce(0) { $0 << 8 | Int($1) }
        return length > 0 ? .payload(length) : .frame([])
    }
}
