import NIOCore
import Synchronization

/// How many connections there are, together and from each address beyond loopback.
final class ConnectionCounts: Sendable {
    private struct Counts {
        var all = 0
        var byAddress: [String: Int] = [:]
    }

    private let counts = Mutex(Counts())
    private let limits: HTTPLimits

    init(_ limits: HTTPLimits) { self.limits = limits }

    var all: Int { counts.withLock { $0.all } }

    /// Counts a connection until it is closed.
    ///
    /// - Returns: false where there are too many: it is not counted.
    func admit(_ channel: any Channel) -> Bool {
        let address = channel.remoteAddress.flatMap { $0.isLoopback ? nil : $0.ipAddress }
        guard take(address) else { return false }
        channel.closeFuture.whenComplete { _ in self.giveBack(address) }
        return true
    }

    private func take(_ address: String?) -> Bool {
        counts.withLock { counts in
            guard counts.all < limits.connections else { return false }
            if let address {
                guard counts.byAddress[address, default: 0] < limits.connectionsPerAddress else { return false }
                counts.byAddress[address, default: 0] += 1
            }
            counts.all += 1
            return true
        }
    }

    private func giveBack(_ address: String?) {
        counts.withLock { counts in
            counts.all -= 1
            guard let address, let count = counts.byAddress[address] else { return }
            counts.byAddress[address] = count > 1 ? count - 1 : nil
        }
    }
}
