import SeededRandom
import Selectors

/// Makes random selectors as trees and as texts.
struct RandomSelector {
    var random: SplitMix64

    static let names = [
        "a", "b", "c", "tags", "none", "A", "AND", "a b", "q\"q", "é", "a name longer than fifteen bytes", "missing",
    ]
    static let values: [PropertyValue] = [
        .boolean(true), .boolean(false), .integer(0), .integer(1), .integer(2), .integer(-3), .integer(.max), .integer(.min),
        .integer(9_007_199_254_740_993), .double(0.5), .double(2), .double(-1.5), .double(9_007_199_254_740_992),
        .double(1e300), .string(""), .string("a"), .string("ab"), .string("it's"), .string("é"), .string("e\u{301}"),
        .string("a string longer than fifteen bytes"), .string("a string longer than fifteen bytez"), .string("b%_!"),
    ]
    static let signs = ["=", "<>", "!=", "<", "<=", ">", ">="]

    mutating func properties() -> [(name: String, value: PropertyValue)] {
        var pairs = Self.names.filter { $0 != "missing" && random.chance(80) }.map { (name: $0, value: property(named: $0)) }
        if random.chance(30) { pairs += (0..<10).map { (name: "more \($0)", value: .integer(Int64($0))) } }
        pairs.shuffle(using: &random)
        return pairs
    }

    private mutating func property(named name: String) -> PropertyValue {
        if name == "none" { return .array([]) }
        if name == "tags" || random.chance(10) { return .array((0..<random.below(4)).map { _ in element() }) }
        return element()
    }

    private mutating func element() -> PropertyValue {
        random.chance(4) ? .double(random.pick([.nan, .infinity])) : random.pick(Self.values)
    }

    mutating func condition(_ depth: Int) -> NaiveExpression {
        if depth > 0, random.chance(60) {
            switch random.below(3) {
            case 0: return .not(condition(depth - 1))
            case 1: return .and(condition(depth - 1), condition(depth - 1))
            default: return .or(condition(depth - 1), condition(depth - 1))
            }
        }
        return predicate(depth)
    }

    private mutating func predicate(_ depth: Int) -> NaiveExpression {
        let isNegated = random.chance(40)
        switch random.below(10) {
        case 0: return sum(depth)
        case 1: return .null(random.pick(Self.names), isNegated: isNegated)
        case 2: return .between(sum(depth), sum(depth), sum(depth), isNegated: isNegated)
        case 3: return .membership(sum(depth), literals(12), isNegated: isNegated)
        case 4:
            let escape: Unicode.Scalar? = random.chance(40) ? "!" : nil
            return .like(sum(depth), pattern(escape), escape, isNegated: isNegated)
        case 5, 6:
            let array: NaiveArray =
                random.chance(50) ? .property(random.pick(["tags", "none", "a", "missing"])) : .list(literals(3))
            return .quantified(
                sum(depth), random.pick(Self.signs), isAll: random.chance(50), array, isMirrored: random.chance(50))
        default: return .comparison(sum(depth), random.pick(Self.signs), sum(depth))
        }
    }

    private mutating func sum(_ depth: Int) -> NaiveExpression {
        if depth > 0 {
            if random.chance(8) { return condition(depth - 1) }
            if random.chance(20) { return .arithmetic(sum(depth - 1), random.pick(["+", "-", "*", "/"]), sum(depth - 1)) }
            if random.chance(8) { return .sign(random.pick(["+", "-"]), sum(depth - 1)) }
        }
        return random.chance(65) ? .property(random.pick(Self.names)) : .value(random.pick(Self.values))
    }

    private mutating func literals(_ limit: Int) -> [PropertyValue] {
        (0...random.below(limit)).map { _ in random.pick(Self.values) }
    }

    private mutating func pattern(_ escape: Unicode.Scalar?) -> String {
        let pieces = ["a", "b", "%", "%", "_", "é"] + (escape == nil ? ["!"] : ["!%", "!_", "!!"])
        return (0..<random.below(5)).map { _ in random.pick(pieces) }.joined()
    }
}

// MARK: - Text

extension RandomSelector {
    /// A text of the tree, with random white space, cases and needless parentheses.
    mutating func text(_ expression: NaiveExpression) -> String { text(expression, atLeast: 0) }

