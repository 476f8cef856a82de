extension Parser {
    mutating func predicate() throws(SelectorError) -> Expression {
        if let isUniversal = quantifier { return try mirroredQuantified(isUniversal: isUniversal) }
        let isBare = if case .identifier = token.kind { true } else { false }
        let isPlain = isBare && !isQuoted
        let left = try sum()
        switch token.kind {
        case .comparison(let comparison):
            try advance()
            doubt(rightOf: left, isPlain: isPlain)
            return try self.comparison(of: left, comparison)
        case .keyword(.is):
            guard isBare, case .property(let name) = left else {
                throw refused("IS takes the name of a property on its left")
            }
            return try null(name)
        case .keyword(.not):
            try advance()
            return try range(of: left, isNegated: true)
        case .keyword(.between), .keyword(.in), .keyword(.like):
            return try range(of: left, isNegated: false)
        default:
            return left
        }
    }

    private mutating func comparison(
        of left: Expression, _ comparison: Comparison
    ) throws(SelectorError) -> Expression {
        let result: Expression
        if let isUniversal = quantifier {
            let array = try quantifiedArray()
            result = .quantified(
                .init(operand: left, comparison: comparison, isUniversal: isUniversal, array: array, isMirrored: false))
        } else {
            result = .comparison(left, comparison, try sum())
        }
        try refuseChain()
        return result
    }

    private func refuseChain() throws(SelectorError) {
        if case .comparison = token.kind { throw refused("comparisons cannot be chained; join them with AND") }
    }

    private mutating func null(_ name: String) throws(SelectorError) -> Expression {
        try advance()
        let isNegated = try take(.not)
        guard at(.null) else { throw refused(isNegated ? "NULL is expected" : "NULL or NOT NULL is expected") }
        try advance()
        return .null(property: name, isNegated: isNegated)
    }

    private mutating func range(of left: Expression, isNegated: Bool) throws(SelectorError) -> Expression {
        switch token.kind {
        case .keyword(.between):
            try advance()
            let low = try sum()
            guard at(.and) else { throw refused("AND is expected between the bounds of BETWEEN") }
            try advance()
            return .between(left, low: low, high: try sum(), isNegated: isNegated)
        case .keyword(.in):
            try advance()
            try expectLeftParenthesis(after: "IN")
            return .membership(left, try literals(), isNegated: isNegated)
        case .keyword(.like):
            try advance()
            return try like(left, isNegated: isNegated)
        default:
            throw refused("BETWEEN, IN or LIKE is expected after NOT")
        }
    }

    // Everything is checked before the token after it is read: the leftmost mistake is the one to report.
    private mutating func like(_ left: Expression, isNegated: Bool) throws(SelectorError) -> Expression {
        guard case .string(let pattern) = token.kind else { throw refused("LIKE takes a pattern in single quotes") }
        let patternPosition = token.position
        try advance()
        guard at(.escape) else { return .like(left, pattern: pattern, escape: nil, isNegated: isNegated) }
        try advance()
        guard case .string(let text) = token.kind, let escape = text.unicodeScalars.first,
            text.unicodeScalars.dropFirst().isEmpty, escape != "%", escape != "_"
        else { throw refused("ESCAPE takes one character in single quotes, neither % nor _") }
        guard LikePattern(pattern, escape: escape) != nil else {
            throw SelectorError(
                message: "the escape character of the pattern must be before %, _ or itself", position: patternPosition)
        }
        try advance()
        return .like(left, pattern: pattern, escape: escape, isNegated: isNegated)
    }
}

// MARK: - Arrays

extension Parser {
    /// Whether the token is ALL rather than ANY or SOME; nil when it is none of them.
    private var quantifier: Bool? {
        switch token.kind {
        case .keyword(.any), .keyword(.some): false
        case .keyword(.all): true
        default: nil
        }
    }

    private mutating func mirroredQuantified(isUniversal: Bool) throws(SelectorError) -> Expression {
        let array = try quantifiedArray()
        guard case .comparison(let comparison) = token.kind else {
            throw refused("a comparison is expected after ANY, SOME or ALL (…)")
        }
        try advance()
        if quantifier != nil { throw refused("only one side of a comparison can be ANY, SOME or ALL") }
        let operand = try sum()
        try refuseChain()
        return .quantified(
            .init(operand: operand, comparison: comparison, isUniversal: isUniversal, array: array, isMirrored: true))
    }

    private mutating func quantifiedArray() throws(SelectorError) -> Expression.QuantifiedArray {
        try advance()
        try expectLeftParenthesis(after: "ANY, SOME or ALL")
        guard case .identifier(let name) = token.kind else { return .list(try literals()) }
        try advance()
        try expectRightParenthesis()
        return .property(name)
    }

    /// The literals up to and with the closing parenthesis.
    private mutating func literals() throws(SelectorError) -> [Literal] {
        var literals = [try signedLiteral()]
        while case .comma = token.kind {
            try advance()
            literals.append(try signedLiteral())
        }
        guard case .rightParenthesis = token.kind else { throw refused(", or ) is expected") }
        try advance()
        return literals
    }

    private mutating func signedLiteral() throws(SelectorError) -> Literal {
        guard case .arithmetic(let sign) = token.kind, sign.isAdditive else { return try literal() }
        try advance()
        if sign == .minus, case .integer(let magnitude) = token.kind, magnitude == 1 << 63 {
            try advance()
            return .integer(.min)
        }
        switch token.kind {
        case .integer, .double:
            let literal = try literal()
            return sign == .minus ? literal.negated ?? literal : literal
        default: throw refused("a number is expected after the sign")
        }
    }
}
