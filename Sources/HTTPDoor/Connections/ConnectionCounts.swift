import NIOCore
import NIOSSL
import Synchronization

/// The open connections: how many there are, together and from each address beyond loopback, and an end for all.
final class ConnectionCounts: Sendable {
    private struct Counts {
        var channels: [ObjectIdentifier: any Channel] = [:]
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

    var all: Int { counts.withLock { $0.channels.count } }

    /// Counts a connection until it is closed.
    ///
    /// - Returns: false where there are too many: it is not counted.
    func admit(_ channel: any Channel) -> Bool {
        let address = channel.remoteAddress.flatMap { $0.isLoopback ? nil : $0.ipAddress }
        let number = ObjectIdentifier(channel)
        guard take(channel, address) else { return false }
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

    /// Closes what is still open, whatever keeps it open: a body that pauses, a client that reads nothing, a handshake without an end.
    func closeAll() {
        for channel in counts.withLock({ Array($0.channels.values) }) {
            channel.eventLoop.execute {
                // The encryption would wait for the other side to say that it closes, too.
                let encryption = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
                if let encryption { encryption.close(promise: nil) } else { channel.close(promise: nil) }
            }
        }
    }

    private func take(_ channel: any Channel, _ address: String?) -> Bool {
        counts.withLock { counts in
            guard counts.channels.count < limits.connections else { return false }
            if let address, !counts.enter(address, limits.connectionsPerAddress) { return false }
            counts.channels[ObjectIdentifier(channel)] = channel
            return true
        }
    }

    private func giveBack(_ address: String?, _ number: ObjectIdentifier) {
        counts.withLock { counts in
            counts.channels[number] = nil
            if counts.exempt.remove(number) == nil, let address { counts.leave(address) }
        }
    }
}
