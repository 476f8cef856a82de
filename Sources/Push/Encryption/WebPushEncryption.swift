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
        _ message: [UInt8], for receiver: [UInt8], secret: [UInt8], sender: P256.KeyAgreement.PrivateKey = .init(),
        salt: [UInt8] = randomSalt()
    ) throws -> [UInt8] {
        let publicKey = Array(sender.publicKey.x963Representation)
        return try EncryptedContent.encode(
            [EncryptedContent.Record(text: message)], inputKey: inputKey(for: receiver, secret: secret, sender: sender),
            salt: salt,
            recordSize: recordSize, keyID: publicKey)
    }

    /// Section 3.4: of the shared secret and the authentication secret.
    static func inputKey(
        for receiver: [UInt8], secret: [UInt8], sender: P256.KeyAgreement.PrivateKey
    ) throws -> SymmetricKey {
        let shared = try sender.sharedSecretFromKeyAgreement(with: P256.KeyAgreement.PublicKey(x963Representation: receiver))
        let info = Array("WebPush: info\0".utf8) + receiver + Array(sender.publicKey.x963Representation)
        return shared.hkdfDerivedSymmetricKey(using: SHA256.self, salt: secret, sharedInfo: info, outputByteCount: 32)
    }

    static func randomSalt() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
