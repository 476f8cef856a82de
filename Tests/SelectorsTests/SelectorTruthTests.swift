import Testing

@testable import Selectors

/// A selector and its truth for ``SelectorTruthTests/sample``.
struct TruthCase: CustomTestStringConvertible {
    let text: String
    let truth: Bool?

    init(_ text: String, _ truth: Bool?) {
        self.text = text
        self.truth = truth
    }

    var testDescription: String { text }
}

@Suite("The truth of a selector")
struct SelectorTruthTests {
    static let sample = Properties([
        ("i", .integer(7)), ("d", .double(2.5)), ("s", .string("rock")), ("n", .string("32")), ("t", .boolean(true)),
        ("f", .boolean(false)), ("tags", .array([.string("rock"), .string("pop"), .integer(3)])), ("none", .array([])),
        ("big", .integer(9_007_199_254_740_993)), ("max", .integer(.max)), ("min", .integer(.min)),
        ("e", .string("e\u{301}")), ("a property", .string("it's")), ("nan", .double(.nan)), ("Über", .integer(1)),
        ("long", .string("a string of more than fifteen bytes")), ("nums", .array([.integer(1), .double(2.5)])),
        ("AND", .integer(1)), ("q\"q", .integer(2)), ("", .integer(3)), ("odd", .array([.double(.infinity), .integer(1)])),
        ("a name of more than fifteen bytes", .integer(4)), ("u", .string("grün🙂")),
    ])

    func check(_ row: TruthCase) throws {
        let selector = try Selector(row.text)
        #expect(selector.evaluate(Self.sample) == row.truth)
        #expect(selector.matches(Self.sample) == (row.truth == true))
        #expect(try Selector("NOT (" + row.text + ")").evaluate(Self.sample) == row.truth.map { !$0 })
    }

    @Test(
        "Comparisons hold between like types only",
        arguments: [
            TruthCase("i = 7", true), .init("i <> 7", false), .init("i != 8", true), .init("i < 8", true), .init("i <= 7", true),
            .init("i > 7", false), .init("i >= 7", true), .init("7 = i", true), .init("8 > i", true), .init("8 < i", false),
            .init("d = 2.5", true), .init("d > 2", true), .init("i = 7.0", true), .init("i < 7.5", true), .init("7.5 > i", true),
            .init("s = 'rock'", true), .init("s <> 'rock'", false), .init("s = 'Rock'", false), .init("s <> 'pop'", true),
            .init("s > 'a'", false), .init("s <= 'z'", false), .init("'a' < 'b'", false), .init("'a' = 'a'", true),
            .init("n > 30", false), .init("n = 32", false), .init("n <> 32", false), .init("30 < n", false),
            .init("t = TRUE", true), .init("t <> FALSE", true), .init("t = 'true'", false), .init("t = 1", false),
            .init("t > FALSE", false), .init("TRUE = TRUE", true), .init("f = t", false), .init("f <> t", true),
            .init("tags = 'rock'", false), .init("tags <> 'rock'", false), .init("tags = tags", false), .init("s = i", false),
            .init("s = s", true), .init("i = d", false), .init("i > d", true), .init("x = 1", nil), .init("x <> 1", nil),
            .init("x > 'a'", nil), .init("x = y", nil), .init("i = x", nil), .init("x < i", nil), .init("'a' > x", nil),
            .init("nan = 1", nil), .init("nan <> 1", nil), .init("nan = 'a'", nil), .init("S = 'rock'", nil),
            .init("long = 'a string of more than fifteen bytes'", true), .init("'a' > 1", false), .init("'a' <> 1", false),
            .init("long = 'a string of more than fifteen bytez'", false), .init("long = 'a string of more than fifteen'", false),
            .init("long <> 'a string of more than fifteen bytez'", true), .init("long = long", true), .init("long = s", false),
            .init("e = 'e\u{301}'", true), .init("e = 'é'", false), .init("e <> 'é'", true), .init("\"é\" IS NULL", true),
        ])
    func comparisons(_ row: TruthCase) throws { try check(row) }

