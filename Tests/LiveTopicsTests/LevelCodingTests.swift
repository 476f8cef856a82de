import SeededRandom
import Testing

@testable import LiveTopics

@Suite("LevelCoding")
struct LevelCodingTests {
    struct Pair: Sendable {
        var id: String
        var level: String
    }

    @Test(
        "What a topic may not hold is percent-encoded, everything else stays",
        arguments: [
            Pair(id: "tag-17", level: "tag-17"), Pair(id: "a/b", level: "a%2Fb"), Pair(id: "+", level: "%2B"),
            Pair(id: "#1", level: "%231"), Pair(id: "100%", level: "100%25"), Pair(id: "%2F", level: "%252F"),
            Pair(id: "\u{0}", level: "%00"), Pair(id: "\u{1F}", level: "%1F"), Pair(id: "\u{7F}", level: "%7F"),
            Pair(id: "\u{80}", level: "%C2%80"), Pair(id: "\u{9F}", level: "%C2%9F"), Pair(id: "\u{A0}", level: "\u{A0}"),
            Pair(id: Self.text(0xFDD0), level: "%EF%B7%90"), Pair(id: Self.text(0xFDEF), level: "%EF%B7%AF"),
            Pair(id: "\u{FDF0}", level: "\u{FDF0}"), Pair(id: Self.text(0xFFFE), level: "%EF%BF%BE"),
            Pair(id: "\u{FFFD}", level: "\u{FFFD}"), Pair(id: Self.text(0x10FFFF), level: "%F4%8F%BF%BF"),
            Pair(id: "a b \"é\" 🦊 $ ~", level: "a b \"é\" 🦊 $ ~"), Pair(id: "e\u{301}", level: "e\u{301}"),
        ])
    func encodes(_ pair: Pair) throws {
        #expect(LevelCoding.encode(pair.id).utf8.elementsEqual(pair.level.utf8))
        let decoded = try #require(LevelCoding.decode(pair.level.utf8))
        #expect(decoded.utf8.elementsEqual(pair.id.utf8))
    }

    /// Noncharacters cannot be written as literals.
    static func text(_ scalar: UInt32) -> String {
        Unicode.Scalar(scalar).map { String(Character($0)) } ?? ""
    }

    @Test("Hexadecimal digits are read in any case", arguments: ["%2f", "%2F"])
    func anyCase(_ level: String) {
        #expect(LevelCoding.decode(level.utf8) == "/")
        #expect(LevelCoding.decode("%c2%80%Ef%bF%Be".utf8) == "\u{80}" + Self.text(0xFFFE))
    }

    @Test(
        "Any other encoding is refused",
        arguments: [
            "%41", "%2D", "%GG", "%", "%2", "a%", "a%2", "%%", "% 2F", "%c3%a9", "%C2", "%C2%", "%C2%8", "%C2%C2", "%C2\u{80}",
            "%80", "%FF", "%C0%AF", "%ED%A0%80", "%F4%90%80%80", "%E2%82%AC", "%20", "%24",
        ])
    func refusesEncodings(_ level: String) {
        #expect(LevelCoding.decode(level.utf8) == nil)
    }

    @Test(
        "What must be encoded is refused where it stands raw",
        arguments: ["\u{0}", "\u{1}", "\u{7F}", "\u{85}", Self.text(0xFFFF), "+", "#", "a/b"])
    func refusesRaw(_ level: String) {
        #expect(LevelCoding.decode(level.utf8) == nil)
    }

    @Test(
        "Invalid UTF-8 is refused",
        arguments: [[0x80], [0xC2], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x61, 0xFF], [0xE2, 0x82]]
            as [[UInt8]])
    func refusesInvalidUTF8(_ bytes: [UInt8]) {
        #expect(LevelCoding.decode(bytes) == nil)
    }

    @Test("Every scalar comes back from its encoding, alone")
    func everyScalar() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            // Planes 1 to 15 follow one rule; their ends and a sample are enough.
            if value > 0x11000, value & 0xFF > 3, value & 0xFFFF < 0xFFF0 { continue }
            let id = String(Character(scalar))
            let level = LevelCoding.encode(id)
            #expect(LevelCoding.decode(level.utf8).map { Array($0.utf8) } == Array(id.utf8), "U+\(String(value, radix: 16))")
            let isPlain = level.utf8.count == id.utf8.count
            #expect(isPlain != LevelCoding.mustEncode(value), "U+\(String(value, radix: 16))")
        }
    }

    @Test("Random ids come back from their encodings")
    func randomRoundTrip() {
        var random = SplitMix64.forTest("LevelCoding round trip")
        for _ in 0..<5_000 {
            let id = Self.randomText(&random)
            let level = LevelCoding.encode(id)
            #expect(LevelCoding.decode(level.utf8).map { Array($0.utf8) } == Array(id.utf8))
        }
    }

    @Test("What is decoded encodes to the canonical form of the same bytes, and random bytes never trap")
    func randomBytes() {
        var random = SplitMix64.forTest("LevelCoding bytes")
        let alphabet: [UInt8] =
            Array("%%%0189aAfFcC2bB/+#-x".utf8) + [0x00, 0x7F, 0x80, 0xC2, 0xE2, 0xEF, 0xBF, 0xBE, 0xF4, 0xFF]
        var accepted = 0
        for _ in 0..<50_000 {
            let bytes = (0..<Int.random(in: 0...8, using: &random)).map { _ in alphabet.randomElement(using: &random)! }
            guard let id = LevelCoding.decode(bytes) else { continue }
            accepted += 1
            let canonical = LevelCoding.encode(id)
            #expect(LevelCoding.decode(canonical.utf8).map { Array($0.utf8) } == Array(id.utf8))
            let upper = String(decoding: bytes, as: UTF8.self).utf8.count
            #expect(canonical.utf8.count == upper)
        }
        #expect(accepted > 1_000)
    }

    static func randomText(_ random: inout SplitMix64) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            let limits: ClosedRange<UInt32> = [0...0x7F, 0...0xFF, 0xFD00...0xFFFF, 0...0x10FFFF].randomElement(using: &random)!
            if let scalar = Unicode.Scalar(UInt32.random(in: limits, using: &random)) { text.append(scalar) }
        }
        return String(text)
    }
}
