import SeededRandom
import Testing

@testable import Records

@Suite("List as text")
struct ListTextTests {
    private func decode(_ text: String) -> [String]? {
        var text = text
        return text.withUTF8 { ListText.decode($0) }
    }

    @Test(
        "What is written is read again",
        arguments: [[], [""], ["a"], ["a", "b"], ["\"", "\\", "\u{0}\u{1F}\n\t"], ["é🙂", "[\",\"]"], ["\u{7F}\u{80}"]])
    func roundTrip(_ list: [String]) {
        #expect(decode(ListText.encode(list)) == list)
    }

    @Test("Random text is read again")
    func randomText() {
        var random = SplitMix64(seed: SplitMix64.seed())
        for _ in 0..<2000 {
            let list = (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                String(
                    String.UnicodeScalarView(
                        (0..<Int.random(in: 0..<6, using: &random)).compactMap { _ in
                            UnicodeScalar(UInt32.random(in: 0..<0x500, using: &random))
                        }))
            }
            #expect(decode(ListText.encode(list)).map { $0.map { Array($0.utf8) } } == list.map { Array($0.utf8) })
        }
    }

    @Test(
        "Other writings of the same list are read", arguments: [#" [ "a" , "b" ] "#, #"["\u0061","b"]"#, "[\n\"a\",\t\"b\"\r]"])
    func otherWritings(_ text: String) {
        #expect(decode(text) == ["a", "b"])
    }

    @Test("All escapes are read")
    func escapes() {
        #expect(decode(#"["\"\\\/\n\r\t\b\f\u00e9"]"#) == ["\"\\/\n\r\t\u{8}\u{C}é"])
    }

    @Test(
        "What is no list of strings is refused",
        arguments: [
            "", "[", "]", "[\"a\"", "[\"a\",]", "[,]", "[1]", "[\"a\"]x", "{}", "[\"\\", "[\"\\x\"]", "[\"\\u12\"]",
            "[\"\\ud800\"]",
            "[\"a\" \"b\"]", "[\"a", "null", "\"a\"",
        ])
    func refused(_ text: String) {
        #expect(decode(text) == nil)
    }

    @Test("Random bytes stop nothing")
    func randomBytes() {
        var random = SplitMix64(seed: SplitMix64.seed())
        let alphabet = Array("[]\",\\u0a é".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0..<12, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            let list = bytes.withUnsafeBufferPointer { ListText.decode($0) }
            if let list { #expect(decode(ListText.encode(list)) == list) }
        }
    }
}