    @Test(
        "Integers and doubles are compared without rounding",
        arguments: [
            TruthCase("big = 9007199254740993", true), .init("big = 9007199254740992.0", false),
            .init("big > 9007199254740992.0", true), .init("big = 9007199254740994.", false),
            .init("big < 9007199254740994.", true),
            .init("max = 9223372036854775807", true), .init("max < 9223372036854775808.0", true), .init("max < 1E300", true),
            .init("max = 9223372036854775808.0", false), .init("min = -9223372036854775808", true),
            .init("min = -9223372036854775808.0", true), .init("min > -9223372036854777856.0", true), .init("min < -1.5", true),
            .init("i < 7.0000000000000009", true), .init("-7.5 < -7", true), .init("-7 > -7.5", true), .init("0 = -0.0", true),
            .init("big IN (9007199254740992.0)", false), .init("big IN (1, 9007199254740993)", true), .init("i IN (7.0)", true),
            .init("d IN (2.5)", true), .init("0 IN (-0.0)", true),
        ])
    func exactness(_ row: TruthCase) throws { try check(row) }

    @Test(
        "Arithmetic is exact while it can be, and unknown where it has no result",
        arguments: [
            TruthCase("2 + 3 = 5", true), .init("2 + 3 * 4 = 14", true), .init("(2 + 3) * 4 = 20", true),
            .init("7 / 2 = 3", true),
            .init("-7 / 2 = -3", true), .init("7 / 2. = 3.5", true), .init("10 - 3 - 2 = 5", true),
            .init("10 - (3 - 2) = 9", true),
            .init("8 / 4 / 2 = 1", true), .init("i * 2 + 1 = 15", true), .init("-i = -7", true), .init("- -i = 7", true),
            .init("+i = 7", true), .init("i / 0 = 1", nil), .init("i / 0 <> 1", nil), .init("d / 0 = 1", nil),
            .init("d / 0.0 > 1", nil), .init("0 / 0.0 = 0", nil), .init("max + 1 = 9223372036854775808.0", true),
            .init("max + 1 > max", true), .init("min - 1 = -9223372036854775808.0", true),
            .init("min / -1 = 9223372036854775808.0", true),
            .init("-min = 9223372036854775808.0", true), .init("max * 2 > max", true), .init("1E308 * 10 > 1", nil),
            .init("s + 1 > 0", nil), .init("-s = 'rock'", nil), .init("+s = 'rock'", nil), .init("+'x' = 'x'", nil),
            .init("s + 1 = 'rock1'", nil), .init("t + 1 = 2", nil), .init("tags + 1 = 2", nil), .init("x + 1 = 2", nil),
            .init("'a' + 1 = 2", nil), .init("(i = 7) + 1 = 2", nil), .init("i - 10 < 0 - 2", true), .init("2 * -3 = -6", true),
            .init("i + d = 9.5", true), .init("1 - -1 = 2", true), .init("i - (d - d) = i", true),
        ])
    func arithmetic(_ row: TruthCase) throws { try check(row) }

    @Test(
        "AND, OR and NOT have three values, and NOT binds looser than a comparison",
        arguments: [
            TruthCase("t AND t", true), .init("t AND f", false), .init("f AND x", false), .init("x AND f", false),
            .init("t AND x", nil), .init("x AND t", nil), .init("x AND x", nil), .init("t OR x", true), .init("x OR t", true),
            .init("f OR x", nil), .init("x OR f", nil), .init("x OR y", nil), .init("f OR f", false), .init("NOT x", nil),
            .init("NOT NOT t", true), .init("NOT i = 1", true), .init("NOT i = 7 OR t", true), .init("f AND f OR t", true),
            .init("t OR f AND f", true), .init("(t OR f) AND f", false), .init("NOT f AND f", false),
            .init("NOT (f AND f)", true),
            .init("NOT (x AND f) AND t", true), .init("NOT (x OR t)", false), .init("NOT (x OR f) OR t", true),
            .init("x = 1 OR y = 1 OR i = 7", true), .init("x = 1 AND y = 1 AND i = 8", false),
            .init("NOT (i = 7 AND NOT (s = 'pop' OR d > 9))", false), .init("not T = true or t", true),
        ])
    func logic(_ row: TruthCase) throws { try check(row) }

