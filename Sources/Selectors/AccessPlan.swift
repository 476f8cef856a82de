/// Derives from an expression what must hold wherever it is TRUE.
struct AccessPlan {
    /// The narrowest kind first, at most ``most``.
    private(set) var paths: [AccessPath] = []
    private static let most = 4

    /// Numbers a property must lie between, by the hash of its name, in the order of the text.
    private var bounds: [(name: UInt64, low: Double?, high: Double?)] = []

    init(_ expression: Expression) {
        visit(expression)
        for bound in bounds { addRange(bound) }
        // A stable order: the text decides between paths of a kind.
        let order = paths.indices.sorted { (paths[$1].kind, $0) < (paths[$0].kind, $1) }
        var kept: [AccessPath] = []
        for index in order where kept.count < AccessPlan.most && !kept.contains(paths[index]) { kept.append(paths[index]) }
        paths = kept
    }

    private mutating func visit(_ expression: Expression) {
        switch expression {
        case .conjunction(let operands): for operand in operands { visit(operand) }
        case .disjunction(let operands): visit(anyOf: operands)
        case .comparison(let left, let comparison, let right): visit(left, comparison, right)
        case .quantified(let quantified): visit(quantified)
        case .between(let operand, let low, let high, let isNegated): visit(operand, between: low, high, isNegated)
        case .membership(let operand, let literals, let isNegated):
            if !isNegated, case .property(let name) = operand { addEqualities(AccessKey.name(name), literals) }
            addPresence(operand)
        case .like(let operand, _, _, _): addPresence(operand)
        case .null(let name, let isNegated): if isNegated { addPresence(.property(name)) }
        case .property(let name): addEqualities(AccessKey.name(name), [.boolean(true)])
        // A negation is TRUE where what is negated is FALSE, which unlike types make too: nothing follows for values.
        case .not, .literal, .sign, .arithmetic: break
        }
    }

    /// One of the operands is TRUE, so each has to have a path.
    private mutating func visit(anyOf operands: [Expression]) {
        var best: [AccessPath] = []
        for operand in operands {
            guard best.count < AccessPath.mostKeys, let path = AccessPlan(operand).paths.first else { return }
            best.append(path)
        }
        if let path = AccessPath.union(best) { paths.append(path) }
    }

    private mutating func visit(_ left: Expression, _ comparison: Comparison, _ right: Expression) {
        switch (left, right) {
        case (.property(let name), .literal(let literal)): add(name, comparison, literal)
        case (.literal(let literal), .property(let name)): add(name, comparison.mirrored, literal)
        default: break
        }
        addPresence(left)
        addPresence(right)
    }

    private mutating func add(_ name: String, _ comparison: Comparison, _ literal: Literal) {
        let name = AccessKey.name(name)
        switch comparison {
        case .equal: addEqualities(name, [literal])
        case .less, .lessOrEqual: bound(name, low: nil, high: literal.approximate)
        case .greater, .greaterOrEqual: bound(name, low: literal.approximate, high: nil)
        case .notEqual: break
        }
    }

    private mutating func visit(_ quantified: Expression.QuantifiedComparison) {
        let isAnyEqual = !quantified.isUniversal && quantified.direct == .equal
        switch (quantified.array, quantified.operand) {
        case (.property(let name), .literal(let literal)) where isAnyEqual: addEqualities(AccessKey.name(name), [literal])
        case (.list(let literals), .property(let name)) where isAnyEqual: addEqualities(AccessKey.name(name), literals)
        default: break
        }
        if case .property(let name) = quantified.array { addPresence(.property(name)) }
        // Of an empty array ALL is true whatever the operand is, and so would be ALL of an empty list.
        if !quantified.isUniversal { addPresence(quantified.operand) }
    }

    private mutating func visit(_ operand: Expression, between low: Expression, _ high: Expression, _ isNegated: Bool) {
        addPresence(operand)
        guard !isNegated else { return }
        addPresence(low)
        addPresence(high)
        guard case .property(let name) = operand else { return }
        let hash = AccessKey.name(name)
        if case .literal(let literal) = low { bound(hash, low: literal.approximate, high: nil) }
        if case .literal(let literal) = high { bound(hash, low: nil, high: literal.approximate) }
    }

    // MARK: Paths

    private mutating func bound(_ name: UInt64, low: Double?, high: Double?) {
        let place = bounds.firstIndex { $0.name == name } ?? bounds.endIndex
        if place == bounds.endIndex { bounds.append((name, nil, nil)) }
        if let low { bounds[place].low = max(bounds[place].low ?? low, low) }
        if let high { bounds[place].high = min(bounds[place].high ?? high, high) }
    }

    private mutating func addRange(_ bound: (name: UInt64, low: Double?, high: Double?)) {
        guard let low = bound.low, let high = bound.high, low <= high else { return }
        guard let (level, key) = AccessKey.range(bound.name, from: low, to: high) else { return }
        add(.range, [(key, AccessPath.Shape(name: bound.name, level: level))])
    }

    private mutating func addEqualities(_ name: UInt64, _ literals: [Literal]) {
        guard literals.count <= AccessPath.mostKeys * 2 else { return }
        var storage = DatumStorage(reserving: 0, longTag: Datum.Tag.longInProgram)
        add(
            .equality,
            literals.map { literal in
                let datum =
                    switch literal {
                    case .boolean(let value): Datum(value)
                    case .integer(let value): Datum(value)
                    case .double(let value, _): Datum(value)
                    case .string(let value): storage.datum(of: value)
                    }
                return (AccessKey.equality(name, datum), AccessPath.Shape(name: name, level: nil))
            })
    }

    /// What reads a property has no value without it.
    private mutating func addPresence(_ operand: Expression) {
        switch operand {
        case .property(let name):
            let hash = AccessKey.name(name)
            add(.presence, [(AccessKey.presence(hash), AccessPath.Shape(name: hash, level: nil))])
        case .sign(_, let inner): addPresence(inner)
        case .arithmetic(let first, let terms):
            addPresence(first)
            for term in terms { addPresence(term.operand) }
        default: break
        }
    }

    private mutating func add(_ kind: AccessPath.Kind, _ parts: [(key: UInt64, shape: AccessPath.Shape)]) {
        if let path = AccessPath(kind, parts) { paths.append(path) }
    }
}

extension Literal {
    /// The number as a double; nil: it is none.
    fileprivate var approximate: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value, _): value
        case .boolean, .string: nil
        }
    }
}
