import Foundation

/// A listener that accepts nothing and whose queue is full.
struct FullListener {
    struct Failure: Error {}

    let port: Int
    private let sockets: [Int32]

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        func withAddress(_ body: (UnsafeMutablePointer<sockaddr>) -> Int32) -> Int32 {
            withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
        }
        var length = size
        guard withAddress({ bind(listener, $0, size) }) == 0, listen(listener, 0) == 0,
            withAddress({ getsockname(listener, $0, &length) }) == 0
        else { throw Failure() }
        port = Int(UInt16(bigEndian: address.sin_port))
        var sockets = [listener]
        for _ in 0..<4 {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            _ = withAddress { connect(client, $0, size) }
            sockets.append(client)
        }
        self.sockets = sockets
    }

    func close() {
        for socket in sockets { Foundation.close(socket) }
    }
}
