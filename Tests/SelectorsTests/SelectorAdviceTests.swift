import Testing

@testable import Selectors

@Suite("What types decide")
struct SelectorAdviceTests {
    @Test(
        "is hinted at where it is so for every publication",
        arguments: [
            ("'a' > 1", "'a' > 1 can never be true: 'a' is a string and 1 is a number."),
            ("'a' <> 1", "'a' <> 1 can never be true: 'a' is a string and 1 is a number."),
            ("x > 'a'", "x > 'a' can never be true: 'a' is a string, which knows only = and <>."),
            ("TRUE < x", "TRUE < x can never be true: TRUE is a boolean, which knows only = and <>."),
            ("'a' < 'b'", "'a' < 'b' can never be true: 'a' is a string, which knows only = and <>."),
            ("x + 1 = 'a'", "x + 1 = 'a' can never be true: x + 1 is a number and 'a' is a string."),
            ("x + 'a' = 1", "x + 'a' = 1 can never be true: 'a' is a string and arithmetic is for numbers."),
            ("x BETWEEN 'a' AND 'b'", "x BETWEEN 'a' AND 'b' can never be true: BETWEEN is for numbers and 'a' is a string."),
            (
                "'x' NOT BETWEEN 1 AND 2",
                "'x' NOT BETWEEN 1 AND 2 can never be false: BETWEEN is for numbers and 'x' is a string."
            ),
            ("1 IN ('a', TRUE)", "1 IN ('a', TRUE) can never be true: 1 is a number and nothing in the list is."),
            ("x + 1 LIKE 'a'", "x + 1 LIKE 'a' can never be true: LIKE is for strings and x + 1 is a number."),
            ("x > ANY ('a', 'b')", "x > ANY ('a', 'b') can never be true: the list has nothing that x compares with by >."),
            ("'a' > ANY (x)", "'a' > ANY (x) can never be true: 'a' is a string, which knows only = and <>."),
            ("x = ALL (1, 'a')", "x = ALL (1, 'a') can never be true: the list has values of different types."),
            (
                "1 = ALL (1, 'a')",
                "1 = ALL (1, 'a') can never be true: the list has a string, which 1 does not compare with by =."
            ),
            (
                "kind = \"espresso\"",
                "\"espresso\" in double quotes is the name of a property; write 'espresso' for a text."
            ),
            (
                "price > \"5\"",
                "\"5\" in double quotes is the name of a property; write 5 for a number, '5' for a text."
            ),
            ("x = \"007\"", "\"007\" in double quotes is the name of a property; write '007' for a text."),
            ("(x = 1) = 2", "(x = 1) = 2 can never be true: x = 1 is a boolean and 2 is a number."),
            ("b AND x + 1", "x + 1 can never be true: x + 1 is a number and a condition is a boolean."),
            ("b OR NOT ('a' = 1 AND 'a' = 1)", "'a' = 1 can never be true: 'a' is a string and 1 is a number."),
        ])
    func hints(text: String, hint: String) throws {
        #expect(try Selector(text).hints == [hint])
        #expect(try Selector(text).mismatches(in: .none).isEmpty)
    }

    @Test(
        "is not hinted at where a publication can make it true",
        arguments: [
            "x = 1", "x > 1", "x = 'a'", "\"a b\" = \"c d\"", "1 = \"c\"", "x <> TRUE", "x", "x > y", "'a' = 'b'", "1 > 2",
            "x IN (1, 'a')", "1 IN (2, 'a')",
            "x LIKE 'a'",
            "x BETWEEN y AND 2", "x = ANY ('a', 1)", "x = ALL (1, 2)", "'a' > ALL (x)", "'a' = ANY (x)", "x + y > 2", "TRUE",
            "x IS NULL", "",
            "(x = 1) = TRUE", "1 > ANY ('a', 0)",
        ])
    func noHints(text: String) throws { #expect(try Selector(text).hints.isEmpty) }

    static let sample = Properties([
        ("age", .string("32")), ("test", .string("true")), ("tags", .array([.string("a"), .integer(1)])), ("i", .integer(1)),
        ("t", .boolean(true)), ("none", .array([])), ("nan", .double(.nan)),
    ])

    @Test("The names of a selector are those of its properties, in the order of the text, each once")
    func names() throws {
        let text =
            #"NOT (b + -a > 1) AND c IN (1) OR d LIKE 'x' OR e IS NULL AND 1 = ANY (f) AND ALL (g) = h AND "i j" AND a BETWEEN k AND l"#
        #expect(
            try Selector.Advisor(Selector(text)).names == ["b", "a", "c", "d", "e", "f", "g", "h", "i j", "k", "l"])
        #expect(try Selector.Advisor(Selector("")).names.isEmpty)
    }

    @Test(
        "is reported where it is so for these properties",
        arguments: [
            ("age > 30", "age > 30 cannot be true here: age is a string and 30 is a number."),
            ("test = true", "test = TRUE cannot be true here: test is a string and TRUE is a boolean."),
            ("test", "test cannot be true here: test is a string and a condition is a boolean."),
            ("tags = 'a'", "tags = 'a' cannot be true here: tags is an array, which ANY or ALL compares."),
            ("age > test", "age > test cannot be true here: age is a string, which knows only = and <>."),
            ("age + 1 > 30", "age + 1 > 30 cannot be true here: age is a string and arithmetic is for numbers."),
            ("age BETWEEN 1 AND 99", "age BETWEEN 1 AND 99 cannot be true here: BETWEEN is for numbers and age is a string."),
            ("age NOT IN (32)", "age NOT IN (32) cannot be false here: age is a string and nothing in the list is."),
            ("i LIKE '1'", "i LIKE '1' cannot be true here: LIKE is for strings and i is a number."),
            ("TRUE = ANY (tags)", "TRUE = ANY (tags) cannot be true here: tags has nothing that TRUE compares with by =."),
            ("1 = ALL (tags)", "1 = ALL (tags) cannot be true here: tags has a string, which 1 does not compare with by =."),
            ("i = 1 OR NOT (age = 1)", "age = 1 cannot be true here: age is a string and 1 is a number."),
        ])
    func mismatches(text: String, mismatch: String) throws {
        let selector = try Selector(text)
        #expect(selector.hints.isEmpty)
        #expect(selector.mismatches(in: Self.sample) == [mismatch])
    }

    @Test(
        "is not reported where types agree or a value is missing",
        arguments: [
            "age = '31'", "i > 30", "x > 30", "x + 1 > 30", "x = age", "age IS NULL", "1 = ANY (tags)", "1 = ANY (none)",
            "'a' = ALL (none)",
            "nan = 'a'", "t", "x", "i + x = 2 OR t", "age IN ('x', 1)", "",
        ])
    func noMismatches(text: String) throws { #expect(try Selector(text).mismatches(in: Self.sample).isEmpty) }
}
