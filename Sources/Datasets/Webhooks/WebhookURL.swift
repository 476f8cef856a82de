import Wire

/// The address of a webhook, parsed once so that nothing behind it has to guess: `http://host:port/path?query`.
public struct WebhookURL: Hashable, Sendable {
    /// Plain or encrypted.
    public enum Scheme: String, Sendable {
        case http
        case https

        public var defaultPort: Int { self == .http ? 80 : 443 }
    }

    /// A name to be looked up, or an address.
    public enum Host: Hashable, Sendable {
        /// In lower case, ASCII.
        case name(String)
        case address(IPAddress)
    }

    /// Bytes of a URL at most.
    public static let lengthMaximum = 2048

    /// As it was given.
    public let text: String
    public let scheme: Scheme
    public let host: Host
    /// 1…65535
    public let port: Int
    /// Path and query, percent-encoded, beginning with `/`.
    public let target: String

    /// - Throws: `invalid`, naming the rule and the value; `field` is put into the error.
    public init(_ text: String, field: String? = nil) throws(WireError) {
        do throws(Fault) {
            try self.init(parsing: text)
        } catch {
            // Before an @ there may be a password.
            let shown = text.utf8.contains(UInt8(ascii: "@")) ? "" : "; got \"\(text.prefix(100))\""
            throw WireError(.invalid, "a webhook is http://host[:port][/path] or https://…: \(error.rule)\(shown)", field: field)
        }
    }

    /// What shares a connection, and a fate: `https://example.com:443`. Spellings of one host are one origin.
    public var origin: String { "\(scheme.rawValue)://\(authorityHost):\(port)" }

    /// The URL to connect to: with the host in its one normal spelling.
    public var normalized: String { origin + target }

    /// The host as it is written in a URL.
    private var authorityHost: String {
        switch host {
        case .name(let name): name
        case .address(.v4(let number)): "\(IPAddress.v4(number))"
        case .address(let address): "[\(address)]"
        }
    }
}

extension WebhookURL {
    fileprivate struct Fault: Error {
        var rule: String

        init(_ rule: String) { self.rule = rule }
    }

    private init(parsing text: String) throws(Fault) {
        guard text.utf8.count <= Self.lengthMaximum else { throw Fault("at most \(Self.lengthMaximum) bytes") }
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), let scheme = Scheme(rawValue: text[..<colon].lowercased()),
            text[text.utf8.index(after: colon)...].utf8.starts(with: "//".utf8)
        else { throw Fault("it begins with http:// or https://") }
        let rest = text[text.utf8.index(colon, offsetBy: 3)...]
        let end = rest.utf8.firstIndex { Self.endsAuthority.contains($0) } ?? rest.endIndex
        let authority = rest[..<end]
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw Fault("no user name or password; a secret signs instead")
        }
        (host, port) = try Self.parse(authority: authority, scheme: scheme)
        target = try Self.parse(target: rest[end...])
        self.text = text
        self.scheme = scheme
    }

    private static let endsAuthority = Set("/?#\\".utf8)

    // MARK: Host and port

    private static func parse(authority: Substring, scheme: Scheme) throws(Fault) -> (Host, Int) {
        if authority.utf8.first == UInt8(ascii: "[") {
            guard let bracket = authority.utf8.firstIndex(of: UInt8(ascii: "]")) else { throw Fault("[ without ]") }
            let inside = authority[authority.utf8.index(after: authority.startIndex)..<bracket]
            guard let address = IPAddress(v6: inside) else { throw Fault("brackets hold an IPv6 address, without a zone") }
            let rest = authority[authority.utf8.index(after: bracket)...]
            guard rest.isEmpty || rest.utf8.first == UInt8(ascii: ":") else { throw Fault("after ] comes only a port") }
            return (.address(address), try parse(port: rest.dropFirst(), scheme: scheme))
        }
        let colon = authority.utf8.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
        let port = try parse(port: authority[colon...].dropFirst(), scheme: scheme)
        return (try parse(host: authority[..<colon]), port)
    }

    private static func parse(port digits: Substring, scheme: Scheme) throws(Fault) -> Int {
        if digits.isEmpty { return scheme.defaultPort }
        guard digits.utf8.count <= 5, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = Int(digits), (1...65535).contains(port)
        else { throw Fault("the port is a number from 1 to 65535") }
        return port
    }

    private static func parse(host: Substring) throws(Fault) -> Host {
        guard !host.isEmpty else { throw Fault("it names a host") }
        guard host.utf8.allSatisfy(isHostByte) else {
            throw Fault("a host is made of letters, digits, . _ and -; names in other scripts are written as xn--…")
        }
        var name = host.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard name.utf8.count <= 253, labels.allSatisfy({ (1...63).contains($0.count) }) else {
            throw Fault("a host has at most 253 bytes, and 1 to 63 between two dots")
        }
        guard IPAddress.isNumeric(host: name) else { return .name(name) }
        guard let address = IPAddress(v4: name) else { throw Fault("a host that ends in a number is an IPv4 address") }
        return .address(address)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    // MARK: Path and query

    private static func parse(target: Substring) throws(Fault) -> String {
        var bytes = target.utf8[...]
        while let byte = bytes.popFirst() {
            if byte == UInt8(ascii: "#") { throw Fault("no fragment (#…)") }
            guard byte > 0x20, byte < 0x7F, !forbidden.contains(byte) else {
                throw Fault("in path and query, spaces and other special characters are percent-encoded")
            }
            if byte == UInt8(ascii: "%") {
                guard bytes.prefix(2).count == 2, bytes.prefix(2).allSatisfy(isHexDigit) else {
                    throw Fault("% is followed by two hex digits")
                }
            }
        }
        return target.utf8.first == UInt8(ascii: "/") ? String(target) : "/" + target
    }

    /// What RFC 3986 allows nowhere in a URL.
    private static let forbidden = Set(#""<>\^`{|}"#.utf8)

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
