import Datasets
import NIOCore

extension IPAddress {
    /// - Returns: nil for a socket in the file system.
    package init?(socket: SocketAddress) {
        switch socket {
        case .v4(let address):
            self.init(bytes: withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
        case .v6(let address):
            self.init(bytes: withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        case .unixDomainSocket: return nil
        }
    }
}
