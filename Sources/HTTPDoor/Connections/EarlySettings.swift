import NIOCore
import NIOHTTP2

/// Has heads read over HTTP/2 that are larger than may be, so that they are answered with 431 and the connection goes on.
///
/// NIO ends a connection whose client sends larger heads than a setting of ours says, and a setting counts only when the client has
/// acknowledged it: behind its first requests. So NIO gets the acknowledgements right behind the client's own settings, and not those
/// that the client sends: all they change are limits of ours. This comes before NIO's handler, and belongs to its event loop.
///
/// Source: RFC 9113, sections 3.4, 4.1, 6.5.3.
final class EarlySettings: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Up to here heads are read. NIO reads six frames of 16 KiB of one.
    private static let headerListBytesMax = 128 << 10
    private static let prefaceBytes = 24
    private static let frameHeadBytes = 9
    private static let settingsType: UInt8 = 4
    private static let acknowledgement: [UInt8] = [0, 0, 0, settingsType, 1, 0, 0, 0, 0]

    /// Acknowledgements that the client has still to send: of NIO's settings and of the one here.
    private var expected = 2
    /// So much of the preface or of a frame passes as it is.
    private var passing = EarlySettings.prefaceBytes
    private var frameHead = ByteBuffer()
    private var frameCount = 0

    /// Has NIO's handler, which is in the pipeline by now, take larger heads.
    static func raiseLimit(on channel: any Channel) {
        let setting = HTTP2Setting(parameter: .maxHeaderListSize, value: headerListBytesMax)
        let frame = HTTP2Frame(streamID: .rootStream, payload: .settings(.settings([setting])))
        channel.pipeline.syncOperations.writeAndFlush(NIOAny(frame), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard expected > 0 else { return context.fireChannelRead(data) }
        var incoming = Self.unwrapInboundIn(data)
        var passed = context.channel.allocator.buffer(capacity: incoming.readableBytes + 2 * Self.acknowledgement.count)
        while expected > 0, incoming.readableBytes > 0 {
            if passing > 0 { pass(&incoming, to: &passed) } else { readHead(&incoming, to: &passed) }
        }
        passed.writeBuffer(&incoming)
        if passed.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(passed)) }
    }

    private func pass(_ incoming: inout ByteBuffer, to passed: inout ByteBuffer) {
        let count = min(passing, incoming.readableBytes)
        if var part = incoming.readSlice(length: count) { passed.writeBuffer(&part) }
        passing -= count
        endFrame(&passed)
    }

    private func readHead(_ incoming: inout ByteBuffer, to passed: inout ByteBuffer) {
        let count = min(Self.frameHeadBytes - frameHead.readableBytes, incoming.readableBytes)
        if var part = incoming.readSlice(length: count) { frameHead.writeBuffer(&part) }
        guard frameHead.readableBytes == Self.frameHeadBytes else { return }
        let head = Array(frameHead.readableBytesView)
        frameHead.clear()
        guard head != Self.acknowledgement else { return expected -= 1 }
        frameCount += 1
        passed.writeBytes(head)
        passing = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        // What does not begin with settings is refused by NIO.
        if frameCount == 1, head[3] != Self.settingsType { expected = 0 }
        endFrame(&passed)
    }

    private func endFrame(_ passed: inout ByteBuffer) {
        guard passing == 0, frameCount == 1 else { return }
        frameCount += 1
        for _ in 0..<expected { passed.writeBytes(Self.acknowledgement) }
    }
}
