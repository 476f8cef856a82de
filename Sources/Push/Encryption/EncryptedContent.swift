import Crypto
import Foundation

/// The content coding aes128gcm of RFC 8188.
enum EncryptedContent {
    /// What one record holds; so much padding follows it.
    struct Record {
        var text: [UInt8]
        var padding = 0
    }

    /// The key of the content and the first nonce.
    static func keys(from inputKey: SymmetricKey, salt: [UInt8]) -> (key: SymmetricKey, nonce: [UInt8]) {
        let secret = HKDF<SHA256>.extract(inputKeyMaterial: inputKey, salt: salt)
        let key = HKDF<SHA256>.expand(
            pseudoRandomKey: secret, info: Array("Content-Encoding: aes128gcm\0".utf8), outputByteCount: 16)
        let nonce = HKDF<SHA256>.expand(
            pseudoRandomKey: secret, info: Array("Content-Encoding: nonce\0".utf8), outputByteCount: 12)
        return (key, nonce.withUnsafeBytes { Array($0) })
    }

    /// - Parameters:
    ///   - salt: 16 bytes, used once.
    ///   - recordSize: Of each record but the last, with its padding, delimiter and tag.
    ///   - keyID: At most 255 bytes.
    static func encode(
        _ records: [Record], inputKey: SymmetricKey, salt: [UInt8], recordSize: UInt32, keyID: [UInt8]
    ) throws -> [UInt8] {
        let (key, firstNonce) = keys(from: inputKey, salt: salt)
        var content = salt
        withUnsafeBytes(of: recordSize.bigEndian) { content.append(contentsOf: $0) }
        content.append(UInt8(keyID.count))
        content += keyID
        for (index, record) in records.enumerated() {
            var plain = record.text
            plain.append(index == records.count - 1 ? 2 : 1)
            plain += [UInt8](repeating: 0, count: record.padding)
            let box = try AES.GCM.seal(plain, using: key, nonce: AES.GCM.Nonce(data: nonce(firstNonce, of: index)))
            content += box.ciphertext
            content += box.tag
        }
        return content
    }

    /// The record's number is added without carry.
    private static func nonce(_ first: [UInt8], of index: Int) -> [UInt8] {
        var nonce = first
        for place in 0..<8 { nonce[11 - place] ^= UInt8(truncatingIfNeeded: index >> (8 * place)) }
        return nonce
    }
}
