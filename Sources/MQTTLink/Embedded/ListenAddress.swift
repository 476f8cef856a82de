import Glibc

/// An address to listen on: whether it is free, and whether somebody accepts there.
struct ListenAddress: CustomStringConvertible {
    var host: String
    var port: Int

    /// `host:port`, as `--listen` has it.
    var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Tries to take the address as mosquitto will, and lets it go again.
    func checkFree() throws(EmbeddedBrokerError) {
        let address = description
        let port = self.port
        var failure: EmbeddedBrokerError?
        let code = each(passive: true) { info in
            let descriptor = socket(info.ai_family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            var yes: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size)
            if info.ai_family == AF_INET6 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, size) }
            guard bind(descriptor, info.ai_addr, info.ai_addrlen) != 0 || listen(descriptor, 1) != 0 else { return false }
            failure =
                errno == EADDRINUSE
                ? .portTaken(address: address, holder: PortHolder.describe(port: port))
                : .addressNotAvailable(address: address, reason: String(cString: strerror(errno)))
            return true
        }
        if let failure { throw failure }
        if code != 0 { throw .addressNotAvailable(address: address, reason: String(cString: gai_strerror(code))) }
    }

    var accepts: Bool {
        var accepted = false
        _ = each(passive: false) { info in
            accepted = Self.connects(info.ai_family, info.ai_addr, info.ai_addrlen)
            return accepted
        }
        return accepted
    }

    static func accepts(socketPath: String) -> Bool {
        guard let descriptor = connected(socketPath: socketPath) else { return false }
        close(descriptor)
        return true
    }

    /// A connection to a unix-domain listener, for the caller to close.
    static func connected(socketPath: String) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard socketPath.utf8.count < place.count else { return false }
            place.copyBytes(from: socketPath.utf8)
            return true
        }
        guard fits else { return nil }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    private static func connects(_ family: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Bool {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return connect(descriptor, address, size) == 0
    }

    /// Calls `body` for each address of the listener until it returns true; the resolver's code where there is none.
    private func each(passive: Bool, _ body: (addrinfo) -> Bool) -> Int32 {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = passive ? AI_PASSIVE : 0
        // "Every address" is no address to connect to; the loopback one is among them.
        let anywhere = ["0.0.0.0": "127.0.0.1", "::": "::1"]
        let host = passive ? self.host : anywhere[self.host] ?? self.host
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else { return code }
        defer { freeaddrinfo(list) }
        var next = list
        while let entry = next {
            if body(entry.pointee) { break }
            next = entry.pointee.ai_next
        }
        return 0
    }
}
