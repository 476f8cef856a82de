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

    @Test("Random patterns match what a naive matcher says")
    func againstTwin() throws {
        var random = SplitMix64.forTest("LIKE against its twin")
        for _ in 0..<4000 {
            let text = String((0..<random.below(20)).map { _ in random.pick(["a", "b", "é", "🙂"] as [Character]) })
            let pattern = String(
                (0..<random.below(10)).map { _ in random.pick(["a", "b", "é", "🙂", "%", "%", "_"] as [Character]) })
            let expected = NaiveTruth.isLike(Array(text.unicodeScalars), NaiveTruth.elements(of: pattern, escape: nil))
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

    @Test("Random pieces of few letters are found where a naive search finds them, by each search")
    func searches() throws {
        var random = SplitMix64.forTest("searches of LIKE against a naive one")
        for _ in 0..<3000 {
            let letters = ["a", "a", "a", random.pick(["a", "b", "é", "🙂"])] as [Character]
            let text = Array(String((0..<random.below(200)).map { _ in random.pick(letters) }).utf8)
            let length = 1 + random.below(random.pick([4, 20, 70, 140]))
            let piece = String((0..<length).map { _ in random.pick(letters) })
            let bytes = Array(piece.utf8)
            let expected = text.indices.first { text[$0...].starts(with: bytes) }.map { $0 + bytes.count }
            text.withUnsafeBufferPointer { text in
                bytes.withUnsafeBufferPointer { bytes in
                    let comment = "\(piece) in \(text.count) bytes"
                    let whole = LikeMatcher.Piece(bytes: bytes, scalarCount: length, hasWildcard: false)
                    #expect(LinearSearch.firstEnd(of: bytes, in: text) == expected, "\(comment)")
                    #expect(BitParallelSearch(whole).firstEnd(in: text) == expected, "\(comment)")
                }
            }
        }
    }

    @Test("Patterns that comparing position by position is slow for match what a naive matcher says")
    func repetitiveTexts() throws {
        var random = SplitMix64.forTest("LIKE with repetitive texts")
        for _ in 0..<1000 {
            let letters = ["a", "a", "a", "a", "a", "a", "b", random.pick(["b", "é", "🙂"])] as [Character]
            let text = String((0..<random.below(400)).map { _ in random.pick(letters) })
            let pattern =
                "%"
                + String(
                    (0..<random.below(60)).map { _ in
                        random.chance(4) ? "%" : random.chance(5) ? "_" : random.chance(3) ? "b" : random.pick(letters)
                    }) + random.pick(["%", "%", "b", "_"])
            let expected = NaiveTruth.isLike(Array(text.unicodeScalars), NaiveTruth.elements(of: pattern, escape: nil))
            let actual = try Selector("s LIKE '\(pattern)'").evaluate(Properties([("s", .string(text))]))
            #expect(actual == expected, "\(text) LIKE \(pattern)")
        }
    }

    @Test("A piece that nearly occurs everywhere is searched in linear time: twelve such selectors once stopped the daemon")
    func nearlyEverywhere() throws {
        let properties = Properties([("p", .string(String(repeating: "a", count: 20_000)))])
        func time(_ piece: String) throws -> Duration {
            let selector = try Selector("p LIKE '%\(piece)%'")
            return try ContinuousClock().measure { try #require(!selector.matches(properties)) }
        }
        // Other tests keep the processors busy: the fastest of a few dozen is what it takes.
        func cost(_ piece: String) throws -> Double {
            let (lone, searched) = try (0..<40).reduce((Duration.seconds(60), Duration.seconds(60))) { fastest, _ in
                (min(fastest.0, try time("b")), min(fastest.1, try time(piece)))
            }
            return searched / lone
        }
        for piece in [
            String(repeating: "a", count: 31) + "b", "b" + String(repeating: "a", count: 31),
            String(repeating: "a", count: 2000) + "b",
        ] {
            #expect(try cost(piece) < 16, "\(piece.count) letters")
        }
        #expect(try cost(String(repeating: "a", count: 15) + "_" + String(repeating: "a", count: 15) + "b") < 40)
    }

    @Test("A hostile pattern on a hostile text takes milliseconds")
    func hostile() throws {
        let text = String(repeating: "a", count: 64 << 10)
        let properties = Properties([("s", .string(text))])
        let half = String(repeating: "a_", count: 1900)
        #expect(try !Selector("s LIKE '%\(half)b%'").matches(properties))
        #expect(try !Selector("s LIKE '%\(String(repeating: "%a", count: 1900))b%'").matches(properties))
        #expect(try !Selector("s LIKE '\(String(repeating: "a%", count: 1900))b'").matches(properties))
    }

    @Test("Tests that search share a budget: beyond its share one is unknown and counted, 227 of 64 KiB took 150 ms")
    func budget() throws {
        let long = Properties([("p", .string(String(repeating: "a", count: 64 << 10))), ("q", .integer(1))])
        let lone = try Selector("p LIKE '%aab%'")
        let many = try Selector((0..<227).map { "p LIKE '%_b\($0 % 10)%'" }.joined(separator: " OR "))
        var before = EvaluationBudget.exceededCount
        #expect(lone.evaluate(long) == false && EvaluationBudget.exceededCount == before)
        #expect(many.evaluate(long) == nil && !many.matches(long))
        #expect(EvaluationBudget.exceededCount >= before + 227)
        #expect(try Selector("q = 1 OR \(many.text)").evaluate(long) == true, "what decides without it stands")
        #expect(many.explain(long).truth == nil)
        // What is short enough for all of them is as ever.
        let short = Properties([("p", .string(String(repeating: "a", count: 200) + "b7"))])
        before = EvaluationBudget.exceededCount
        #expect(many.matches(short) && EvaluationBudget.exceededCount == before)
        let hostile = String(repeating: "a", count: 15)
        let slow = try Selector((0..<16).map { _ in "p LIKE '%\(hostile)_\(hostile)b%'" }.joined(separator: " OR "))
        let text = Properties([("p", .string(String(repeating: "a", count: 4096)))])
        #expect(slow.evaluate(text) == false, "sixteen may search the longest text of a publication")
        let time = ContinuousClock().measure { for _ in 0..<10 { _ = slow.matches(text) } }
        #expect(time < .seconds(10), "ten take \(time)")
    }

    @Test("Arrays count, too: 300 comparisons with each of 30,000 elements took 20 ms")
    func budgetOfArrays() throws {
        let properties = Properties([("a", .array((0..<30_000).map { .integer($0) }))])
        #expect(try Selector("29999 = ANY (a)").matches(properties))
        let many = (0..<150).map { "\($0 + 40_000) = ANY (a)" }.joined(separator: " OR ")
        #expect(try Selector(many).evaluate(properties) == nil)
        #expect(try Selector(many).evaluate(Properties([("a", .array([.integer(40_149)]))])) == true)
    }
}
