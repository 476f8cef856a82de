/// Understands the text of a selector: recursive descent with one token of lookahead.
///
///     selector  := [ or ] end
///     or        := and { OR and }
///     and       := not { AND not }
///     not       := NOT not | predicate
///     predicate := array comparison sum
///                | sum [ comparison ( sum | array ) | [NOT] BETWEEN sum AND sum | [NOT] IN '(' literals ')'
///                      | [NOT] LIKE string [ESCAPE string] ]
///                | identifier IS [NOT] NULL
///     array     := ( ANY | SOME | ALL ) '(' ( identifier | literals ) ')'
///     sum       := product { (+|-) product }
///     product   := unary { (*|/) unary }
///     unary     := (+|-) unary | literal | identifier | '(' or ')'
///     literals  := literal { ',' literal }, a number with or without one sign
///
/// Parentheses hold conditions and values alike; which of them is known only at their end, so both are read by the same rule
/// and nothing is read twice.
struct Parser {
    private var lexer: Lexer
    private(set) var token: Token
    private var depth = 0
    /// Names in double quotes that are compared with a property, one sentence each: most of them were meant as texts.
    private(set) var doubts: [String] = []

    init(_ scalars: [Unicode.Scalar]) throws(SelectorError) {
        lexer = Lexer(scalars)
        token = try lexer.next()
    }

    /// - Returns: nil when there is nothing but white space.
    mutating func parse() throws(SelectorError) -> Expression? {
        if case .end = token.kind { return nil }
        let expression = try disjunction()
        guard case .end = token.kind else { throw refused("the expression ends before this") }
        return expression
    }

    mutating func advance() throws(SelectorError) {
        token = try lexer.next()
    }

    func refused(_ message: String) -> SelectorError {
        SelectorError(message: message, position: token.position)
    }

    /// Whether the token is a name in double quotes.
    var isQuoted: Bool { lexer.isQuoted(token) }

    /// Notes the token that follows a comparison with a property without quotes.
    mutating func doubt(rightOf left: Expression, isPlain: Bool) {
        guard isPlain, case .property = left, isQuoted, case .identifier(let name) = token.kind else { return }
        let text = "'" + name.replacing("'", with: "''") + "'"
        let number = Self.isNumber(name) ? "\(name) for a number, " : ""
        doubts.append("\"\(name)\" in double quotes is the name of a property; write \(number)\(text) for a text.")
    }

    /// Whether a text is a number without a sign.
    private static func isNumber(_ text: String) -> Bool {
        guard let first = text.utf8.first, (48...57).contains(first), Double(text) != nil else { return false }
        return first != UInt8(ascii: "0") || text == "0" || text.hasPrefix("0.")
    }

    func at(_ keyword: Keyword) -> Bool {
        if case .keyword(keyword) = token.kind { true } else { false }
    }

    mutating func take(_ keyword: Keyword) throws(SelectorError) -> Bool {
        guard at(keyword) else { return false }
        try advance()
        return true
    }

    mutating func expectLeftParenthesis(after word: String) throws(SelectorError) {
        guard case .leftParenthesis = token.kind else { throw refused("( is expected after \(word)") }
        try advance()
    }

    mutating func expectRightParenthesis() throws(SelectorError) {
        guard case .rightParenthesis = token.kind else { throw refused(") is expected") }
        try advance()
    }

    /// Steps over the token that opens a level of nesting and reads what is in it.
    private mutating func nested(
        _ body: (inout Parser) throws(SelectorError) -> Expression
    ) throws(SelectorError) -> Expression {
        guard depth < Selector.maximumDepth else {
            throw refused("parentheses, NOT and signs are nested more than \(Selector.maximumDepth) deep")
        }
        try advance()
        depth += 1
        let expression = try body(&self)
        depth -= 1
        return expression
    }
}

// MARK: - Conditions

extension Parser {
    private mutating func disjunction() throws(SelectorError) -> Expression {
        let first = try conjunction()
        guard at(.or) else { return first }
        var operands = first.disjuncts
        while try take(.or) { operands += try conjunction().disjuncts }
        return .disjunction(operands)
    }

    private mutating func conjunction() throws(SelectorError) -> Expression {
        let first = try negation()
        guard at(.and) else { return first }
        var operands = first.conjuncts
        while try take(.and) { operands += try negation().conjuncts }
        return .conjunction(operands)
    }

