import Crypto
import Datasets
import Glibc
import Wire

/// Makes keys: JSON Web Tokens (RFC 7519) with ES256.
///
/// Nothing is read from a token that comes in: it is looked up by its digest, so that no signature, algorithm or clock of another's
/// can make one that was not made here.
public struct KeySigner: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private let key: P256.Signing.PrivateKey

    init(_ key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()) { self.key = key }

    /// - Parameter path: A PEM file, made for its owner only where it is missing.
    public init(file path: String) throws(Failure) {
        if let text = try Self.read(path) {
            guard let key = try? P256.Signing.PrivateKey(pemRepresentation: text) else {
                throw Failure(description: "\(path) is no P-256 key in PEM: remove it, and a new one is made")
            }
            self.init(key)
        } else {
            self.init()
            try Self.write(key.pemRepresentation, to: path)
        }
    }

    /// nil where there is no such file.
    private static func read(_ path: String) throws(Failure) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw failure(path, "read") }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count >= 0 else { throw failure(path, "read") }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// Whole or not at all.
    private static func write(_ text: String, to path: String) throws(Failure) {
        let draft = path + ".new"
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw failure(path, "written") }
        defer { close(file) }
        let bytes = Array((text + "\n").utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0, rename(draft, path) == 0 else {
            throw failure(path, "written")
        }
    }

    private static func failure(_ path: String, _ done: String) -> Failure {
        Failure(description: "\(path) cannot be \(done) (\(String(cString: strerror(errno))))")
    }

    public func sign(_ claims: KeyClaims) -> SignedKey {
        let signed = Base64URL.encode(Array(#"{"alg":"ES256","typ":"JWT"}"#.utf8)) + "." + Base64URL.encode(Self.payload(claims))
        // Without a signature the text could be guessed: no such key may leave.
        guard let signature = try? key.signature(for: Array(signed.utf8)) else {
            preconditionFailure("a private key of P-256 signs every text")
        }
        let text = signed + "." + Base64URL.encode(Array(signature.rawRepresentation))
        return SignedKey(text: text, digest: Self.digest(of: text))
    }

    static func digest(of key: String) -> [UInt8] { Array(SHA256.hash(data: Array(key.utf8))) }

    /// Old clients decode it as plain base 64. Of ASCII only `>`, `?`, `~` and DEL bring a `-` or `_` into the other alphabet, and no
    /// name or id here has those.
    private static func payload(_ claims: KeyClaims) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("sub", claims.dataset)
            writer.member("client", claims.client)
            writer.member("jti", claims.id)
            writer.member("iat", claims.createdAt / 1000)
            writer.member("exp", optional: claims.expiresAt.map { ($0 + 999) / 1000 })
        }
    }
}
