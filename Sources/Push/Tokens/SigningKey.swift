import Crypto
import CryptoExtras
import Datasets
import Foundation
import Wire

/// What signs tokens (RFC 7515, compact).
enum SigningKey {
    case es256(P256.Signing.PrivateKey)
    case rs256(_RSA.Signing.PrivateKey)

    private var algorithm: String {
        switch self {
        case .es256: "ES256"
        case .rs256: "RS256"
        }
    }

    /// - Parameters:
    ///   - keyID: `kid`, where there is one.
    ///   - claims: In order.
    func sign(type: String? = "JWT", keyID: String?, _ claims: [(name: String, value: JSONValue)]) throws -> String {
        let header = JSONWriter.object { writer in
            writer.member("alg", algorithm)
            writer.member("kid", optional: keyID)
            writer.member("typ", optional: type)
        }
        let body = JSONWriter.object { writer in
            for claim in claims {
                writer.key(claim.name)
                writer.value(claim.value)
            }
        }
        let text = "\(Base64URL.encode(header)).\(Base64URL.encode(body))"
        return "\(text).\(Base64URL.encode(try signature(of: Array(text.utf8))))"
    }

    private func signature(of bytes: [UInt8]) throws -> [UInt8] {
        switch self {
        case .es256(let key): Array(try key.signature(for: bytes).rawRepresentation)
        case .rs256(let key): Array(try key.signature(for: bytes, padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }
}
