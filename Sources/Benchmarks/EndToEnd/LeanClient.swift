import Glibc

/// Just enough MQTT 3.1.1 over TCP to load a broker and to count what comes out of it, at a few per cent of a core.
///
/// Blocking, QoS 0 out, any QoS in (acknowledged). For benchmarks only: it trusts its broker.
final class LeanClient {
    enum Failure: Error {
        case system(String, Int32)
        case refused(String)
    }

    private let socket: Int32
    private var input: [UInt8] = []
    private var consumed = 0
    private var output: [UInt8] = []

    /// Connects, and says nothing.
    init(silentAt port: Int) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure.system("connect", errno) }
        var one: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    }

    /// - Parameter isPersistent: Whether the broker keeps the session when the connection ends.
    convenience init(port: Int, clientID: String, isPersistent: Bool = false) throws {
        try self.init(silentAt: port)
        var greeting: [UInt8] = [0, 4] + Array("MQTT".utf8) + [4, isPersistent ? 0 : 2, 0, 0]
        greeting.append(text: clientID)
        send(packet: 0x10, greeting)
        try flush()
        guard let answer = try next(milliseconds: 5000), answer.kind == 0x20, input[answer.body.lowerBound + 1] == 0 else {
            throw Failure.refused("connect")
        }
    }

    deinit { close(socket) }

    // MARK: Out

    func publish(topic: String, payload: [UInt8], qos: UInt8 = 0) {
        var body: [UInt8] = []
        body.reserveCapacity(topic.utf8.count + payload.count + 4)
        body.append(text: topic)
        if qos > 0 { body += [0, 1] }
        body += payload
        send(packet: 0x30 | qos << 1, body)
    }

    /// Subscribes and waits until the broker granted it.
    func subscribe(_ filter: String, qos: UInt8) throws {
        var body: [UInt8] = [0, 1]
        body.append(text: filter)
        body.append(qos)
        send(packet: 0x82, body)
        try flush()
        while let packet = try next(milliseconds: 5000) {
            if packet.kind == 0x90 {
                guard input[packet.body.upperBound - 1] < 0x80 else { throw Failure.refused(filter) }
                return
            }
        }
        throw Failure.refused(filter)
    }

    /// Sends a request and waits for the next message, its reply; `geomatch/{dataset}/{client}/reply` must be subscribed.
    func ask(_ request: String, _ parameters: String, dataset: String, client: String) throws {
        publish(topic: "geomatch/\(dataset)/\(client)/request/\(request)", payload: Array(parameters.utf8), qos: 1)
        try flush()
        var refusal: String?
        var answered = 0
        while answered == 0 {
            answered = try receive(milliseconds: 5000) { _, payload in
                let text = String(decoding: payload, as: UTF8.self)
                if text.contains("\"error\":") { refusal = text }
            }
        }
        if let refusal { throw Failure.refused(refusal) }
    }

    private func send(packet kind: UInt8, _ body: [UInt8]) {
        output.append(kind)
        var length = body.count
        repeat {
            let byte = UInt8(length & 0x7F)
            length >>= 7
            output.append(length > 0 ? byte | 0x80 : byte)
        } while length > 0
        output += body
    }

    func flush() throws {
        var sent = 0
        while sent < output.count {
            let count = output.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure.system("send", errno) }
            sent += count
        }
        output.removeAll(keepingCapacity: true)
    }

    // MARK: In

    struct Packet {
        var kind: UInt8
        var body: Range<Int>
    }

    /// Gives each message that arrives within this time to the body; returns how many there were.
    func receive(milliseconds: Int32, _ body: (_ topic: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) -> Void) throws
        -> Int
    {
        var count = 0
        var wait = milliseconds
        while let packet = try next(milliseconds: wait) {
            wait = 0
            guard packet.kind & 0xF0 == 0x30 else { continue }
            count += 1
            input.withUnsafeBytes { bytes in
                let start = packet.body.lowerBound
                let topicEnd = start + 2 + (Int(bytes[start]) << 8 | Int(bytes[start + 1]))
                var payloadStart = topicEnd
                if packet.kind & 0x06 != 0 {
                    output += [0x40, 2, bytes[topicEnd], bytes[topicEnd + 1]]
                    payloadStart += 2
                }
                body(
                    UnsafeRawBufferPointer(rebasing: bytes[(start + 2)..<topicEnd]),
                    UnsafeRawBufferPointer(rebasing: bytes[payloadStart..<packet.body.upperBound]))
            }
        }
        if !output.isEmpty { try flush() }
        return count
    }

    /// The next whole packet in the buffer, or from the socket within this time.
    private func next(milliseconds: Int32) throws -> Packet? {
        while true {
            if let packet = wholePacket() { return packet }
            if consumed > 0 {
                input.removeSubrange(0..<consumed)
                consumed = 0
            }
            var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, milliseconds) > 0 else { return nil }
            let start = input.count
            input.append(contentsOf: repeatElement(0, count: 1 << 16))
            let count = input.withUnsafeMutableBytes { recv(socket, $0.baseAddress! + start, 1 << 16, 0) }
            input.removeLast((1 << 16) - max(0, count))
            guard count > 0 else { throw Failure.system("recv", errno) }
        }
    }

    private func wholePacket() -> Packet? {
        var at = consumed + 1
        var length = 0
        var shift = 0
        while true {
            guard at < input.count else { return nil }
            length |= Int(input[at] & 0x7F) << shift
            shift += 7
            at += 1
            if input[at - 1] & 0x80 == 0 { break }
        }
        guard at + length <= input.count else { return nil }
        let packet = Packet(kind: input[consumed], body: at..<(at + length))
        consumed = at + length
        return packet
    }
}

extension [UInt8] {
    fileprivate mutating func append(text: String) {
        append(UInt8(text.utf8.count >> 8))
        append(UInt8(text.utf8.count & 0xFF))
        append(contentsOf: text.utf8)
    }
}
