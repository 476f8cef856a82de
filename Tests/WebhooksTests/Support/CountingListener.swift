import Foundation

/// A listener that nobody serves, and which knows whether somebody came.
struct CountingListener {
    struct Failure: Error {}

    let port: Int
    private let socket: Int32

    init() throws {
        socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = socket
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw Failure() }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    /// Connections that came since the last look.
    var accepted: Int {
        var count = 0
        while case let connection = accept(socket, nil, nil), connection >= 0 {
            Foundation.close(connection)
            count += 1
        }
        return count
    }

    func close() { Foundation.close(socket) }
}
