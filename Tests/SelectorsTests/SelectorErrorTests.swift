import Testing

@testable import Selectors

@Suite("What is no selector")
struct SelectorErrorTests {
    @Test(
        "is refused at the first character of the offending token, or at the end of the text",
        arguments: [
            ("a b", 2), ("a = ", 4), ("a =", 3), ("  a  =  ", 8), ("= 1", 0), ("a = = 1", 4), ("a == 1", 3),
            ("a = 1)", 5), ("(a = 1", 6), ("()", 1), ("(", 1), ("a = (", 5), (")", 0), ("a = 1 b", 6), ("a = 1 2", 6),
            ("a AND", 5), ("AND a", 0), ("a AND AND b", 6), ("a OR", 4), ("NOT", 3), ("a NOT", 5), ("a NOT b", 6),
            ("a NOT = 1", 6),
            ("a < b < c", 6), ("a = b = c", 6), ("a = 1 <> 2", 6), ("a = ANY (b) = c", 12), ("ANY (b) = c = d", 12),
            ("a = 1 BETWEEN 0 AND 1", 6), ("a IS NULL = TRUE", 10), ("a IN (1) = TRUE", 9), ("a BETWEEN 1 AND 2 = TRUE", 18),
            ("a = NOT b", 4), ("a + NOT b", 4), ("a = 1 -- x", 6), ("-- x", 0), ("a--1", 1), ("a /* x */ = 1", 2), ("/* x */", 0),
            ("a // 2", 3), ("a */ 2", 3), ("a = 0x1", 4), ("a = 0X1F", 4), ("a = 012", 4), ("a = 00", 4), ("a = -012", 5),
            ("a = 12L", 4), ("a = 1e", 4), ("a = 1E+", 4), ("a = 1.5f", 4), ("a = 1.2.3", 4), ("a = 1abc", 4), ("a = .", 4),
            ("a = 9223372036854775808", 4), ("a = -9223372036854775809", 5), ("a = +9223372036854775808", 5),
            ("a = -(9223372036854775808)", 6), ("a = 1 - 9223372036854775808", 8), ("a = 99999999999999999999999", 4),
            ("a IN (-9223372036854775809)", 7), ("a = 1E400", 4), ("a % 2 = 0", 2), ("%", 0), ("a = #", 4), ("a ! b", 2),
            ("a = ;", 4),
            ("a & b", 2), ("a =< 1", 3), ("a < > 1", 4), ("a = 'x", 4), ("a = 'x''", 4), ("\"a = 1", 0), ("a = \"", 4),
            ("é = §", 4),
            ("a = NULL", 4), ("NULL = a", 0), ("NULL", 0), ("a IN (NULL)", 6), ("a = ANY (NULL)", 9),
            ("a BETWEEN NULL AND 1", 10),
            ("a IS 1", 5), ("a IS", 4), ("a IS NOT", 8), ("a IS NOT 1", 9), ("a IS TRUE", 5), ("1 IS NULL", 2),
            ("(a) IS NULL", 4),
            ("a + 1 IS NULL", 6), ("'a' IS NULL", 4), ("-a IS NULL", 3), ("(a IS) NULL", 5), ("a = b IS NULL", 6),
            ("a BETWEEN 1", 11), ("a BETWEEN 1 OR 2", 12), ("a BETWEEN AND 2", 10), ("a BETWEEN 1 AND", 15),
            ("BETWEEN 1 AND 2", 0),
            ("a IN", 4), ("a IN 1", 5), ("a IN ()", 6), ("a IN (1", 7), ("a IN (1 2)", 8), ("a IN (1,)", 8), ("a IN (b)", 6),
            ("a IN ((1))", 6), ("a IN (1 + 2)", 8), ("a IN (- -1)", 8), ("a IN (-'x')", 7), ("a IN (-TRUE)", 7), ("a IN (*1)", 6),
            ("a LIKE", 6), ("a LIKE b", 7), ("a LIKE 1", 7), ("a LIKE 'x' ESCAPE", 17), ("a LIKE 'x' ESCAPE 1", 18),
            ("a LIKE 'x' ESCAPE ''", 18), ("a LIKE 'x' ESCAPE 'ab'", 18), ("a LIKE 'x' ESCAPE '%'", 18),
            ("a LIKE 'x' ESCAPE '_'", 18),
            ("a LIKE 'x' ESCAPE 'e\u{301}'", 18), ("a LIKE 'x!y' ESCAPE '!'", 7), ("a LIKE 'x!' ESCAPE '!'", 7),
            ("a LIKE 'x!y' ESCAPE '!' %", 7), ("a LIKE 'x' ESCAPE 'ab' %", 18), ("ESCAPE 'x'", 0), ("a ESCAPE 'x'", 2),
            ("a = ANY", 7), ("a = ANY b", 8), ("a = ANY (", 9), ("a = ANY ()", 9), ("a = ANY (b, c)", 10), ("a = ANY (1, b)", 12),
            ("a = ANY (b", 10), ("a = ANY (b + 1)", 11), ("ANY (a)", 7), ("ANY (a) LIKE 'x'", 8), ("ANY (a) + 1 = 2", 8),
            ("ANY (a) = ANY (b)", 10), ("a + ANY (b) = 1", 4), ("a = ANY (b) + 1", 12), ("(ANY (a)) = 1", 8),
            ("a = (ANY (b))", 12),
            ("ALL = 1", 4), ("some = 1", 5), ("TRUE FALSE", 5), ("a,b", 1), ("a = 'x' 'y'", 8), ("e\u{301} = 1", 1),
            ("a\u{0} = 1", 1),
            ("a = 1 AND b = = 2 AND %", 14), ("a.b = 1", 1), ("a = 1.AND b", 4), ("1a = 1", 0), ("a = 1 XOR b", 6),
            ("a LIKE 'x' 'y'", 11),
        ])
    func refused(text: String, position: Int) {
        #expect(throws: SelectorError.self) { try Selector(text) }
        do {
            _ = try Selector(text)
        } catch {
            #expect(error.position == position, "\(text): \(error.message)")
            #expect(!error.message.isEmpty)
        }
    }

