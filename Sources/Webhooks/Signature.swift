import Crypto

/// Lets an endpoint distinguish our posts from others.
enum Signature {
    /// `sha256=` and the HMAC-SHA256 (RFC 2104) of the body in lower-case hex, keyed with the secret's UTF-8.
    static func of(_ body: [UInt8], secret: String) -> String {
        var text = Array("sha256=".utf8)
        for byte in HMAC<SHA256>.authenticationCode(for: body, using: SymmetricKey(data: Array(secret.utf8))) {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0xF)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
