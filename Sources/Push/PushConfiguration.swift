import Crypto
import CryptoExtras
import Datasets
import Foundation
import NIOSSL
import Wire

/// What an operator has set up, with its keys read.
public struct PushConfiguration: Sendable {
    public struct APNs: Sendable {
        var address: WebhookURL
        /// Before Apple's own.
        var path: String
        var teamID: String
        var keyID: String
        var topic: String
        var key: P256.Signing.PrivateKey

        /// - Parameters:
        ///   - keyFile: As Apple hands it out: `AuthKey_….p8`.
        ///   - url: nil: Apple's.
        public init(
            teamID: String, keyID: String, keyFile: String, topic: String, isSandbox: Bool, url: String? = nil
        ) throws(PushConfigurationError) {
            let text = try readText(keyFile, key: "push.apns.key-file")
            guard let key = try? P256.Signing.PrivateKey(pemRepresentation: text) else {
                throw PushConfigurationError(
                    "push.apns.key-file", "\(keyFile) holds no private key of P-256 as Apple hands it out (.p8)")
            }
            self.key = key
            (self.teamID, self.keyID, self.topic) = (teamID, keyID, topic)
            let url = url ?? (isSandbox ? "https://api.sandbox.push.apple.com" : "https://api.push.apple.com")
            guard let address = try? WebhookURL(url), address.scheme == .https else {
                throw PushConfigurationError("push.apns.url", "\(url) is not https://HOST[:PORT]")
            }
            (self.address, path) = (address, trimmed(address.target))
        }
    }

    public struct FCM: Sendable {
        var url: String
        var tokenURL: String
        var projectID: String
        var email: String
        var keyID: String?
        var key: _RSA.Signing.PrivateKey

        /// - Parameters:
        ///   - serviceAccountFile: JSON, as Google hands it out.
        ///   - url: nil: Google's.
        ///   - tokenURL: nil: the one in the file.
        public init(
            serviceAccountFile: String, url: String? = nil, tokenURL: String? = nil
        ) throws(PushConfigurationError) {
            let name = "push.fcm.service-account-file"
            let text = try readText(serviceAccountFile, key: name)
            guard let account = (try? JSONValue.parse(text))?.asObject, let project = account["project_id"]?.asString,
                let email = account["client_email"]?.asString, let pem = account["private_key"]?.asString
            else {
                throw PushConfigurationError(
                    name, "\(serviceAccountFile) is no service account: JSON with project_id, client_email and private_key")
            }
            guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem) else {
                throw PushConfigurationError(name, "the private_key in \(serviceAccountFile) is no RSA key")
            }
            let isWord = project.utf8.allSatisfy {
                ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z")
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":")
            }
            guard !project.isEmpty, isWord else { throw PushConfigurationError(name, "its project_id is none") }
            self.key = key
            (projectID, self.email, keyID) = (project, email, account["private_key_id"]?.asString)
            self.url = trimmed(url ?? "https://fcm.googleapis.com")
            self.tokenURL = tokenURL ?? account["token_uri"]?.asString ?? "https://oauth2.googleapis.com/token"
        }
    }

    public struct Web: Sendable {
        var subject: String
        var key: P256.Signing.PrivateKey
        /// The uncompressed point, base64url: what browsers subscribe with.
        public var publicKey: String { Base64URL.encode(Array(key.publicKey.x963Representation)) }

        /// - Parameters:
        ///   - subject: `mailto:` or `https:`, where push services reach the operator.
        ///   - keyFile: A private key of P-256: PEM, or 32 bytes as base64url. Where there is none, one is made.
        public init(subject: String, keyFile: String) throws(PushConfigurationError) {
            self.subject = subject
            if !FileManager.default.fileExists(atPath: keyFile) { try Self.makeKey(keyFile) }
            let text = try readText(keyFile, key: "push.web.key-file")
            if let key = try? P256.Signing.PrivateKey(pemRepresentation: text) {
                self.key = key
            } else if let bytes = Base64URL.decode(String(text.filter { !$0.isWhitespace })), bytes.count == 32,
                let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
            {
                self.key = key
            } else {
                throw PushConfigurationError(
                    "push.web.key-file", "\(keyFile) holds no private key of P-256, as PEM or as 32 bytes in base64url")
            }
        }

        /// Nobody else may read it, from the beginning.
        private static func makeKey(_ path: String) throws(PushConfigurationError) {
            let text = P256.Signing.PrivateKey().pemRepresentation + "\n"
            guard
                FileManager.default.createFile(
                    atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
            else { throw PushConfigurationError("push.web.key-file", "\(path) is not there and cannot be made") }
        }
    }

    public var apns: APNs?
    public var fcm: FCM?
    public var web: Web?
    /// Trusted beside the system's.
    let certificates: [NIOSSLCertificate]

    /// - Parameter caFile: Certificates, PEM.
    public init(caFile: String? = nil) throws(PushConfigurationError) {
        guard let caFile else {
            certificates = []
            return
        }
        do {
            certificates = try NIOSSLCertificate.fromPEMFile(caFile)
        } catch {
            throw PushConfigurationError("push.ca-file", "\(caFile) holds no certificates (PEM)")
        }
        guard !certificates.isEmpty else { throw PushConfigurationError("push.ca-file", "\(caFile) holds no certificates (PEM)") }
    }

    /// What clients may name as pushers.
    public var offer: PushOffer {
        var offer = PushOffer()
        offer.apns = apns != nil
        offer.fcm = fcm != nil
        offer.webKey = web?.publicKey
        offer.isPublicKey = { (try? P256.KeyAgreement.PublicKey(x963Representation: $0)) != nil }
        return offer
    }

    var tls: TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        if !certificates.isEmpty { tls.additionalTrustRoots = [.certificates(certificates)] }
        return tls
    }
}

/// Why push cannot be set up: the key of the configuration, and what is wrong.
public struct PushConfigurationError: Error, Equatable, CustomStringConvertible {
    public var key: String
    public var problem: String

    init(_ key: String, _ problem: String) { (self.key, self.problem) = (key, problem) }

    public var description: String { "\(key): \(problem)" }
}

private func readText(_ path: String, key: String) throws(PushConfigurationError) -> String {
    guard let data = FileManager.default.contents(atPath: path), data.count <= 1 << 20,
        let text = String(bytes: data, encoding: .utf8)
    else { throw PushConfigurationError(key, "\(path) cannot be read: it is missing, not readable, or no text") }
    return text
}

private func trimmed(_ url: String) -> String { url.hasSuffix("/") ? String(url.dropLast()) : url }
