extension Expression {
    /// The names of properties in the order of the text, each once.
    var names: [String] {
        var names: [String] = []
        var known: Set<String> = []
        forEachName { name in
            if known.insert(name).inserted { names.append(name) }
        }
        return names
    }

    private func forEachName(_ body: (String) -> Void) {
        switch self {
        case .literal: break
        case .property(let name), .null(let name, _): body(name)
        case .sign(_, let operand), .not(let operand), .membership(let operand, _, _), .like(let operand, _, _, _):
            operand.forEachName(body)
        case .arithmetic(let first, let terms):
            first.forEachName(body)
            for term in terms { term.operand.forEachName(body) }
        case .comparison(let left, _, let right):
            left.forEachName(body)
            right.forEachName(body)
        case .quantified(let quantified):
            if quantified.isMirrored { quantified.array.forEachName(body) }
            quantified.operand.forEachName(body)
            if !quantified.isMirrored { quantified.array.forEachName(body) }
        case .between(let operand, let low, let high, _):
            for expression in [operand, low, high] { expression.forEachName(body) }
        case .conjunction(let operands), .disjunction(let operands):
            for operand in operands { operand.forEachName(body) }
        }
    }
}

extension Expression.QuantifiedArray {
    fileprivate func forEachName(_ body: (String) -> Void) {
        if case .property(let name) = self { body(name) }
    }
}
