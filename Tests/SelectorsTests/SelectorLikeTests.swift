import SeededRandom
import Testing

@testable import Selectors

@Suite("LIKE")
struct SelectorLikeTests {
    @Test(
        "A pattern matches the whole string",
        arguments: [
            ("rock", "rock", true), ("rock", "roc", false), ("rock", "rocks", false), ("rock", "ROCK", false), ("", "", true),
            ("", "%", true), ("", "_", false), ("rock", "r%", true), ("rock", "%k", true), ("rock", "%oc%", true),
            ("rock", "%%", true), ("rock", "_ock", true), ("rock", "__ck", true), ("rock", "____", true),
            ("rock", "_____", false),
            ("rock", "___", false), ("rock", "r%k", true), ("rock", "r%ock", true), ("rock", "ro%ock", false),
            ("aaa", "a%a", true),
            ("a", "a%a", false), ("aa", "a%a", true), ("abcabc", "%abc", true), ("abcab", "%abc", false), ("abab", "%ab", true),
            ("mississippi", "m%iss%pp_", true), ("mississippi", "%s_s%i", true), ("mississippi", "%ss%ss%ss%", false),
            ("mississippi", "m%i%i%i%i", true), ("mississippi", "m%i%i%i%i%i", false), ("é", "_", true), ("e\u{301}", "_", false),
            ("e\u{301}", "__", true), ("é", "e\u{301}", false), ("🙂🙃", "__", true), ("a🙂b", "a_b", true), ("a🙂b", "%_b", true),
            ("grün", "gr_n", true), ("grün", "%ü%", true), ("grün", "%_n", true), ("🙂", "%_", true), ("🙂", "%__", false),
            ("ab", "%_%_%", true), ("a", "%_%_%", false), ("x\ny", "x_y", true), ("it's", "it''s", true), ("a_b", "a_b", true),
            ("a string of more than fifteen bytes", "a string%bytes", true), ("50%", "50%", true), ("a\u{0}b", "a_b", true),
            ("a string of more than fifteen bytes", "%more%fifteen%", true), ("a\\b", "a\\b", true), ("ü", "%_ü", false),
        ])
    func patterns(text: String, pattern: String, isLike: Bool) throws {
        let properties = Properties([("s", .string(text))])
        #expect(try Selector("s LIKE '\(pattern)'").evaluate(properties) == isLike)
        #expect(try Selector("s NOT LIKE '\(pattern)'").evaluate(properties) == !isLike)
    }

    @Test(
        "The escape character takes the meaning from what follows it",
        arguments: [
            ("50%", "50!%", "!", true), ("50 %", "50!%", "!", false), ("a_b", "a!_b", "!", true), ("axb", "a!_b", "!", false),
            ("a!b", "a!!b", "!", true), ("a%", "%!%", "!", true), ("ab", "%!%", "!", false), ("a🙂b", "a🙂🙂b", "🙂", true),
            ("it's", "it''''s", "''", true), ("a_", "aé_", "é", true),
        ])
    func escapes(text: String, pattern: String, escape: String, isLike: Bool) throws {
        let selector = try Selector("s LIKE '\(pattern)' ESCAPE '\(escape)'")
        #expect(selector.evaluate(Properties([("s", .string(text))])) == isLike)
        #expect(try Selector(selector.normalised).evaluate(Properties([("s", .string(text))])) == isLike)
    }

    @Test("LIKE is false for what is no string, and unknown for what is missing")
    func types() throws {
        let properties = Properties([("i", .integer(1)), ("a", .array([.string("x")]))])
        for text in ["i", "a", "1", "i + 1", "TRUE"] {
            #expect(try Selector("\(text) LIKE '%'").evaluate(properties) == false)
            #expect(try Selector("\(text) NOT LIKE '%'").evaluate(properties) == true)
        }
        for text in ["x LIKE '%'", "x NOT LIKE '%'", "x + 1 LIKE '%'", "i / 0 NOT LIKE '%'"] {
            #expect(try Selector(text).evaluate(properties) == nil)
        }
    }

    @Test("Random patterns match what a recursive matcher says")
    func againstTwin() throws {
        var random = SplitMix64.forTest("LIKE against its twin")
        for _ in 0..<4000 {
            let text = String((0..<random.below(20)).map { _ in random.pick(["a", "b", "é", "🙂"] as [Character]) })
            let pattern = String(
                (0..<random.below(10)).map { _ in random.pick(["a", "b", "é", "🙂", "%", "%", "_"] as [Character]) })
            let expected = NaiveTruth.isLike(Array(text.unicodeScalars)[...], NaiveTruth.elements(of: pattern, escape: nil)[...])
            let actual = try Selector("s LIKE '\(pattern)'").evaluate(Properties([("s", .string(text))]))
            #expect(actual == expected, "\(text) LIKE \(pattern)")
        }
    }

    @Test("Long pieces in long texts are found where short ones are")
    func longPieces() throws {
        var random = SplitMix64.forTest("LIKE with long pieces")
        let alphabet = ["a", "b", "é", "🙂"] as [Character]
        for length in [33, 63, 64, 65, 128, 200, 1000] {
            let text = String((0..<9000).map { _ in random.pick(alphabet) })
            let scalars = Array(text.unicodeScalars)
            let start = random.below(scalars.count - length)
            var piece = Array(scalars[start..<(start + length)].map(Character.init))
            for _ in 0..<5 { piece[random.below(length)] = "_" }
            let properties = Properties([("s", .string(text))])
            #expect(try Selector("s LIKE '%\(String(piece))%'").matches(properties))
            #expect(try Selector("s LIKE '%\(String(piece))%\(text.suffix(3))'").matches(properties))
            // The piece is there once; a second one after it is not.
            #expect(try !Selector("s LIKE '%\(String(piece))%\(String(piece))%'").matches(properties))
            piece[length / 2] = "x"
            #expect(try !Selector("s LIKE '%\(String(piece))%'").matches(properties))
        }
    }

    @Test("A hostile pattern on a hostile text takes milliseconds", .timeLimit(.minutes(1)))
    func hostile() throws {
        let text = String(repeating: "a", count: 260_000)
        let properties = Properties([("s", .string(text))])
        let half = String(repeating: "a_", count: 1900)
        #expect(try !Selector("s LIKE '%\(half)b%'").matches(properties))
        #expect(try !Selector("s LIKE '%\(String(repeating: "%a", count: 1900))b%'").matches(properties))
        #expect(try !Selector("s LIKE '\(String(repeating: "a%", count: 1900))b'").matches(properties))
    }
}
