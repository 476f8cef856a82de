import Testing

@testable import Selectors

@Suite("The normalised text of a selector")
struct SelectorTextTests {
    @Test(
        "is the same for the same tokens, and reads as itself",
        arguments: [
            ("a = 1", "a=1"), ("a=1 and  B >2", "a=1 AND B>2"), ("((a = 1))", "a=1"), ("(a) = (1)", "a=1"), ("a != 1", "a<>1"),
            ("(a = 1 AND b) AND (c AND d)", "a=1 AND b AND c AND d"), ("a OR (b OR c)", "a OR b OR c"),
            ("(a OR b) AND c", "(a OR b)AND c"),
            ("(a AND b) OR c", "a AND b OR c"), ("NOT (a = 1)", "NOT a=1"), ("NOT (a OR b)", "NOT(a OR b)"),
            ("NOT(NOT(a))", "NOT NOT a"),
            ("(a = 1) = TRUE", "(a=1)=TRUE"), ("(NOT a) = true", "(NOT a)=TRUE"), ("\"a\" = 1", "a=1"),
            ("\"a b\" = 1", "\"a b\"=1"),
            ("\"and\" = 1", "\"and\"=1"), ("\"q\"\"q\"", "\"q\"\"q\""), ("a = 'it''s'", "a='it''s'"), ("a = -5", "a=-5"),
            ("a = -(5)", "a=-5"),
            ("a = - -5", "a=- -5"), ("a = -(-5)", "a=- -5"), ("a - -5 = b", "a- -5=b"), ("a - (b - c) = 1", "a-(b-c)=1"),
            ("(a - b) - c = 1", "a-b-c=1"), ("(a * b) + c = 1", "a*b+c=1"), ("a * (b + c) = 1", "a*(b+c)=1"),
            ("a / (b * c) = 1", "a/(b*c)=1"),
            ("-(a * b) = 1", "-(a*b)=1"), ("(-a) * b = 1", "-a*b=1"), ("+a = +5", "+a=5"), ("a = 7.e3", "a=7.E3"),
            ("a = 007.", "a=007."),
            ("a in ( 'x' , -1,TRUE )", "a IN('x',-1,TRUE)"), ("a NOT IN (1)", "a NOT IN(1)"),
            ("some(tags) = 'x'", "ANY(tags)='x'"),
            ("'x' = any ( tags )", "'x'=ANY(tags)"), ("x > all (1, 2)", "x>ALL(1,2)"), ("a between 1 and 2", "a BETWEEN 1 AND 2"),
            ("a not between -1 and (2)", "a NOT BETWEEN-1 AND 2"), ("a like 'x!%' escape '!'", "a LIKE'x!%'ESCAPE'!'"),
            ("a is not null", "a IS NOT NULL"), ("(a BETWEEN 1 AND 2) AND b", "a BETWEEN 1 AND 2 AND b"),
            ("(a)AND(b)", "a AND b"),
            ("a = -9223372036854775808", "a=-9223372036854775808"), ("a = -0.0", "a=-0.0"), ("((a = 1) = b) = c", "((a=1)=b)=c"),
        ])
    func normalised(text: String, expected: String) throws {
        let selector = try Selector(text)
        #expect(selector.normalised == expected)
        #expect(try Selector(selector.normalised).normalised == expected)
        #expect(selector.text == text)
        #expect(try Set([selector, Selector(expected)]).count == 1)
        #expect(selector.normalised.unicodeScalars.count <= text.unicodeScalars.count)
    }

    @Test(
        "differs where the meaning may",
        arguments: [("a = 1", "A = 1"), ("a = 'x'", "a = 'X'"), ("a = 'é'", "a = 'e\u{301}'"), ("a", "+a")])
    func different(left: String, right: String) throws {
        let left = try Selector(left)
        let right = try Selector(right)
        #expect(left != right)
        #expect(Set([left, right]).count == 2)
    }
}