    @Test(
        "A value alone is TRUE only as the boolean true",
        arguments: [
            TruthCase("t", true), .init("f", false), .init("s", false), .init("i", false), .init("tags", false), .init("x", nil),
            .init("nan", nil), .init("TRUE", true), .init("false", false), .init("1", false), .init("'true'", false),
            .init("i + 1", false), .init("s + 1", nil), .init("x + 1", nil), .init("(t)", true), .init("((x))", nil),
            .init("(i = 7) = TRUE", true), .init("(i = 7) = (s = 'rock')", true), .init("(i = 8) = f", true),
            .init("(x = 1) = TRUE", nil), .init("(x = 1) <> FALSE", nil), .init("(i = 7) = 1", false),
            .init("(t AND x) = f", nil),
            .init("((i = 7) = t) = TRUE", true), .init("(NOT t) = f", true), .init("(i = 7) IN (TRUE)", true),
            .init("(i = 7) > (i = 8)", false), .init("(t) = (f) OR t", true), .init("t = ((i = 7) AND (d = 2.5) = t)", true),
        ])
    func conditions(_ row: TruthCase) throws { try check(row) }

    @Test(
        "BETWEEN is for numbers, and its NOT form is its negation",
        arguments: [
            TruthCase("i BETWEEN 7 AND 9", true), .init("i BETWEEN 1 AND 7", true), .init("i BETWEEN 8 AND 9", false),
            .init("i NOT BETWEEN 8 AND 9", true), .init("i BETWEEN 9 AND 1", false), .init("d BETWEEN 2 AND 3", true),
            .init("'x' NOT BETWEEN 1 AND 2", true), .init("'x' BETWEEN 1 AND 2", false), .init("s BETWEEN 'a' AND 'z'", false),
            .init("i BETWEEN 'a' AND 9", false), .init("i NOT BETWEEN 'a' AND 9", true), .init("x BETWEEN 1 AND 2", nil),
            .init("x NOT BETWEEN 1 AND 2", nil), .init("i BETWEEN x AND 9", nil), .init("i BETWEEN 1 AND x", nil),
            .init("i BETWEEN 8 AND x", false), .init("i NOT BETWEEN 8 AND x", true), .init("i BETWEEN x AND 6", false),
            .init("'x' BETWEEN x AND 9", false), .init("tags BETWEEN 1 AND 9", false), .init("t NOT BETWEEN 0 AND 1", true),
            .init("i + 1 BETWEEN d * 3 AND 4 + 4 AND t", true), .init("7.5 BETWEEN i AND 8", true),
            .init("nan BETWEEN 1 AND 2", nil),
            .init("big BETWEEN 9007199254740992.5 AND 9007199254740993", true), .init("i / 0 NOT BETWEEN 1 AND 2", nil),
        ])
    func between(_ row: TruthCase) throws { try check(row) }

    @Test(
        "IN compares with each literal of its own type",
        arguments: [
            TruthCase("s IN ('rock')", true), .init("s IN ('pop', 'rock')", true), .init("s NOT IN ('pop', 'rock')", false),
            .init("s IN ('pop')", false), .init("s NOT IN ('pop')", true), .init("'a' IN ('a', 'b')", true),
            .init("i IN (1, 7)", true),
            .init("i IN ('7')", false), .init("i NOT IN ('7')", true), .init("t IN (TRUE, 1)", true),
            .init("i IN ('a', TRUE, 7)", true),
            .init("x IN (1)", nil), .init("x NOT IN (1)", nil), .init("tags IN ('rock')", false),
            .init("tags NOT IN ('rock')", true),
            .init("i - 8 IN (-1, +3)", true), .init("min IN (-9223372036854775808)", true), .init("nan IN (1)", nil),
            .init("long IN ('x', 'a string of more than fifteen bytes', 'another of more than fifteen bytes')", true),
            .init("long IN ('another of more than fifteen bytes', 'a string of more than fifteen bytez')", false),
            .init("e IN ('é')", false), .init("n IN (32)", false), .init("d IN (2, 2.5, 3)", true), .init("t IN ('true')", false),
        ])
    func membership(_ row: TruthCase) throws { try check(row) }

