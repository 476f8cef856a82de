import Circumstances
import SeededRandom
import Testing

@testable import CircumstanceLanguage

@Suite("The language of circumstances")
struct LanguageTests {
    private static let heads = Vocabulary.heads.joined(separator: " ")
    private static let keys = Vocabulary.keys.joined(separator: " ")

    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var normal: String
        var testDescription: String { text }

        init(_ text: String, _ normal: String? = nil) {
            self.text = text
            self.normal = normal ?? text
        }
    }

    @Test(
        "Each expression has one normalised text",
        arguments: [
            Row("true"),
            Row("(true)", "true"),
            Row("(at any-factual-place)"),
            Row("(or (at any-factual-place) (near any-factual-place))"),
            Row("(at (= factual-id \"a\"))"),
            Row("(at (= place-id \"a\"))", "(at (= factual-id \"a\"))"),
            Row("(at (= category-id 308))", "(at (= category-id \"308\"))"),
            Row("(at (= exact-category-id \"308\"))"),
            Row("(at (exact-category-id 308))", "(at (= exact-category-id \"308\"))"),
            Row("(at (exact-category-id 308 \"c\"))", "(at (any-of exact-category-id \"308\" \"c\"))"),
            Row("(near (any-of chain-id \"a\" \"b\"))"),
            Row("(near (any-of chain-id \"a\"))", "(near (= chain-id \"a\"))"),
            Row(" ( at\n( =  factual-id “a” ) ; here\n)", "(at (= factual-id \"a\"))"),
            Row("(at (= factual-id “a\"))", "(at (= factual-id \"a\"))"),
            Row("(at (= factual-id \"“a”\"))"),
            Row("(at (= factual-id \"a\\\"b\\\\c\"))"),
            Row("(at (= category-id \"c\") is_open)", "(at (= category-id \"c\") is-open)"),
            Row(
                "(at (or is-open (not has-open-hours)) (= threshold-met high))",
                "(at (or is-open (not has-open-hours)) (= threshold-met \"high\"))"),
            Row("(at (any-of threshold-met \"High\" \"low\"))", "(at (any-of threshold-met \"high\" \"low\"))"),
            Row("(and (at (= chain-id \"x\")) is-open)", "(at (= chain-id \"x\") is-open)"),
            Row(
                "(and is_open (near (= chain-id \"x\")) (= local-day-of-week mon))",
                "(and (near (= chain-id \"x\") is-open) (= local-day-of-week 1))"),
            Row("(and (at (= chain-id \"x\")) (not is-open))", "(at (= chain-id \"x\") (not is-open))"),
            Row("(and (at (= chain-id \"x\")) (not (is_open)))", "(at (= chain-id \"x\") (not is-open))"),
            Row("(any-of local-day-of-week mon 7 \"Sun\")", "(any-of local-day-of-week 1 7 7)"),
            Row("(and (>= local-minute-of-day 0) (< local-minute-of-day 1439))"),
            Row("(at any-factual-place (<= local-minute-of-day 600))"),
            Row("(visited (= chain-id \"x\"))"),
            Row("(frequents (= chain-id \"x\") is-open 3 30)"),
            Row("(dwelling 300)"),
            Row("moving", "(moving)"),
            Row("(not (moving))"),
            Row("(live occupancy nrOfPeople > 10)"),
            Row("(live \"Co2\" \"co2\" <= 1e3)", "(live co2 co2 <= 1000)"),
            Row("(live availability available = true)"),
            Row("(live mood \"how it is\" = \"good\")"),
        ])
    func normalised(_ row: Row) throws {
        let expression = try CircumstanceExpression(row.text)
        #expect(expression.text == row.normal)
        #expect(try CircumstanceExpression(expression.text) == expression)
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var text: String
        var position: Int
        var message: String
        var testDescription: String { text }

        init(_ text: String, _ position: Int, _ message: String) {
            self.text = text
            self.position = position
            self.message = message
        }
    }

    @Test(
        "A refusal says where, why and what was probably meant",
        arguments: [
            Refusal("", 0, "an expression is expected"),
            Refusal(" ; only this", 12, "an expression is expected"),
            Refusal("(at any-factual-place", 21, "a closing parenthesis is missing"),
            Refusal("(at any-factual-place))", 22, "this parenthesis closes nothing"),
            Refusal("true true", 5, "the expression ends before this; join expressions with and or or"),
            Refusal("(at (= factual-id \"a))", 18, "the text is not closed"),
            Refusal("(at (= factual-id 'a'))", 18, "a text is written in double quotes"),
            Refusal("()", 0, "these parentheses are empty"),
            Refusal("((at true))", 1, "a list begins with a word, as in (at …)"),
            Refusal("\"a\"", 0, "a text is no expression"),
            Refusal("(at)", 1, "at takes a rule of a place; any-factual-place is true of each"),
            Refusal("(and)", 1, "and takes at least one expression"),
            Refusal("(not true true)", 10, "not takes one expression"),
            Refusal("(att true)", 1, "unknown form att, did you mean at"),
            Refusal("(nt true)", 1, "unknown form nt, did you mean not"),
            Refusal("(and true 𝔘)", 10, "unknown word 𝔘; known are \(Self.heads)"),
            Refusal("(at (= category_id 3))", 7, "unknown key category_id, did you mean category-id"),
            Refusal("(at (= category 3))", 7, "unknown key category, did you mean category-id"),
            Refusal("(at (= colour 3))", 7, "unknown key colour; known are \(Self.keys)"),
            Refusal("(at any-place)", 4, "unknown word any-place; an id is compared, as in (= category-id \"any-place\")"),
            Refusal("(at any-factual-plac)", 4, "unknown word any-factual-plac, did you mean any-factual-place"),
            Refusal("(near (at true))", 7, "at cannot be inside near"),
            Refusal("(near (not (at true)))", 12, "at cannot be inside near"),
            Refusal("(at (dwelling 3))", 5, "dwelling cannot be inside at"),
            Refusal("(= category-id 3)", 3, "category-id is said of a place and belongs inside at or near"),
            Refusal(
                "is-open", 0, "is-open is said of a place and belongs inside at or near, or beside exactly one of them in an and"),
            Refusal(
                "(and (at true) (near true) is_open)", 27,
                "is_open is said of a place and belongs inside at or near, or beside exactly one of them in an and"),
            Refusal(
                "(or (at true) is-open)", 14,
                "is-open is said of a place and belongs inside at or near, or beside exactly one of them in an and"),
            Refusal("(at (< factual-id 3))", 5, "factual-id is compared with = or any-of"),
            Refusal("(at (= factual-id \"a\" \"b\"))", 22, "= compares with one value; any-of with several"),
            Refusal("(at (= factual-id))", 5, "= takes something to compare with"),
            Refusal("(at (= factual-id a))", 18, "factual-id is compared with a text in quotes or a whole number, not a"),
            Refusal("(at (= factual-id \"\"))", 18, "factual-id has 1 to 128 bytes, not 0"),
            Refusal("(at factual-id)", 4, "factual-id is compared: (= factual-id …)"),
            Refusal("(at (= threshold-met medium))", 21, "threshold-met is \"high\", \"low\" or \"none\", not medium"),
            Refusal(
                "(= local-day-of-week 0)", 21, "local-day-of-week must be a whole number from 1 to 7 or mon to sun, not 0"),
            Refusal("(= local-minute-of-day 1440)", 23, "local-minute-of-day must be a whole number from 0 to 1439, not 1440"),
            Refusal("(dwelling 0)", 10, "the seconds must be a whole number from 1 to 2592000, not 0"),
            Refusal(
                "(frequents (= chain-id \"x\") 3)", 28,
                "frequents takes rules of a place, a number of visits and a number of days"),
            Refusal("(live occupancy nrOfPeople ~ 3)", 27, "~ is no comparison; = < > <= >= are"),
            Refusal("(live mood how > \"good\")", 15, "only numbers can be compared with >"),
            Refusal("(live mood how = good)", 17, "good is no number, no text in quotes, nor true or false"),
        ])
    func refused(_ row: Refusal) {
        #expect(throws: CircumstanceError(message: row.message, position: row.position)) {
            try CircumstanceExpression(row.text)
        }
    }

    @Test("Positions count Unicode scalars")
    func scalarPositions() {
        #expect(throws: CircumstanceError(message: "unknown form e\u{301}; known are \(Self.heads)", position: 12)) {
            try CircumstanceExpression("; e\u{301} 👩‍💻\r\n (e\u{301} 1)")
        }
    }

    @Test("Length, depth and breadth are bounded")
    func bombs() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "(not ", count: depth) + "true" + String(repeating: ")", count: depth)
        }
        _ = try CircumstanceExpression(nested(64))
        #expect(throws: CircumstanceError(message: "parentheses nest at most 64 deep", position: 64 * 5)) {
            try CircumstanceExpression(nested(65))
        }
        #expect(throws: CircumstanceError.self) { try CircumstanceExpression(nested(3000)) }
        #expect(throws: CircumstanceError(message: "an expression has at most 16384 characters", position: 16_384)) {
            try CircumstanceExpression(String(repeating: "(", count: 100_000))
        }
        let broad = "(and" + String(repeating: " true", count: 1022) + ")"
        _ = try CircumstanceExpression(broad)
        #expect(throws: CircumstanceError(message: "an expression has at most 1024 parts", position: 4 + 1022 * 5 + 1)) {
            try CircumstanceExpression("(and" + String(repeating: " true", count: 1023) + ")")
        }
    }

    @Test("Random texts are refused within themselves or have a normalised text that is read as the same")
    func fuzz() {
        var random = SplitMix64.forTest()
        let words = [
            "(", ")", "(", ")", " ", "at", "near", "and", "or", "not", "=", "<", ">=", "any-of", "factual-id", "category-id",
            "chain-id",
            "any-factual-place", "is-open", "has-open-hours", "threshold-met", "\"high\"", "true", "local-day-of-week", "mon",
            "3",
            "local-minute-of-day", "visited", "frequents", "dwelling", "moving", "live", "“a”", "\"", ";", "\n", "\\", "é",
            "\u{0}", "'",
            "-1", "99999999999999999999", "1e999",
        ]
        var accepted = 0
        for _ in 0..<20_000 {
            let text = (0..<random.below(14)).map { _ in random.pick(words) + (random.chance(70) ? " " : "") }.joined()
            do throws(CircumstanceError) {
                let expression = try CircumstanceExpression(text)
                accepted += 1
                let again = try? CircumstanceExpression(expression.text)
                #expect(again == expression)
            } catch {
                #expect((0...text.unicodeScalars.count).contains(error.position))
                #expect(!error.message.isEmpty)
            }
        }
        #expect(accepted > 10)
    }

    @Test("Random expressions keep their meaning through their text")
    func randomExpressions() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<2000 {
            let text = RandomCondition.text(&random, depth: 4, isPlain: false)
            let expression = try CircumstanceExpression(text)
            #expect(try CircumstanceExpression(expression.text) == expression)
        }
    }
}
