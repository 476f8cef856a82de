import Crypto
import Foundation

/// Message encryption for Web Push, RFC 8291.
enum WebPushEncryption {
    /// Bytes of a message at most, so that it fits into what each push service takes: 4096 bytes with all headers.
    static let messageBytesMax = 3993
    private static let recordSize: UInt32 = 4096

    /// - Parameters:
    ///   - receiver: The browser's public key, 65 bytes.
    ///   - secret: The browser's authentication secret, 16 bytes.
    ///   - sender: Used for one message only.
    ///   - salt: 16 random bytes.
    static func encrypt(
        _ message: [UInt8], for receiver: [UInt8], secret: [UInt8], sender: P256.KeyAgreement.PrivateKey = ephemeralKey(),
        salt: [UInt8] = random(count: 16)
    ) throws -> [UInt8] {
        let publicKey = Array(sender.publicKey.x963Representation)
        return try EncryptedContent.encode(
            [EncryptedContent.Record(text: message)],
            inputKey: inputKey(for: receiver, secret: secret, sender: sender, publicKey: publicKey), salt: salt,
            recordSize: recordSize, keyID: publicKey)
    }

    /// Section 3.4: of the shared secret and the authentication secret.
    ///
    /// - Parameter publicKey: The sender's, 65 bytes.
    static func inputKey(
        for receiver: [UInt8], secret: [UInt8], sender: P256.KeyAgreement.PrivateKey, publicKey: [UInt8]
    ) throws -> SymmetricKey {
        let shared = try sender.sharedSecretFromKeyAgreement(with: P256.KeyAgreement.PublicKey(x963Representation: receiver))
        let info = Array("WebPush: info\0".utf8) + receiver + publicKey
        return shared.hkdfDerivedSymmetricKey(using: SHA256.self, salt: secret, sharedInfo: info, outputByteCount: 32)
    }

    /// A key for one message: a number below the order of the curve, all equally likely (FIPS 186-4, B.4.2).
    ///
    /// `P256.KeyAgreement.PrivateKey()` signs and verifies with each key that it makes, and then throws half of them away as they have no
    /// compact form: both costs more than all the rest of a message's encryption, and nothing here needs either.
    static func ephemeralKey() -> P256.KeyAgreement.PrivateKey {
        while true {
            // One in 2³² is too large.
            if let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: random(count: 32)) { return key }
        }
    }

    /// - Parameter count: A multiple of eight.
    static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        for _ in 0..<count / 8 { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        return bytes
    }
}