    @Test(
        "IS NULL is true for what is missing, and never unknown",
        arguments: [
            TruthCase("x IS NULL", true), .init("x IS NOT NULL", false), .init("i is null", false), .init("i IS NOT NULL", true),
            .init("nan IS NULL", false), .init("none IS NULL", false), .init("\"a property\" IS NOT NULL", true),
            .init("\"AND\" = 1", true), .init("\"q\"\"q\" = 2", true), .init("\"\" = 3", true), .init("Über = 1", true),
            .init("\"Über\" = 1", true), .init("\"i\" = 7", true), .init("\"a property\" = 'it''s'", true),
            .init("I IS NULL", true),
            .init("\"a name of more than fifteen bytes\" = 4", true),
            .init("\"a name of more than fifteen bytez\" IS NULL", true),
        ])
    func nulls(_ row: TruthCase) throws { try check(row) }

    @Test(
        "ANY and ALL take arrays on either side",
        arguments: [
            TruthCase("'rock' = ANY (tags)", true), .init("'jazz' = ANY (tags)", false), .init("'rock' = SOME (tags)", true),
            .init("ANY(tags) = 'rock'", true), .init("ALL(tags) = 'rock'", false), .init("'jazz' <> ALL (tags)", false),
            .init("'jazz' <> ANY (tags)", true), .init("3 = ANY (tags)", true), .init("4 > ANY (tags)", true),
            .init("ANY(tags) < 4", true), .init("ANY(tags) > 4", false), .init("ANY(nums) > 2", true),
            .init("2 > ALL(nums)", false),
            .init("3 > ALL (nums)", true), .init("ALL(nums) < 3", true), .init("ALL(nums) > 3", false),
            .init("ALL(nums) >= 1", true),
            .init("1 = ANY (none)", false), .init("1 = ALL (none)", true), .init("ANY(none) = 1", false),
            .init("x = ALL (none)", true), .init("ANY (none) = x", false), .init("NOT x <> ANY (none)", true),
            .init("1 = ANY (x)", nil), .init("ALL(x) = 1", nil), .init("x = ANY (tags)", nil), .init("SOME(i) = 7", true),
            .init("7 = ALL (i)", true), .init("i = ANY (1, 7)", true), .init("i = ALL (7, 7.0)", true),
            .init("i > ALL (1, 'a')", false),
            .init("i > ANY (1, 'a')", true), .init("s = ANY ('pop', 'rock')", true), .init("ANY('pop', 'rock') = s", true),
            .init("ALL(1, 2) < i", true), .init("ANY(9, 8) < i", false), .init("s > ANY (tags)", false),
            .init("tags = ANY (tags)", false),
            .init("tags = ALL (none)", true), .init("NOT ('jazz' = ANY (tags))", true), .init("i + 1 = ANY (8)", true),
            .init("ANY(tags) = i - 4", true), .init("1 = ANY (odd)", true), .init("2 = ANY (odd)", nil),
            .init("2 = ALL (odd)", false),
            .init("1 = ALL (odd)", nil), .init("ANY(long) = 'a string of more than fifteen bytes'", true),
            .init("t = ANY (TRUE)", true),
            .init("'a string of more than fifteen bytes' = ANY ('a string of more than fifteen bytes')", true),
        ])
    func quantifiers(_ row: TruthCase) throws { try check(row) }

    @Test("An array within an array compares false")
    func nestedArray() throws {
        let properties = Properties([("a", .array([.array([.integer(1)])]))])
        #expect(try Selector("1 = ANY (a)").evaluate(properties) == false)
        #expect(properties["a"] == .array([.array([.integer(1)])]))
    }

    @Test("The empty selector and white space match everything", arguments: ["", " ", "\t\r\n ", "\u{a0}\u{2003}"])
    func empty(text: String) throws {
        let selector = try Selector(text)
        #expect(selector.matchesAll)
        #expect(selector.evaluate(.none) == true)
        #expect(selector.matches(Self.sample))
        #expect(selector.normalised.isEmpty)
    }
}
