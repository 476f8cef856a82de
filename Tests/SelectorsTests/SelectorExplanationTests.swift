import SeededRandom
import Testing

@testable import Selectors

@Suite("Explaining a selector")
struct SelectorExplanationTests {
    private let properties = Properties([
        ("price", .integer(600)), ("kind", .string("tea")), ("open", .boolean(true)),
        ("tags", .array([.string("a"), .integer(2)])),
        ("rate", .double(2.5)), ("a b", .string("it's")),
    ])

    struct Row: CustomTestStringConvertible {
        var selector: String
        var sentence: String
        var testDescription: String { selector }

        init(_ selector: String, _ sentence: String) { (self.selector, self.sentence) = (selector, sentence) }
    }

    @Test(
        "tells each comparison that decided, with its values",
        arguments: [
            Row("", ""),
            Row("price < 500", "price 600 < 500 is false"),
            Row("price >= 500.0", "price 600 >= 500.0 is true"),
            Row("500 > price", "500 > price 600 is false"),
            Row("colour = 'x'", "colour is missing, so colour = 'x' is unknown"),
            Row("colour = size", "colour and size are missing, so colour = size is unknown"),
            Row("colour IS NULL", "colour IS NULL is true"),
            Row("kind IS NOT NULL", "kind 'tea' IS NOT NULL is true"),
            Row("open", "open is true"),
            Row("NOT open", "NOT open is false"),
            Row("kind", "kind 'tea' is false: kind is a string and a condition is a boolean"),
            Row("kind > 5", "kind 'tea' > 5 is false: kind is a string and 5 is a number"),
            Row("price BETWEEN 1 AND 500", "price 600 BETWEEN 1 AND 500 is false"),
            Row("price NOT BETWEEN 1 AND 500", "price 600 NOT BETWEEN 1 AND 500 is true"),
            Row("kind IN ('a', 'tea')", "kind 'tea' IN ('a', 'tea') is true"),
            Row("kind LIKE 'T%'", "kind 'tea' LIKE 'T%' is false"),
            Row("\"a b\" LIKE '!%' ESCAPE '!'", "\"a b\" 'it''s' LIKE '!%' ESCAPE '!' is false"),
            Row("'b' = ANY (tags)", "'b' = ANY (tags ['a', 2]) is false"),
            Row(
                "ALL (tags) <> kind",
                "ALL (tags ['a', 2]) <> kind 'tea' is false: tags has a number, which kind does not compare with by <>"),
            Row("price * 2 < 500", "(price 600 * 2) 1200 < 500 is false"),
            Row("price / 0 < 500", "(price 600 / 0) < 500 is unknown"),
            Row("-kind < 500", "(- kind 'tea') < 500 is unknown: kind is a string and arithmetic is for numbers"),
            Row("(price = 600) = open", "(price 600 = 600) TRUE = open TRUE is true"),
            // Only what decided.
            Row("price < 500 AND open", "price 600 < 500 is false"),
            Row("price < 500 AND kind = 'x' AND colour = 1", "price 600 < 500 is false; kind 'tea' = 'x' is false"),
            Row("open AND colour = 1", "colour is missing, so colour = 1 is unknown"),
            Row("open AND price > 5", "open is true; price 600 > 5 is true"),
            Row("price < 500 OR open", "open is true"),
            Row("price < 500 OR kind = 'x'", "price 600 < 500 is false; kind 'tea' = 'x' is false"),
            Row("price < 500 OR colour = 1", "colour is missing, so colour = 1 is unknown"),
            Row("NOT (price > 5 AND open)", "NOT price 600 > 5 is false; NOT open is false"),
            Row("NOT (price > 5 OR colour = 1)", "NOT price 600 > 5 is false"),
            Row("NOT NOT price < 500", "price 600 < 500 is false"),
            Row("price < 500 OR price < 500", "price 600 < 500 is false"),
        ])
    func rows(_ row: Row) throws {
        let selector = try Selector(row.selector)
        let explanation = selector.explain(properties)
        #expect(explanation.sentence == row.sentence)
        #expect(explanation.truth == selector.evaluate(properties))
    }

    @Test("stays short whatever the selector and the properties")
    func bounded() throws {
        let many = try Selector((0..<400).map { "a\($0)=1" }.joined(separator: " OR "))
        let explanation = many.explain(.none)
        #expect(explanation.findings.count == SelectorExplanation.findingsMaximum)
        #expect(explanation.omitted == 400 - SelectorExplanation.findingsMaximum)
        #expect(explanation.sentence.hasSuffix("; and 384 more"))

        let long = Properties([
            ("s", .string(String(repeating: "é", count: 100_000))),
            ("l", .array((0..<1000).map { .string(String(repeating: "x", count: 100) + "\($0)") })),
        ])
        let list = (0..<900).map { "\($0)" }.joined(separator: ",")
        for text in [
            "s = 'x'", "'x' = ANY (l)", "1 IN (\(list))", String(repeating: "- ", count: 60) + "s = 1",
            String(repeating: "(", count: 63) + "s" + String(repeating: "=1)", count: 63),
            "\"\(String(repeating: "n", count: 4000))\" = 1", "s LIKE '\(String(repeating: "%a", count: 2000))'",
            (0..<500).map { "s\($0)" }.joined(separator: "+") + " > 1",
        ] {
            let sentence = try Selector(text).explain(long).sentence
            #expect(sentence.unicodeScalars.count <= 420, "\(text.prefix(40))")
            #expect(!sentence.isEmpty)
        }
    }

    @Test("has the truth that the selector has, and findings that lead to it")
    func againstMachine() throws {
        var maker = RandomSelector(random: .forTest("explanations"))
        for _ in 0..<4000 {
            let selector = try Selector(maker.text(maker.condition(4)))
            let properties = Properties(maker.properties())
            let explanation = selector.explain(properties)
            let truth = selector.evaluate(properties)
            #expect(explanation.truth == truth, "\(selector.text)")
            #expect(!explanation.findings.isEmpty, "\(selector.text)")
            for finding in explanation.findings {
                let said = finding.truth.map { $0 ? "is true" : "is false" } ?? "is unknown"
                #expect(finding.text.contains(said) || finding.text.hasSuffix("…"), "\(finding.text)")
                #expect(finding.truth == truth, "\(selector.text): \(finding.text)")
            }
        }
    }
}
