import NIOCore
import NIOWebSocket
import Wire

// Frames that leave: all that waits is written into one buffer, which is one write.

extension ByteBuffer {
    /// A message in one frame.
    mutating func writeFrame(_ opcode: WebSocketOpcode, _ data: some Collection<UInt8>) {
        writeFrameHead(opcode, length: data.count)
        writeBytes(data)
    }

    /// The head of a frame that holds a whole message, without a mask, as servers send it.
    ///
    /// Source: RFC 6455, section 5.2.
    mutating func writeFrameHead(_ opcode: WebSocketOpcode, length: Int) {
        writeInteger(0x80 | UInt8(webSocketOpcode: opcode))
        switch length {
        case ..<126: writeInteger(UInt8(length))
        case ..<65_536:
            writeInteger(UInt8(126))
            writeInteger(UInt16(length))
        default:
            writeInteger(UInt8(127))
            writeInteger(UInt64(length))
        }
    }

    /// The last frame, which says why.
    mutating func writeCloseFrame(_ code: WebSocketErrorCode) {
        writeFrameHead(.connectionClose, length: 2)
        write(webSocketErrorCode: code)
    }

    /// `{"topic","payload","cursor"?}`
    mutating func writeFrame(_ message: StreamMessage) {
        let head = message.frameHead ?? StreamMessage.frameHead(path: message.path)
        let payload = message.payload.isEmpty ? Self.null : message.payload
        let tail = message.cursor.map { Array(",\"cursor\":\"\($0)\"}".utf8) } ?? Self.end
        writeFrameHead(.text, length: head.count + payload.count + tail.count)
        writeBytes(head)
        writeBytes(payload)
        writeBytes(tail)
    }

    private static let null = Array("null".utf8)
    private static let end = [UInt8(ascii: "}")]
}

extension StreamMessage {
    /// How the frames of a path begin.
    static func frameHead(path: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("topic", path)
        writer.key("payload")
        return writer.bytes
    }
}

extension NIOWebSocketError {
    /// The close code for a client that sent a broken frame.
    var code: WebSocketErrorCode {
        switch self {
        case .invalidFrameLength: .messageTooLarge
        case .fragmentedControlFrame, .multiByteControlFrameLength: .protocolError
        }
    }
}