    private func position(_ text: String) -> Int? {
        do {
            _ = try Selector(text)
            return nil
        } catch {
            return error.position
        }
    }

    @Test("A text of 4096 characters is read, a longer one is refused at 4096")
    func length() {
        let padding = String(repeating: "🙂", count: Selector.maximumLength - 6)
        #expect(position("a = '\(padding)'") == nil)
        #expect(position("a = '\(padding)x'") == 4096)
        #expect(position(String(repeating: " ", count: 4096)) == nil)
        #expect(position(String(repeating: "%", count: 4097)) == 4096)
    }

    @Test("Parentheses, NOT and signs nest 64 deep together, and not deeper")
    func depth() {
        func nested(_ open: String, _ close: String, _ count: Int, _ inner: String) -> String {
            String(repeating: open, count: count) + inner + String(repeating: close, count: count)
        }
        for inner in ["a = 1", "a IN (1, -2)", "ANY (a) = 1", "a LIKE 'x'"] {
            #expect(position(nested("(", ")", 64, inner)) == nil)
            #expect(position(nested("(", ")", 65, inner)) == 64)
        }
        #expect(position(nested("NOT ", "", 64, "a")) == nil)
        #expect(position(nested("NOT ", "", 65, "a")) == 256)
        #expect(position(nested("- ", "", 64, "a") + " = 1") == nil)
        #expect(position(nested("- ", "", 65, "a") + " = 1") == 128)
        #expect(position(nested("NOT (", ")", 32, "a")) == nil)
        #expect(position(nested("NOT (", ")", 32, "NOT a")) == 160)
        #expect(position(nested("(", ")", 64, "a = -1")) == 68)
        #expect(position(nested("(", ")", 63, "a = -1")) == nil)
        #expect(position(nested("(", ")", 64, "a + 1") + " > 2") == nil)
        #expect(position(String(repeating: "(", count: 4000)) == 64)
        // What was closed no longer counts.
        #expect(position([String](repeating: nested("(", ")", 64, "a"), count: 30).joined(separator: " OR ")) == nil)
    }

    @Test("A flat chain may be as long as the text", arguments: [" AND ", " OR ", "+", "-", "*", "/"])
    func chains(joint: String) throws {
        let count = (Selector.maximumLength - 3) / (joint.utf8.count + 1)
        let operand = joint.contains("A") || joint.contains("R") ? "t" : "1"
        let chain = [String](repeating: operand, count: count).joined(separator: joint)
        let selector = try Selector(operand == "t" ? chain : chain + ">0")
        #expect(selector.evaluate(Properties([("t", .boolean(true))])) == (joint != "-"))
        #expect(try Selector(selector.normalised).normalised == selector.normalised)
    }

    @Test("Nested conditions used as values are evaluated once each")
    func nestedConditions() throws {
        var text = "x = 1"
        for level in 0..<64 { text = "(\(text)) = \(level % 2 == 0 ? "t" : "x")" }
        #expect(try Selector(text).evaluate(Properties([("t", .boolean(true))])) == nil)
        #expect(try Selector(text).evaluate(Properties([("t", .boolean(true)), ("x", .boolean(true))])) == false)
    }

    @Test("Literals at the edges are accepted")
    func edges() throws {
        for text in [
            "a = -9223372036854775808", "a = - 9223372036854775808", "a = 9223372036854775807", "a = 7.", "a = .5", "a = 7E3",
            "a = -95.7", "a = 7.e-3", "a = .5E+3", "a = 0", "a = 0.5", "a = 1E-400", "a = ''", "a = ''''",
            "a IN (-9223372036854775808)",
            "a='x'AND\"b\"=1", "(a)AND(b)", "a- -1=2", "NOT(a)", "not a", "a Is Not Null", "ſ = 1", "$a = 1", "_ = 1", "a1_$ = 1",
            "変数 = 1", "a٣ = 1", "\"\" = 1", "a\u{a0}=\u{3000}1", "ANDY = 1", "isNull = 1", "İS = 1",
        ] { #expect(position(text) == nil, "\(text)") }
        let values: [(String, Double)] = [
            ("7.", 7), (".5", 0.5), ("7E3", 7000), ("7e3", 7000), ("7.e-3", 0.007), (".5E+1", 5), ("00.5", 0.5),
        ]
        for (literal, value) in values {
            #expect(try Selector("a = \(literal)").matches(Properties([("a", .double(value))])), "\(literal)")
        }
    }
}