    private mutating func text(_ expression: NaiveExpression, atLeast level: Int) -> String {
        let (text, own) = bare(expression)
        return own < level || random.chance(10) ? "(" + space() + text + space() + ")" : text
    }

    /// The text and how tightly it binds: 0 OR, 1 AND, 2 NOT, 3 a predicate, 4 a sum, 5 a product, 6 a sign, 7 the rest.
    private mutating func bare(_ expression: NaiveExpression) -> (String, Int) {
        switch expression {
        case .value(let value): return (literal(value), Self.isNegative(value) ? 6 : 7)
        case .property(let name): return (identifier(name), 7)
        case .sign(let sign, let operand): return ("\(sign) " + text(operand, atLeast: 6), 6)
        case .arithmetic(let left, let sign, let right):
            let level = sign == "+" || sign == "-" ? 4 : 5
            return (text(left, atLeast: level) + " \(sign) " + text(right, atLeast: level + 1), level)
        case .comparison(let left, let sign, let right):
            return (text(left, atLeast: 4) + space() + sign + space() + text(right, atLeast: 4), 3)
        case .not(let operand): return (word("NOT") + " " + text(operand, atLeast: 2), 2)
        case .and(let left, let right):
            return (text(left, atLeast: 1) + " " + word("AND") + " " + text(right, atLeast: 2), 1)
        case .or(let left, let right):
            return (text(left, atLeast: 0) + " " + word("OR") + " " + text(right, atLeast: 1), 0)
        default: return (range(expression), 3)
        }
    }

    private mutating func range(_ expression: NaiveExpression) -> String {
        switch expression {
        case .between(let operand, let low, let high, let isNegated):
            return text(operand, atLeast: 4) + not(isNegated) + word("BETWEEN") + " " + text(low, atLeast: 4) + " "
                + word("AND") + " " + text(high, atLeast: 4)
        case .membership(let operand, let list, let isNegated):
            return text(operand, atLeast: 4) + not(isNegated) + word("IN") + space() + self.list(list)
        case .like(let operand, let pattern, let escape, let isNegated):
            let end = escape.map { " " + word("ESCAPE") + space() + "'\($0)'" } ?? ""
            return text(operand, atLeast: 4) + not(isNegated) + word("LIKE") + space() + literal(.string(pattern)) + end
        case .null(let name, let isNegated):
            return identifier(name) + " " + word("IS") + not(isNegated) + word("NULL")
        case .quantified(let operand, let sign, let isAll, let array, let isMirrored):
            let quantifier = isAll ? "ALL" : random.chance(50) ? "ANY" : "SOME"
            let side = word(quantifier) + space() + self.array(array)
            return isMirrored
                ? side + space() + sign + space() + text(operand, atLeast: 4)
                : text(operand, atLeast: 4) + space() + sign + space() + side
        default: return ""
        }
    }

    private mutating func array(_ array: NaiveArray) -> String {
        switch array {
        case .property(let name): "(" + space() + identifier(name) + space() + ")"
        case .list(let list): self.list(list)
        }
    }

    private mutating func list(_ list: [PropertyValue]) -> String {
        "(" + list.map { literal($0) }.joined(separator: space() + "," + space()) + ")"
    }

    private mutating func not(_ isNegated: Bool) -> String { isNegated ? " " + word("NOT") + " " : " " }

    private mutating func word(_ word: String) -> String {
        String(word.map { random.chance(30) ? Character($0.lowercased()) : $0 })
    }

    private mutating func space() -> String { random.pick(["", "", " ", "  ", "\n", "\t"]) }

    private mutating func identifier(_ name: String) -> String {
        let isPlain = name.allSatisfy(\.isLetter) && name != "AND"
        return isPlain && random.chance(80) ? name : "\"" + Self.doubled("\"", in: name) + "\""
    }

    private mutating func literal(_ value: PropertyValue) -> String {
        switch value {
        case .boolean(let value): word(value ? "TRUE" : "FALSE")
        case .integer(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): "'" + Self.doubled("'", in: value) + "'"
        case .array: ""
        }
    }

    private static func doubled(_ quote: Character, in text: String) -> String {
        text.reduce(into: "") { $0 += $1 == quote ? "\(quote)\(quote)" : "\($1)" }
    }

    private static func isNegative(_ value: PropertyValue) -> Bool {
        switch value {
        case .integer(let value): value < 0
        case .double(let value): value < 0
        default: false
        }
    }
}
