import Foundation

/// A TCP connection that sends what it is given, and nothing else.
struct RawConnection {
    private let descriptor: Int32

    init(port: Int) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    func send(_ bytes: [UInt8]) { Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    /// So many bytes; fewer where the other side closes before.
    func receive(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var have = 0
        while have < count {
            let got = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + have, count - have, 0) }
            if got <= 0 { break }
            have += got
        }
        return Array(bytes.prefix(have))
    }

    /// The other side has closed it.
    var hasEnded: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT))
        return count == 0 || count < 0 && errno == ECONNRESET
    }

    func close() { Foundation.close(descriptor) }
}
