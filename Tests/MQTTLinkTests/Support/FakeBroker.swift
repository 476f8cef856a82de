import Foundation

@testable import MQTTLink

/// A listener that answers CONNECT as configured, for the brokers mosquitto is not.
final class FakeBroker: @unchecked Sendable {
    enum Answer: Sendable {
        case close
        case bytes([UInt8])
        /// These, and the end of the connection with them.
        case last([UInt8])
        /// CONNACK, then this packet again and again, reading nothing.
        case flood([UInt8])
    }

    let port: Int
    private let listener: Int32
    private let lock = NSLock()
    private var versions: [UInt8] = []

    /// `answer` gets the protocol level of CONNECT: 5, or 4 for 3.1.1.
    init(_ answer: @escaping @Sendable (UInt8) -> Answer) {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        port = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, size)
                _ = listen(descriptor, 8)
                getsockname(descriptor, $0, &size)
            }
            return Int(UInt16(bigEndian: $0.pointee.sin_port))
        }
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { self.serve(connection, answer) }
            }
        }
    }

    /// The protocol levels asked for so far.
    var asked: [UInt8] { lock.withLock { versions } }

    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func serve(_ connection: Int32, _ answer: (UInt8) -> Answer) {
        defer { close(connection) }
        var packet = [UInt8](repeating: 0, count: 4096)
        // CONNECT: type, length (one byte here), "MQTT" with its two length bytes, then the protocol level.
        guard recv(connection, &packet, packet.count, 0) > 8 else { return }
        lock.withLock { versions.append(packet[8]) }
        switch answer(packet[8]) {
        case .close: return
        case .bytes(let bytes):
            send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            while recv(connection, &packet, packet.count, 0) > 0 {}
        case .last(let bytes): send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        case .flood(let bytes):
            let hello: [UInt8] = [0x20, 2, 0, 0]
            send(connection, hello, hello.count, Int32(MSG_NOSIGNAL))
            while send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 {}
        }
    }
}