    private mutating func negation() throws(SelectorError) -> Expression {
        guard at(.not) else { return try predicate() }
        return .not(try nested { parser throws(SelectorError) in try parser.negation() })
    }
}

extension Expression {
    fileprivate var disjuncts: [Expression] {
        if case .disjunction(let operands) = self { operands } else { [self] }
    }

    fileprivate var conjuncts: [Expression] {
        if case .conjunction(let operands) = self { operands } else { [self] }
    }
}

// MARK: - Values

extension Parser {
    mutating func sum() throws(SelectorError) -> Expression {
        try chain(additive: true) { parser throws(SelectorError) in try parser.product() }
    }

    private mutating func product() throws(SelectorError) -> Expression {
        try chain(additive: false) { parser throws(SelectorError) in try parser.unary() }
    }

    private mutating func chain(
        additive: Bool, operand: (inout Parser) throws(SelectorError) -> Expression
    ) throws(SelectorError) -> Expression {
        let first = try operand(&self)
        var terms: [Expression.Term] = []
        while case .arithmetic(let operation) = token.kind, operation.isAdditive == additive {
            try advance()
            terms.append(.init(operation: operation, operand: try operand(&self)))
        }
        if terms.isEmpty { return first }
        // Parentheses around the left end of a chain change nothing.
        if case .arithmetic(let start, let more) = first, more[0].operation.isAdditive == additive {
            return .arithmetic(start, more + terms)
        }
        return .arithmetic(first, terms)
    }

    private mutating func unary() throws(SelectorError) -> Expression {
        switch token.kind {
        case .arithmetic(.minus): try nested { parser throws(SelectorError) in try parser.negative() }
        case .arithmetic(.plus): try nested { parser throws(SelectorError) in try parser.positive() }
        default: try primary()
        }
    }

    /// What follows a minus; the sign of a literal becomes part of it.
    private mutating func negative() throws(SelectorError) -> Expression {
        if case .integer(let magnitude) = token.kind, magnitude == 1 << 63 {
            try advance()
            return .literal(.integer(.min))
        }
        let operand = try unary()
        if case .literal(let literal) = operand, let negated = literal.negated { return .literal(negated) }
        return .sign(negative: true, operand)
    }

    private mutating func positive() throws(SelectorError) -> Expression {
        let operand = try unary()
        if case .literal(let literal) = operand, literal.isNumber { return operand }
        return .sign(negative: false, operand)
    }

    private mutating func primary() throws(SelectorError) -> Expression {
        switch token.kind {
        case .identifier(let name):
            try advance()
            return .property(name)
        case .leftParenthesis:
            return try nested { parser throws(SelectorError) in
                let expression = try parser.disjunction()
                try parser.expectRightParenthesis()
                return expression
            }
        case .string, .integer, .double, .keyword(.true), .keyword(.false):
            return .literal(try literal())
        case .keyword(.null): throw refused("NULL is used only in IS NULL and IS NOT NULL")
        case .keyword(let keyword):
            throw refused("a value is expected, and \(keyword.rawValue) is a reserved word: write \"…\" around a property's name")
        case .end: throw refused("a value is expected at the end")
        case .comparison(let comparison):
            let single = comparison == .equal ? "; compare with a single =" : ""
            throw refused("a value is expected, not \"\(comparison.text)\"\(single)")
        default: throw refused("a value is expected")
        }
    }

    /// A literal without a sign.
    func unsignedLiteral() throws(SelectorError) -> Literal {
        switch token.kind {
        case .string(let text): return .string(text)
        case .integer(let magnitude):
            guard let value = Int64(exactly: magnitude) else {
                throw refused("the integer does not fit into 64 bits; write it with a decimal point to make it a double")
            }
            return .integer(value)
        case .double(let value, let spelling): return .double(value, spelling: spelling)
        case .keyword(.true): return .boolean(true)
        case .keyword(.false): return .boolean(false)
        case .keyword(.null): throw refused("NULL is used only in IS NULL and IS NOT NULL")
        default: throw refused("a literal is expected: a string, a number, TRUE or FALSE")
        }
    }

    mutating func literal() throws(SelectorError) -> Literal {
        let literal = try unsignedLiteral()
        try advance()
        return literal
    }
}
