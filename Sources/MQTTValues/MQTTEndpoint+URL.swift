extension MQTTEndpoint {
    /// Reads `[mqtt[s]://][user[:password]@]host[:port][,host[:port]…][/]`; without a scheme it is `mqtt`, and `tcp://` means the same.
    ///
    /// User, password and hosts are percent-decoded. IPv6 addresses are in brackets. Without a port it is 1883, with
    /// `mqtts` 8883. The last `@` ends the credentials, so that one within a password does no harm.
    ///
    /// - Throws: ``MQTTEndpointError`` naming what is wrong, never with the password.
    public init(url: String) throws(MQTTEndpointError) {
        let (encrypted, rest) = try Self.scheme(of: url)
        var address = rest
        var username: String?
        var password: String?
        if let at = rest.lastIndex(of: "@") {
            let credentials = rest[..<at]
            address = rest[rest.index(after: at)...]
            let colon = credentials.firstIndex(of: ":")
            username = try Self.decoded(credentials[..<(colon ?? credentials.endIndex)], part: "user")
            if let colon {
                password = try Self.decoded(credentials[credentials.index(after: colon)...], part: "password")
            }
            if username == "" && password == nil { username = nil }
        }
        var hosts: [Host] = []
        do throws(MQTTEndpointError) {
            for part in try Self.withoutSlash(address).split(separator: ",", omittingEmptySubsequences: false) {
                hosts.append(try Self.host(of: part, defaultPort: encrypted ? 8883 : 1883))
            }
        } catch {
            // Without an @ this may be a user and a password whose host was forgotten.
            throw rest.contains("@") ? error : error.withoutWhatWasRead
        }
        self.init(host: hosts[0].name, port: hosts[0].port, username: username, password: password, tls: encrypted ? TLS() : nil)
        otherHosts = Array(hosts.dropFirst())
    }

    private static func scheme(of url: String) throws(MQTTEndpointError) -> (Bool, Substring) {
        for (prefix, encrypted) in [("mqtts://", true), ("mqtt://", false), ("tcp://", false)]
        where url.prefix(prefix.count).lowercased() == prefix {
            return (encrypted, url.dropFirst(prefix.count))
        }
        // Only the text before "://" is shown: behind it there may be a password.
        guard let end = url.firstRange(of: "://")?.lowerBound else { return (false, url[...]) }
        let shown = url[..<end]
        throw .scheme(shown.contains("@") || shown.contains(":") ? "" : String(shown.prefix(32)))
    }

    private static func withoutSlash(_ address: Substring) throws(MQTTEndpointError) -> Substring {
        guard let end = address.firstIndex(where: { $0 == "/" || $0 == "?" || $0 == "#" }) else { return address }
        let trailing = address[end...]
        guard trailing == "/" else { throw .trailing(String(trailing.prefix(64))) }
        return address[..<end]
    }

    private static func host(of address: Substring, defaultPort: Int) throws(MQTTEndpointError) -> Host {
        let host: Substring
        let port: Substring?
        if address.first == "[" {
            guard let close = address.firstIndex(of: "]") else { throw .host(String(address.prefix(64))) }
            host = address[address.index(after: address.startIndex)..<close]
            let behind = address[address.index(after: close)...]
            guard behind.isEmpty || behind.first == ":" else { throw .host(String(address.prefix(64))) }
            guard host.contains(":") else { throw .host(String(address.prefix(64))) }
            port = behind.isEmpty ? nil : behind.dropFirst()
        } else {
            let colon = address.firstIndex(of: ":")
            host = address[..<(colon ?? address.endIndex)]
            port = colon.map { address[address.index(after: $0)...] }
            guard port?.contains(":") != true else { throw .host(String(address.prefix(64))) }
        }
        guard !host.isEmpty else { throw .hostMissing }
        let name = try decoded(host, part: "host")
        guard !name.utf8.contains(where: { $0 == 0x20 || $0 == UInt8(ascii: "/") }) else {
            throw .host(String(address.prefix(64)))
        }
        guard let port else { return Host(name: name, port: defaultPort) }
        guard port.utf8.count <= 5, port.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(port),
            (1...65535).contains(number)
        else { throw .port(String(port.prefix(16))) }
        return Host(name: name, port: number)
    }

    private static func decoded(_ text: Substring, part: String) throws(MQTTEndpointError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
                throw .encoding(part: part)
            }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else { throw .encoding(part: part) }
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .character(part: part) }
        return decoded
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension MQTTEndpointError {
    /// The same, where what was read may be a password: short numbers are shown all the same, as ports.
    fileprivate var withoutWhatWasRead: MQTTEndpointError {
        switch self {
        case .port(let read) where read.utf8.count > 5 || !read.utf8.allSatisfy({ (48...57).contains($0) }): .port("…")
        case .host(let read) where read.contains(":"): .host("…")
        case .trailing: .trailing("…")
        default: self
        }
    }
}
