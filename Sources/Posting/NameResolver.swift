import Datasets
import Dispatch
import Glibc
import Synchronization

/// What names lead to, looked up by the system and remembered for a while.
///
/// Of several posts to one name one lookup runs; each runs on a thread of its own, as the system's call blocks.
package final class NameResolver: Sendable {
    /// All addresses of a name, in the order in which they are to be tried; none where it cannot be resolved.
    package typealias Lookup = @Sendable (_ name: String) -> [IPAddress]

    private struct Entry {
        var addresses: [IPAddress] = []
        var validUntil: ContinuousClock.Instant?
        var waiting: [@Sendable ([IPAddress]) -> Void] = []
    }

    private let lookup: Lookup
    private let entries = Mutex<[String: Entry]>([:])
    private let queue = DispatchQueue(label: "resolver", attributes: .concurrent)
    private static let remembered = Duration.seconds(10)
    private static let namesMaximum = 4096

    package init(lookup: @escaping Lookup = NameResolver.system) { self.lookup = lookup }

    /// Calls `body` with the addresses, at once or from another thread.
    package func resolve(_ name: String, _ body: @escaping @Sendable ([IPAddress]) -> Void) {
        let now = ContinuousClock.now
        let (known, isFirst) = entries.withLock { entries -> ([IPAddress]?, Bool) in
            if entries.count >= Self.namesMaximum, entries[name] == nil {
                entries = entries.filter { !$0.value.waiting.isEmpty || $0.value.validUntil.map { $0 > now } ?? false }
            }
            var entry = entries[name] ?? Entry()
            if let validUntil = entry.validUntil, validUntil > now { return (entry.addresses, false) }
            entry.waiting.append(body)
            entries[name] = entry
            return (nil, entry.waiting.count == 1)
        }
        if let known { return body(known) }
        guard isFirst else { return }
        queue.async {
            let addresses = self.lookup(name)
            let waiting = self.entries.withLock { entries in
                let waiting = entries[name]?.waiting ?? []
                // What cannot be resolved may be the next moment.
                entries[name] =
                    addresses.isEmpty ? nil : Entry(addresses: addresses, validUntil: .now + Self.remembered)
                return waiting
            }
            for body in waiting { body(addresses) }
        }
    }

    /// An address of a name did not answer: the next one comes first now.
    package func failed(_ address: IPAddress, of name: String) {
        entries.withLock { entries in
            guard let addresses = entries[name]?.addresses, addresses.count > 1, addresses.first == address else { return }
            entries[name]?.addresses = Array(addresses.dropFirst()) + [address]
        }
    }

    package static let system: Lookup = { name in
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var found: [IPAddress] = []
        var next = list
        while let entry = next {
            if let address = IPAddress(socket: entry.pointee.ai_addr), !found.contains(address) { found.append(address) }
            next = entry.pointee.ai_next
        }
        return found
    }
}

extension IPAddress {
    /// - Returns: nil for other families.
    package init?(socket: UnsafeMutablePointer<sockaddr>?) {
        guard let socket else { return nil }
        switch Int32(socket.pointee.sa_family) {
        case AF_INET:
            let address = UnsafeRawPointer(socket).loadUnaligned(as: sockaddr_in.self).sin_addr
            self.init(bytes: withUnsafeBytes(of: address) { Array($0) })
        case AF_INET6:
            let address = UnsafeRawPointer(socket).loadUnaligned(as: sockaddr_in6.self).sin6_addr
            self.init(bytes: withUnsafeBytes(of: address) { Array($0) })
        default: return nil
        }
    }
}
