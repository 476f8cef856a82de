extension Expression {
    enum TextStyle {
        /// White space only where tokens would run together. Never longer than what it was read from, so that it stays
        /// within ``Selector/maximumLength``.
        case compact
        /// As one writes it for people.
        case spaced
    }

    /// The selector in one spelling: keywords in upper case, `<>` and ANY for their synonyms, no needless parentheses.
    func text(_ style: TextStyle) -> String {
        var writer = ExpressionWriter(style: style)
        writer.write(self, atLeast: .disjunction)
        return writer.text
    }
}

/// How tightly an expression binds; one that binds looser than its place allows needs parentheses.
private enum Binding: Int {
    case disjunction, conjunction, negation, predicate, sum, product, unary, primary
}

private struct ExpressionWriter {
    let style: Expression.TextStyle
    private(set) var text = ""
    private var joinsNext = true

    init(style: Expression.TextStyle) {
        self.style = style
    }

    mutating func write(_ expression: Expression, atLeast binding: Binding) {
        let needsParentheses = expression.binding.rawValue < binding.rawValue
        if needsParentheses { open() }
        write(expression)
        if needsParentheses { token(")") }
    }

    private mutating func write(_ expression: Expression) {
        switch expression {
        case .literal(let literal): write(literal)
        case .property(let name): write(name: name)
        case .sign(let negative, let operand):
            sign(negative ? "-" : "+")
            write(operand, atLeast: .unary)
        case .arithmetic(let first, let terms):
            let inner: Binding = expression.binding == .sum ? .product : .unary
            write(first, atLeast: inner)
            for term in terms {
                token(term.operation.text)
                write(term.operand, atLeast: inner)
            }
        case .comparison(let left, let comparison, let right):
            write(left, atLeast: .sum)
            token(comparison.text)
            write(right, atLeast: .sum)
        case .quantified(let quantified): write(quantified)
        case .not(let operand):
            token("NOT")
            write(operand, atLeast: .negation)
        case .conjunction(let operands): write(operands, joinedBy: "AND", atLeast: .negation)
        case .disjunction(let operands): write(operands, joinedBy: "OR", atLeast: .conjunction)
        case .between, .membership, .like, .null: writeRange(expression)
        }
    }

    private mutating func writeRange(_ expression: Expression) {
        switch expression {
        case .between(let operand, let low, let high, let isNegated):
            subject(operand, isNegated, "BETWEEN")
            write(low, atLeast: .sum)
            token("AND")
            write(high, atLeast: .sum)
        case .membership(let operand, let literals, let isNegated):
            subject(operand, isNegated, "IN")
            write(literals)
        case .like(let operand, let pattern, let escape, let isNegated):
            subject(operand, isNegated, "LIKE")
            write(string: pattern)
            guard let escape else { return }
            token("ESCAPE")
            write(string: String(escape))
        case .null(let name, let isNegated):
            write(name: name)
            token("IS")
            if isNegated { token("NOT") }
            token("NULL")
        default: break
        }
    }

    private mutating func subject(_ operand: Expression, _ isNegated: Bool, _ keyword: String) {
        write(operand, atLeast: .sum)
        if isNegated { token("NOT") }
        token(keyword)
    }

    private mutating func write(_ quantified: Expression.QuantifiedComparison) {
        if !quantified.isMirrored {
            write(quantified.operand, atLeast: .sum)
            token(quantified.comparison.text)
        }
        token(quantified.isUniversal ? "ALL" : "ANY")
        switch quantified.array {
        case .property(let name):
            open()
            write(name: name)
            token(")")
        case .list(let literals): write(literals)
        }
        if quantified.isMirrored {
            token(quantified.comparison.text)
            write(quantified.operand, atLeast: .sum)
        }
    }

    private mutating func write(_ operands: [Expression], joinedBy keyword: String, atLeast binding: Binding) {
        for (index, operand) in operands.enumerated() {
            if index > 0 { token(keyword) }
            write(operand, atLeast: binding)
        }
    }

    private mutating func write(_ literals: [Literal]) {
        open()
        for (index, literal) in literals.enumerated() {
            if index > 0 { token(",") }
            write(literal)
        }
        token(")")
    }

    private mutating func write(_ literal: Literal) {
        if literal.isNegative { sign("-") }
        switch literal {
        case .boolean(let value): token(value ? "TRUE" : "FALSE")
        case .integer(let value): token(String(value.magnitude))
        case .double(_, let spelling): token(spelling)
        case .string(let value): write(string: value)
        }
    }

    private mutating func write(string: String) {
        token("'" + Self.doubling("'", in: string) + "'")
    }

    private mutating func write(name: String) {
        let scalars = name.unicodeScalars
        let isPlain =
            scalars.first?.startsIdentifier == true && scalars.allSatisfy(\.continuesIdentifier)
            && Keyword(anyCase: scalars) == nil
        token(isPlain ? name : "\"" + Self.doubling("\"", in: name) + "\"")
    }

    private static func doubling(_ quote: Unicode.Scalar, in string: String) -> String {
        var view = String.UnicodeScalarView()
        for scalar in string.unicodeScalars {
            if scalar == quote { view.append(quote) }
            view.append(scalar)
        }
        return String(view)
    }

    // MARK: Tokens

    private mutating func open() {
        token("(")
        joinsNext = true
    }

    private mutating func sign(_ sign: String) {
        token(sign)
        joinsNext = true
    }

    private mutating func token(_ token: String) {
        if needsSpace(before: token) { text += " " }
        text += token
        joinsNext = false
    }

    private func needsSpace(before token: String) -> Bool {
        guard let last = text.unicodeScalars.last, let first = token.unicodeScalars.first else { return false }
        if last == "-", first == "-" { return true }
        switch style {
        case .spaced: return !joinsNext && first != ")" && first != ","
        case .compact: return Self.isWordLike(last) && Self.isWordLike(first)
        }
    }

    private static func isWordLike(_ scalar: Unicode.Scalar) -> Bool {
        scalar.continuesIdentifier || scalar == "."
    }
}

extension Expression {
    fileprivate var binding: Binding {
        switch self {
        case .disjunction: .disjunction
        case .conjunction: .conjunction
        case .not: .negation
        case .comparison, .quantified, .between, .membership, .like, .null: .predicate
        case .arithmetic(_, let terms): terms[0].operation.isAdditive ? .sum : .product
        case .sign: .unary
        case .literal(let literal): literal.isNegative ? .unary : .primary
        case .property: .primary
        }
    }
}
