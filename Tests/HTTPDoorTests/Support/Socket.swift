import Wire

/// A WebSocket client over a plain connection (RFC 6455).
final class Socket {
    struct Frame {
        var opcode: UInt8
        var bytes: [UInt8]

        var text: String { String(decoding: bytes, as: UTF8.self) }
        var json: JSONObject { (try? JSONValue.parse(bytes))?.asObject ?? JSONObject() }
        /// Of a frame that closes.
        var code: Int? { opcode == 8 && bytes.count >= 2 ? Int(bytes[0]) << 8 | Int(bytes[1]) : nil }
    }

    let connection: Connection

    init(to port: Int, _ path: String, host: String = "localhost", fields: [String: String] = [:]) throws {
        connection = try Connection(to: port)
        let answer = try Self.upgrade(connection, path, host: host, fields: fields)
        guard answer.status == 101 else { throw Connection.Failure(description: "\(answer)") }
    }

    static func upgrade(
        _ connection: Connection, _ path: String, host: String = "localhost", fields: [String: String] = [:]
    ) throws -> Connection.Answer {
        let upgrade = [
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        ]
        return try connection.ask("GET", path, host: host, fields: upgrade.merging(fields) { $1 })
    }

    func send(_ text: String) { send(Array(text.utf8), opcode: 1) }

    func send(_ bytes: [UInt8], opcode: UInt8, isLast: Bool = true, isMasked: Bool = true) {
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
        connection.write(frame)
    }

    func next() throws -> Frame {
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
    func next(_ fits: (Frame) -> Bool) throws -> Frame {
        while true {
            let frame = try next()
            if fits(frame) { return frame }
        }
    }
}
