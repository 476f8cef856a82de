import Datasets
import HTTPTypes
import NIOCore
import Wire

/// What a request's head says, as the door needs it.
struct RequestHead: Sendable {
    let method: HTTPRequest.Method
    /// Decoded levels of the path, without the first slash.
    let path: [String]
    let query: [(name: String, value: String)]
    let host: String?
    let fields: HTTPFields
    /// Path and query, fit to be sent on.
    let target: String
    /// The caller's connection is encrypted.
    let isEncrypted: Bool
    /// The caller is on this machine, or another node says so of its own.
    let isFromLoopback: Bool
    /// Another node has sent it on.
    let isForwarded: Bool

    /// - Parameters:
    ///   - address: Of the connected peer.
    ///   - forwarding: Knows what other nodes say of callers.
    init(
        _ request: HTTPRequest, from address: SocketAddress?, isEncrypted: Bool, forwarding: Forwarding? = nil
    ) throws(HTTPRefusal) {
        method = request.method
        host = request.authority
        fields = request.headerFields
        let target = request.path ?? "/"
        self.target = forwarding == nil ? target : ForwardedTarget.encode(target)
        let origin = forwarding?.origin(fields[.geomatchForwarded], method.rawValue, target, host: host ?? "")
        self.isEncrypted = origin?.isEncrypted ?? isEncrypted
        isFromLoopback = origin?.isFromLoopback ?? address?.isLoopback ?? false
        isForwarded = origin != nil
        let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.utf8.endIndex
        guard target.utf8.first == UInt8(ascii: "/"), let path = PercentCoding.levels(of: target.utf8[..<end].dropFirst()) else {
            throw .invalid("the path cannot be read: it begins with a slash, and what is percent-encoded is UTF-8")
        }
        self.path = path
        guard let query = PercentCoding.query(target.utf8[end...].dropFirst()) else {
            throw .invalid("the query cannot be read: what is percent-encoded is UTF-8, and there are at most 100 parameters")
        }
        self.query = query
    }

    func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Refuses parameters that say nothing at this path: one that is mistyped would have the request mean something else.
    ///
    /// - Parameters:
    ///   - names: Beside those that say who asks.
    ///   - note: What to do instead.
    func allowParameters(_ names: [String] = [], note: String = "") throws(HTTPRefusal) {
        let known = names + ["client", "key"]
        guard let unknown = query.first(where: { !known.contains($0.name) })?.name else { return }
        let shown = unknown.beginning(64)
        let advice = Nearness.advice(on: unknown, of: known, else: "it takes")
        throw .invalid("`\(shown)` is no query parameter of this path\(note); \(advice)", field: shown)
    }

    subscript(name: String) -> String? { HTTPField.Name(name).flatMap { fields[$0] } }

    /// The name a trusted client gives itself.
    var client: String? { parameter("client") ?? fields[.geomatchClient] }

    /// The subprotocols that a WebSocket's client offers.
    var offeredProtocols: [String] {
        (self["Sec-WebSocket-Protocol"] ?? "").split(separator: ",").map { $0.filter { !$0.isWhitespace } }
    }

    /// The address of the client of a proxy before us: the last that the proxy names.
    var forwardedAddress: String? {
        let last = self["X-Forwarded-For"]?.split(separator: ",").last?.filter { !$0.isWhitespace }
        return last.flatMap { $0.isEmpty ? nil : String($0.prefix(64)) }
    }

    /// A key, and the name that came with it.
    var credentials: (key: String, user: String?)? {
        if let authorization = fields[.authorization] {
            let parts = authorization.split(separator: " ", maxSplits: 1).map(String.init)
            let scheme = parts.first?.lowercased()
            guard parts.count == 2 else { return ("", nil) }
            if scheme == "bearer" { return (parts[1], nil) }
            if scheme == "basic" { return Base64Text.basic(parts[1]) ?? ("", nil) }
            return ("", nil)
        }
        if let key = fields[.apiKey] { return (key, nil) }
        guard let key = parameter("key"), !isCouchKey(key) else { return nil }
        return (key, nil)
    }

    /// `key` is a document's id in JSON to CouchDB's clients, and no credential.
    private func isCouchKey(_ value: String) -> Bool {
        path.first == "couch" && (path.last == "_all_docs" || value.hasPrefix("\""))
    }

    var origin: String? { fields[.origin] }

    /// The page that asks is of another site, as browsers say it.
    var isFromOtherSite: Bool {
        guard let site = fields[.secFetchSite]?.lowercased() else { return false }
        return site != "same-origin" && site != "none"
    }

    func isSameOrigin(_ origin: String) -> Bool {
        guard let host = host?.lowercased() else { return false }
        let origin = origin.lowercased()
        // Programs that speak MQTT send `https` over plain connections, too: there host and port say enough.
        if path == ["mqtt"], let named = Self.place(ofOrigin: origin) {
            return named == Self.place(host, isEncrypted: isEncrypted)
        }
        return origin == "\(isEncrypted ? "https" : "http")://\(host)"
    }

    /// `HOST:PORT`
    private static func place(ofOrigin origin: String) -> String? {
        for (scheme, isEncrypted) in [("https://", true), ("http://", false)] where origin.hasPrefix(scheme) {
            return place(String(origin.dropFirst(scheme.count)), isEncrypted: isEncrypted)
        }
        return nil
    }

    private static func place(_ host: String, isEncrypted: Bool) -> String {
        let hasPort = host.lastIndex(of: ":").map { !host[$0...].contains("]") } ?? false
        return hasPort ? host : "\(host):\(isEncrypted ? 443 : 80)"
    }

    /// The host is a name of this machine that nobody else can give an address to.
    var isForLoopbackHost: Bool {
        guard let host else { return false }
        var name = Substring(host)
        if name.hasPrefix("[") {
            name = name.dropFirst().prefix { $0 != "]" }
        } else if let colon = name.lastIndex(of: ":") {
            name = name[..<colon]
        }
        return Loopback.isName(String(name))
    }
}

/// Names and addresses of this machine.
enum Loopback {
    /// `localhost`, `127.0.0.1` and its like, `::1`.
    static func isName(_ name: String) -> Bool {
        if name.lowercased() == "localhost" || name == "::1" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in
                (1...3).contains(part.utf8.count) && part.utf8.allSatisfy { (48...57).contains($0) } && UInt8(part) != nil
            }
    }
}

extension SocketAddress {
    /// `127.0.0.0/8`, also as IPv6 has it, and `::1`.
    var isLoopback: Bool {
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { $0[0] == 127 }
        case .v6(let address):
            withUnsafeBytes(of: address.address.sin6_addr) { bytes in
                let isV4 = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255
                return isV4 ? bytes[12] == 127 : bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] == 1
            }
        case .unixDomainSocket: false
        }
    }
}

/// Text in the base 64 of RFC 4648 section 4.
enum Base64Text {
    /// The user and the password of `Authorization: Basic`.
    static func basic(_ text: String) -> (key: String, user: String?)? {
        guard let bytes = Base64URL.decode(text), let text = String(validating: bytes, as: UTF8.self),
            let colon = text.firstIndex(of: ":")
        else { return nil }
        return (String(text[text.index(after: colon)...]), String(text[..<colon]))
    }

    /// With padding.
    static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes).replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }
}
