import AsyncHTTPClient
import Crypto
import Datasets
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// How a node of a cluster answers for the datasets of all nodes: what another node owns is forwarded to it.
public final class Forwarding: Sendable {
    /// Where a dataset is served.
    public enum Owner: Sendable {
        case here(HTTPDoor)
        /// `http[s]://HOST:PORT` of the owner.
        case elsewhere(String)
        /// Nobody can answer at present; the text says why.
        case unavailable(String)
    }

    private let owner: @Sendable (_ dataset: String) async -> Owner
    /// Has it found out soon who owns what.
    let lookAgain: @Sendable () -> Void
    /// The doors of the datasets that this node serves.
    let doors: @Sendable () -> [HTTPDoor]
    private let secret: SymmetricKey
    /// Connections over which answers of other nodes come that have no end.
    private let endless = Mutex<[ObjectIdentifier: any Channel]>([:])
    let client: HTTPClient
    private let certificate: HTTPCertificate?

    /// - Parameters:
    ///   - secret: Known to the nodes of the cluster only.
    ///   - certificate: Of the nodes, which is trusted as it is by then; nil: what the system trusts only.
    ///   - owner: May wait for a moment until a dataset that moves has an owner.
    ///   - lookAgain: What is known of owners may be wrong.
    ///   - doors: Those of the datasets that are served here.
    public init(
        secret: String, certificate: HTTPCertificate?, owner: @escaping @Sendable (_ dataset: String) async -> Owner,
        lookAgain: @escaping @Sendable () -> Void = {}, doors: @escaping @Sendable () -> [HTTPDoor]
    ) {
        self.secret = SymmetricKey(data: SHA256.hash(data: Array(secret.utf8)))
        self.owner = owner
        self.lookAgain = lookAgain
        self.doors = doors
        self.certificate = certificate
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            // An event stream shows a sign of life each 15 s, and a request is answered within a minute.
            timeout: .init(connect: .seconds(2), read: .seconds(75)), decompression: .disabled)
        // Below the time after which the other node closes a connection without requests.
        configuration.connectionPool.idleTimeout = .seconds(30)
        // Each stream has one; how many there are is bounded where clients connect.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 65_536
        // The caller repeats it, and the dataset may have another owner by then.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        client = HTTPClient(eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    }

    deinit {
        // It asks for that, and lives until it is done.
        client.shutdown { [client] _ in withExtendedLifetime(client) {} }
    }

    /// How a connection to another node is encrypted.
    var tls: TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let certificate { tls.additionalTrustRoots = [.certificates(certificate.chain)] }
        return tls
    }

    func owner(of dataset: String) async -> Owner { await owner(dataset) }

    /// The channel carries an answer without an end: it is closed where the node ends.
    func noteEndless(_ channel: any Channel) {
        endless.withLock { $0[ObjectIdentifier(channel)] = channel }
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.endless.withLock { $0[ObjectIdentifier(channel)] = nil }
        }
    }

    func endStreams() {
        for channel in endless.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }

    // MARK: The mark

    /// What a node says about the caller of a request that it forwards.
    struct Origin: Equatable, Sendable {
        /// The first node trusts the caller's address.
        var isFromLoopback: Bool
        /// The caller's connection to the first node is encrypted.
        var isEncrypted: Bool
    }

    /// The field of a forwarded request that says where it came from, signed for this request and the address of the next node.
    ///
    /// It has no end: the clocks of two nodes may differ by any time. Only nodes see it, and it is good for nothing but the same request.
    static let field = "Geomatch-Forwarded"

    /// The field of an answer that says that the node has not got the dataset: the request was not carried out.
    static let movedField = "Geomatch-Moved"

    func mark(_ origin: Origin, _ method: String, _ target: String, host: String) -> String {
        let text = "\(origin.isFromLoopback ? "loopback" : "remote") \(origin.isEncrypted ? "https" : "http")"
        let code = HMAC<SHA256>.authenticationCode(for: Self.signed(text, method, target, host), using: secret)
        return "\(text) \(Base64Text.encode(Array(code)))"
    }

    /// What a node says about the caller; nil where no node of the cluster forwarded the request.
    func origin(_ mark: String?, _ method: String, _ target: String, host: String) -> Origin? {
        guard let parts = mark?.split(separator: " ", maxSplits: 2), parts.count == 3,
            let code = Base64URL.decode(String(parts[2]))
        else { return nil }
        let text = parts[..<2].joined(separator: " ")
        let signed = Self.signed(text, method, target, host)
        guard HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: secret) else { return nil }
        return Origin(isFromLoopback: parts[0] == "loopback", isEncrypted: parts[1] == "https")
    }

    private static func signed(_ text: String, _ method: String, _ target: String, _ host: String) -> [UInt8] {
        Array("\(text)\n\(method)\n\(target)\n\(host)".utf8)
    }
}

/// The target of a request as a client of ours sends it on: what may be in no URL is percent-encoded, which means the same.
enum ForwardedTarget {
    static func encode(_ target: String) -> String {
        let bytes = Array(target.utf8)
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            let isCode = byte == UInt8(ascii: "%") && bytes[(index + 1)...].prefix(2).filter(isHexDigit).count == 2
            if isCode || isAllowed(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...70).contains(byte) || (97...102).contains(byte)
    }

    /// Source: RFC 3986, section 3.3 and 3.4, without what some readers of URLs do not take.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~!$&'()*+,;=:@/?".utf8.contains(byte)
        }
    }
}
