import NIOCore
import Synchronization

/// How many connections there are, together and from each address beyond loopback.
final class ConnectionCounts: Sendable {
    private struct Counts {
        var all = 0
        var byAddress: [String: Int] = [:]
        /// Connections that do not count for their address.
        var exempt: Set<ObjectIdentifier> = []

        mutating func enter(_ address: String, _ maximum: Int) -> Bool {
            guard byAddress[address, default: 0] < maximum else { return false }
            byAddress[address, default: 0] += 1
            return true
        }

        mutating func leave(_ address: String) {
            guard let count = byAddress[address] else { return }
            byAddress[address] = count > 1 ? count - 1 : nil
        }
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
        let number = ObjectIdentifier(channel)
        channel.closeFuture.whenComplete { _ in self.giveBack(address, number) }
        return true
    }

    /// A connection is another node's, which counts those who ask itself.
    func exempt(_ channel: any Channel) {
        guard let address = channel.remoteAddress.flatMap({ $0.isLoopback ? nil : $0.ipAddress }) else { return }
        counts.withLock { counts in
            if counts.exempt.insert(ObjectIdentifier(channel)).inserted { counts.leave(address) }
        }
    }

    /// Counts what comes of an address through a proxy, whose own connections are of its address.
    ///
    /// - Returns: false where there is too much: it is not counted.
    func enter(_ address: String) -> Bool { counts.withLock { $0.enter(address, limits.connectionsPerAddress) } }

    func leave(_ address: String) { counts.withLock { $0.leave(address) } }

    private func take(_ address: String?) -> Bool {
        counts.withLock { counts in
            guard counts.all < limits.connections else { return false }
            if let address, !counts.enter(address, limits.connectionsPerAddress) { return false }
            counts.all += 1
            return true
        }
    }

    private func giveBack(_ address: String?, _ number: ObjectIdentifier) {
        counts.withLock { counts in
            counts.all -= 1
            if counts.exempt.remove(number) == nil, let address { counts.leave(address) }
        }
    }
}
