/// A selector as it was understood.
///
/// Chains are flat, so the nesting is bounded by ``Selector/maximumDepth`` whatever the length of the text, and so are the
/// recursions over it.
indirect enum Expression {
    case literal(Literal)
    case property(String)
    case sign(negative: Bool, Expression)
    /// A sum or a product, from left to right; all operators are additive or none is.
    case arithmetic(Expression, [Term])
    case comparison(Expression, Comparison, Expression)
    case quantified(QuantifiedComparison)
    case between(Expression, low: Expression, high: Expression, isNegated: Bool)
    case membership(Expression, [Literal], isNegated: Bool)
    case like(Expression, pattern: String, escape: Unicode.Scalar?, isNegated: Bool)
    case null(property: String, isNegated: Bool)
    case not(Expression)
    case conjunction([Expression])
    case disjunction([Expression])

    struct Term {
        let operation: ArithmeticOperator
        let operand: Expression
    }

    /// `x op ANY (array)` or `ANY (array) op x`.
    struct QuantifiedComparison {
        let operand: Expression
        /// As written.
        let comparison: Comparison
        /// ALL rather than ANY or SOME.
        let isUniversal: Bool
        let array: QuantifiedArray
        /// The array is on the left.
        let isMirrored: Bool

        /// The operator with the operand on its left.
        var direct: Comparison { isMirrored ? comparison.mirrored : comparison }
    }

    enum QuantifiedArray {
        case property(String)
        case list([Literal])
    }

    /// Whether it has a truth value by itself, and is not the value of a property, a literal or a number.
    var isCondition: Bool {
        switch self {
        case .literal, .property, .sign, .arithmetic: false
        default: true
        }
    }
}

/// A literal value.
enum Literal {
    case boolean(Bool)
    case integer(Int64)
    /// The spelling is that of the magnitude.
    case double(Double, spelling: String)
    case string(String)

    var isNegative: Bool {
        switch self {
        case .integer(let value): value < 0
        case .double(let value, _): value.sign == .minus
        case .boolean, .string: false
        }
    }

    /// The literal with a minus before it; nil when it is no number, or negative already.
    var negated: Literal? {
        switch self {
        case .integer(let value) where value >= 0: .integer(-value)
        case .double(let value, let spelling) where value.sign == .plus: .double(-value, spelling: spelling)
        default: nil
        }
    }

    var isNumber: Bool {
        switch self {
        case .integer, .double: true
        case .boolean, .string: false
        }
    }
}
