// How predicates and values are shown: `price 600 < 500`, `tags ['a', 'b'] = ANY …`.

extension Explainer {
    /// The most scalars of one value or name.
    private static let valueLengthMaximum = 40
    /// The most elements of one list.
    private static let elementsMaximum = 8
    /// Deeper values are left out: they would be cut off anyway.
    private static let depthMaximum = 6

    /// The predicate with the value behind each property; without one where it is missing.
    func shown(_ expression: Expression, depth: Int) -> String {
        guard depth < Self.depthMaximum else { return "…" }
        switch expression {
        case .comparison(let left, let comparison, let right):
            return "\(side(left, depth)) \(comparison.text) \(side(right, depth))"
        case .quantified(let quantified): return shown(quantified, depth: depth)
        case .between(let operand, let low, let high, let isNegated):
            return "\(side(operand, depth))\(Self.not(isNegated)) BETWEEN \(side(low, depth)) AND \(side(high, depth))"
        case .membership(let operand, let literals, let isNegated):
            return "\(side(operand, depth))\(Self.not(isNegated)) IN \(Self.list(literals, "(", ")", Self.shown(literal:)))"
        case .like(let operand, let pattern, let escape, let isNegated):
            let end = escape.map { " ESCAPE \(Self.quoted(String($0)))" } ?? ""
            return "\(side(operand, depth))\(Self.not(isNegated)) LIKE \(Self.quoted(pattern))\(end)"
        case .null(let name, let isNegated): return "\(property(name)) IS\(Self.not(isNegated)) NULL"
        case .conjunction(let operands): return operands.prefix(3).map { side($0, depth) }.joined(separator: " AND ")
        case .disjunction(let operands): return operands.prefix(3).map { side($0, depth) }.joined(separator: " OR ")
        case .not(let operand): return "NOT \(side(operand, depth))"
        case .property(let name):
            // As a condition, a boolean says by itself what it is.
            if case .boolean? = properties[name] { return Self.shown(name: name) }
            return property(name)
        case .literal, .sign, .arithmetic: return side(expression, depth)
        }
    }

    private func shown(_ quantified: Expression.QuantifiedComparison, depth: Int) -> String {
        let array =
            switch quantified.array {
            case .property(let name): "(\(property(name)))"
            case .list(let literals): Self.list(literals, "(", ")", Self.shown(literal:))
            }
        let many = (quantified.isUniversal ? "ALL " : "ANY ") + array
        let one = side(quantified.operand, depth)
        let sign = quantified.comparison.text
        return quantified.isMirrored ? "\(many) \(sign) \(one)" : "\(one) \(sign) \(many)"
    }

    /// One side of a comparison: a literal, a property with its value, or what is computed in parentheses with its value.
    private func side(_ expression: Expression, _ depth: Int) -> String {
        switch expression {
        case .literal(let literal): return Self.shown(literal: literal)
        case .property(let name): return property(name)
        case .sign(let isNegative, let operand):
            return valued("\(isNegative ? "-" : "+") \(side(operand, depth + 1))", number(of: expression))
        case .arithmetic(let first, let terms):
            let more = terms.prefix(4).map { " \($0.operation.text) \(side($0.operand, depth + 1))" }.joined()
            let rest = terms.count > 4 ? " …" : ""
            return valued(side(first, depth + 1) + more + rest, number(of: expression))
        default:
            let truth = ProgramBuilder.program(of: expression).verdict(properties)
            return valued(shown(expression, depth: depth + 1), truth.map { .boolean($0) })
        }
    }

    private func valued(_ text: String, _ value: PropertyValue?) -> String {
        "(\(text))" + (value.map { " \(Self.shown($0))" } ?? "")
    }

    private func property(_ name: String) -> String {
        Self.shown(name: name) + (properties[name].map { " \(Self.shown($0))" } ?? "")
    }

    // MARK: Arithmetic

    /// The value of arithmetic; nil where it has none.
    private func number(of expression: Expression) -> PropertyValue? {
        let datum = datum(of: expression)
        switch datum.tag {
        case Datum.Tag.integer: return .integer(datum.integer)
        case Datum.Tag.double: return .double(datum.double)
        default: return nil
        }
    }

    /// As the machine computes it, for numbers; anything else is indeterminate.
    private func datum(of expression: Expression) -> Datum {
        switch expression {
        case .literal(.integer(let value)): return Datum(value)
        case .literal(.double(let value, _)): return Datum(value)
        case .property(let name):
            switch properties[name] {
            case .integer(let value)?: return Datum(value)
            case .double(let value)?: return Datum(value)
            default: return .indeterminate
            }
        case .sign(let isNegative, let operand): return datum(of: operand).signed(negative: isNegative)
        case .arithmetic(let first, let terms):
            return terms.reduce(datum(of: first)) { Datum.combine($0, $1.operation, datum(of: $1.operand)) }
        default: return .indeterminate
        }
    }

    // MARK: Parts

    private static func not(_ isNegated: Bool) -> String { isNegated ? " NOT" : "" }

    static func shown(name: String) -> String { Expression.property(name).text(.spaced).cut(to: valueLengthMaximum) }

    private static func shown(_ value: PropertyValue) -> String {
        switch value {
        case .boolean(let value): value ? "TRUE" : "FALSE"
        case .integer(let value): String(value)
        case .double(let value): "\(value)"
        case .string(let text): quoted(text)
        case .array(let elements): list(elements, "[", "]", shown)
        }
    }

    private static func shown(literal: Literal) -> String {
        switch literal {
        case .boolean(let value): value ? "TRUE" : "FALSE"
        case .integer(let value): String(value)
        case .double(let value, let spelling): (value.sign == .minus ? "-" : "") + spelling.cut(to: valueLengthMaximum)
        case .string(let text): quoted(text)
        }
    }

    private static func list<Element>(
        _ elements: [Element], _ open: String, _ close: String, _ shown: (Element) -> String
    ) -> String {
        let first = elements.prefix(elementsMaximum).map(shown).joined(separator: ", ")
        let rest = elements.count > elementsMaximum ? ", … \(elements.count) in all" : ""
        return open + first + rest + close
    }

    /// Cut before it is quoted, so that a long one has its quotes, too.
    private static func quoted(_ text: String) -> String {
        Expression.literal(.string(text.cut(to: valueLengthMaximum))).text(.spaced)
    }
}

extension String {
    /// At most so many scalars, the last one then `…`.
    func cut(to maximum: Int) -> String {
        guard unicodeScalars.count > maximum else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.prefix(maximum - 1))) + "…"
    }
}
