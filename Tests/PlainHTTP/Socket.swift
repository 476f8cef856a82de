package import Wire

/// A WebSocket client over a plain connection (RFC 6455).
package final class Socket {
    package struct Frame {
        package var opcode: UInt8
        package var bytes: [UInt8]

        package var text: String { String(decoding: bytes, as: UTF8.self) }
        package var json: JSONObject { (try? JSONValue.parse(bytes))?.asObject ?? JSONObject() }
        /// Of a frame that closes.
        package var code: Int? { opcode == 8 && bytes.count >= 2 ? Int(bytes[0]) << 8 | Int(bytes[1]) : nil }
    }

    package let connection: Connection

    /// Over a connection that was used before, with texts that are sent together with the request.
    package init(over connection: Connection, _ path: String, behind texts: [String]) throws {
        self.connection = connection
        var request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\n"
        for (name, value) in Self.handshake { request += "\(name): \(value)\r\n" }
        let frames = texts.flatMap { Self.frame(Array($0.utf8), opcode: 1, isLast: true, isMasked: true) }
        connection.write(Array((request + "\r\n").utf8) + frames)
        let answer = try connection.answer()
        guard answer.status == 101 else { throw Connection.Failure(description: "\(answer)") }
    }

    package init(to port: Int, _ path: String, host: String = "localhost", fields: [String: String] = [:]) throws {
        connection = try Connection(to: port)
        let answer = try Self.upgrade(connection, path, host: host, fields: fields)
        guard answer.status == 101 else { throw Connection.Failure(description: "\(answer)") }
    }

    package static func upgrade(
        _ connection: Connection, _ path: String, host: String = "localhost", fields: [String: String] = [:]
    ) throws -> Connection.Answer {
        try connection.ask("GET", path, host: host, fields: handshake.merging(fields) { $1 })
    }

    private static let handshake = [
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    ]

    package func send(_ text: String) { send(Array(text.utf8), opcode: 1) }

    package func send(_ bytes: [UInt8], opcode: UInt8, isLast: Bool = true, isMasked: Bool = true) {
        connection.write(Self.frame(bytes, opcode: opcode, isLast: isLast, isMasked: isMasked))
    }

    private static func frame(_ bytes: [UInt8], opcode: UInt8, isLast: Bool, isMasked: Bool) -> [UInt8] {
        let mask: [UInt8] = isMasked ? [1, 2, 3, 4] : []
        var frame: [UInt8] = [(isLast ? 0x80 : 0) | opcode]
        let bit: UInt8 = isMasked ? 0x80 : 0
        switch bytes.count {
        case ..<126: frame.append(bit | UInt8(bytes.count))
        case ..<65_536: frame += [bit | 126, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)]
        default: frame += [bit | 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> ($0 * 8)) }
        }
        frame += mask
        for (index, byte) in bytes.enumerated() { frame.append(isMasked ? byte ^ mask[index & 3] : byte) }
        return frame
    }

    /// The next frame but for signs of life (`{}`): a machine that is busy lets the twenty seconds to one pass anywhere.
    package func next() throws -> Frame {
        while true {
            let frame = try nextOfAll()
            if frame.opcode != 1 || frame.bytes != Array("{}".utf8) { return frame }
        }
    }

    package func nextOfAll() throws -> Frame {
        let head = try connection.read(count: 2)
        var length = Int(head[1] & 0x7F)
        if length == 126 {
            length = try connection.read(count: 2).reduce(0) { $0 << 8 | Int($1) }
        } else if length == 127 {
            length = try connection.read(count: 8).reduce(0) { $0 << 8 | Int($1) }
        }
        return Frame(opcode: head[0] & 0x0F, bytes: try connection.read(count: length))
    }

    /// The next frame that fits, the others are lost.
    package func next(_ fits: (Frame) -> Bool) throws -> Frame {
        while true {
            let frame = try next()
            if fits(frame) { return frame }
        }
    }
}
