import Crypto
import Datasets
import Foundation
import Testing

@testable import Push

@Suite("Encryption of Web Push")
struct EncryptionTests {
    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text.filter { !$0.isWhitespace })) }

    private func text(_ key: SymmetricKey) -> String { key.withUnsafeBytes { Base64URL.encode(Array($0)) } }

    @Test("gives the message of RFC 8291, appendix A, by way of each value there")
    func appendix() throws {
        let sender = try P256.KeyAgreement.PrivateKey(rawRepresentation: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
        let receiver = try bytes(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
        let secret = try bytes("BTBZMqHH6r4Tts7J_aSIgg")
        let salt = try bytes("DGv6ra1nlYgDCS1FRnbzlw")
        #expect(
            Base64URL.encode(Array(sender.publicKey.x963Representation))
                == "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8")
        let shared = try sender.sharedSecretFromKeyAgreement(with: P256.KeyAgreement.PublicKey(x963Representation: receiver))
        #expect(shared.withUnsafeBytes { Base64URL.encode(Array($0)) } == "kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs")
        let inputKey = try WebPushEncryption.inputKey(
            for: receiver, secret: secret, sender: sender, publicKey: Array(sender.publicKey.x963Representation))
        #expect(text(inputKey) == "S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg")
        let pseudoRandom = HKDF<SHA256>.extract(inputKeyMaterial: inputKey, salt: salt)
        #expect(Base64URL.encode(Array(pseudoRandom)) == "09_eUZGrsvxChDCGRCdkLiDXrReGOEVeSCdCcPBSJSc")
        let keys = EncryptedContent.keys(from: inputKey, salt: salt)
        #expect(text(keys.key) == "oIhVW04MRdy2XN9CiKLxTg")
        #expect(Base64URL.encode(keys.nonce) == "4h_95klXJ5E_qnoN")
        let message = try WebPushEncryption.encrypt(
            Array("When I grow up, I want to be a watermelon".utf8), for: receiver, secret: secret, sender: sender, salt: salt)
        #expect(
            Base64URL.encode(message)
                == """
                DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_\
                yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
                """)
        #expect(message.count == 144)
    }

    @Test("gives the contents of RFC 8188, sections 3.1 and 3.2")
    func contents() throws {
        let walrus = Array("I am the walrus".utf8)
        let one = try EncryptedContent.encode(
            [.init(text: walrus)], inputKey: SymmetricKey(data: bytes("yqdlZ-tYemfogSmv7Ws5PQ")),
            salt: bytes("I1BsxtFttlv3u_Oo94xnmw"), recordSize: 4096, keyID: [])
        #expect(Base64URL.encode(one) == "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg")
        let two = try EncryptedContent.encode(
            [.init(text: Array(walrus.prefix(7)), padding: 1), .init(text: Array(walrus.dropFirst(7)))],
            inputKey: SymmetricKey(data: bytes("BO3ZVPxUlnLORbVGMpbT1Q")), salt: bytes("uNCkWiNYzKTnBN9ji3-qWA"), recordSize: 25,
            keyID: Array("a1".utf8))
        #expect(
            Base64URL.encode(two)
                == "uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA")
    }

    @Test("uses another salt and another key for each message, and takes no key that is none")
    func fresh() throws {
        let receiver = Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)
        let secret = [UInt8](repeating: 7, count: 16)
        let messages = try (0..<10).map { _ in try WebPushEncryption.encrypt([1, 2, 3], for: receiver, secret: secret) }
        #expect(Set(messages.map { Array($0.prefix(16)) }).count == 10)
        #expect(Set(messages.map { Array($0[21..<86]) }).count == 10)
        let longest = try WebPushEncryption.encrypt(
            [UInt8](repeating: 0, count: WebPushEncryption.messageBytesMax), for: receiver, secret: secret)
        #expect(longest.count == 4096)
        var wrong = receiver
        wrong[40] ^= 1
        // A key of one's own need not have a compact form, and any browser can work with it.
        let browser = P256.KeyAgreement.PrivateKey()
        for _ in 0..<20 {
            let sender = WebPushEncryption.ephemeralKey()
            let publicKey = try P256.KeyAgreement.PublicKey(x963Representation: sender.publicKey.x963Representation)
            let here = try sender.sharedSecretFromKeyAgreement(with: browser.publicKey)
            #expect(try here == browser.sharedSecretFromKeyAgreement(with: publicKey))
        }
        #expect(throws: (any Error).self) { try WebPushEncryption.encrypt([1], for: wrong, secret: secret) }
    }

    @Test("base64url is read in each spelling, and nothing else is")
    func base64() {
        #expect(Base64URL.decode("-_-_") == [0xFB, 0xFF, 0xBF])
        #expect(Base64URL.decode("+/+/") == [0xFB, 0xFF, 0xBF])
        #expect(Base64URL.decode("AQ==") == [1] && Base64URL.decode("AQ") == [1] && Base64URL.decode("AQI=") == [1, 2])
        #expect(Base64URL.decode("") == [])
        for wrong in ["A", "AQ===", "A Q", "AQ\n", "é", "AQ=A"] { #expect(Base64URL.decode(wrong) == nil) }
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            let plain = Data(bytes).base64EncodedString()
            #expect(Base64URL.encode(bytes) == plain.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: ""))
        }
    }
}
