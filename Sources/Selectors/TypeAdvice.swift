/// Finds the comparisons that types alone decide, for the author of a selector.
struct TypeAdvice {
    /// nil: what holds for every publication.
    private let properties: Properties?
    private var sentences: [String] = []

    static func hints(of expression: Expression) -> [String] {
        var advice = TypeAdvice(properties: nil)
        advice.visit(condition: expression)
        return advice.sentences
    }

    /// What holds for these properties and not for every publication.
    static func mismatches(in expression: Expression, _ properties: Properties) -> [String] {
        var advice = TypeAdvice(properties: properties)
        advice.visit(condition: expression)
        return advice.sentences
    }

    /// Why types alone decide the predicate for these properties; nil where they do not.
    static func reason(_ predicate: Expression, _ properties: Properties) -> String? {
        if case .null = predicate { return nil }
        return TypeAdvice(properties: properties).reason(predicate, properties)
    }

    private init(properties: Properties?) {
        self.properties = properties
    }

    /// What is known of the type of a value.
    enum Kind: Equatable {
        case string, number, boolean, array
        /// A property of a publication not given: any type.
        case any
        /// No value, so that types decide nothing.
        case none

        var phrase: String {
            switch self {
            case .string: "a string"
            case .number: "a number"
            case .boolean: "a boolean"
            case .array: "an array"
            case .any, .none: "unknown"
            }
        }

        var isOrdered: Bool { self == .number || self == .any }

        /// Whether a comparison of the two can be true.
        func canCompare(with other: Kind, _ comparison: Comparison) -> Bool {
            guard self != .array, other != .array else { return false }
            guard comparison.isEquality || isOrdered && other.isOrdered else { return false }
            return self == other || self == .any || other == .any
        }
    }
}

// MARK: - The walk

extension TypeAdvice {
    private mutating func visit(condition expression: Expression) {
        switch expression {
        case .not(let operand): visit(condition: operand)
        case .conjunction(let operands), .disjunction(let operands):
            for operand in operands { visit(condition: operand) }
        case .null: break
        default:
            for operand in expression.values where operand.isCondition { visit(condition: operand) }
            for operand in expression.values { visit(value: operand) }
            advise(expression)
        }
    }

    /// Looks for conditions inside of arithmetic.
    private mutating func visit(value expression: Expression) {
        switch expression {
        case .sign(_, let operand): visitOperand(operand)
        case .arithmetic(let first, let terms):
            visitOperand(first)
            for term in terms { visitOperand(term.operand) }
        default: break
        }
    }

    private mutating func visitOperand(_ operand: Expression) {
        if operand.isCondition { visit(condition: operand) } else { visit(value: operand) }
    }

    private mutating func advise(_ predicate: Expression) {
        guard let reason = reason(predicate, properties) else { return }
        // What is so for every publication is said by the hints.
        if properties != nil, self.reason(predicate, nil) != nil { return }
        let place = properties == nil ? "can never be" : "cannot be"
        let here = properties == nil ? "" : " here"
        let sentence = "\(predicate.text(.spaced)) \(place) \(predicate.isNegatedForm ? "false" : "true")\(here): \(reason)."
        if !sentences.contains(where: { $0.utf8.elementsEqual(sentence.utf8) }) { sentences.append(sentence) }
    }
}

// MARK: - Kinds

extension TypeAdvice {
    private func kind(of expression: Expression, _ properties: Properties?) -> Kind {
        switch expression {
        case .literal(let literal): kind(of: literal)
        case .property(let name): kind(ofProperty: name, properties)
        case .sign(_, let operand): numeric([operand], properties)
        case .arithmetic(let first, let terms): numeric([first] + terms.map(\.operand), properties)
        default: .boolean
        }
    }

    private func kind(of literal: Literal) -> Kind {
        switch literal {
        case .boolean: .boolean
        case .integer, .double: .number
        case .string: .string
        }
    }

    private func kind(ofProperty name: String, _ properties: Properties?) -> Kind {
        guard let properties else { return .any }
        return properties[name].map { kind(of: $0) } ?? .none
    }

    private func kind(of value: PropertyValue) -> Kind {
        switch value {
        case .boolean: .boolean
        case .integer: .number
        case .double(let value): value.isFinite ? .number : .none
        case .string: .string
        case .array: .array
        }
    }

    private func numeric(_ operands: [Expression], _ properties: Properties?) -> Kind {
        let kinds = operands.map { kind(of: $0, properties) }
        return kinds.allSatisfy { $0 == .number || $0 == .any } ? .number : .none
    }

    /// Why arithmetic in the expression has no result; nil when it can have one.
    private func arithmeticReason(_ expression: Expression, _ properties: Properties?) -> String? {
        let operands: [Expression]
        switch expression {
        case .sign(_, let operand): operands = [operand]
        case .arithmetic(let first, let terms): operands = [first] + terms.map(\.operand)
        default: return nil
        }
        for operand in operands {
            if let reason = arithmeticReason(operand, properties) { return reason }
            let kind = kind(of: operand, properties)
            if kind == .string || kind == .boolean || kind == .array {
                return "\(operand.text(.spaced)) is \(kind.phrase) and arithmetic is for numbers"
            }
        }
        return nil
    }
}

// MARK: - Reasons

extension TypeAdvice {
    /// Why types keep the plain form of the predicate from being true; nil when they do not.
    private func reason(_ predicate: Expression, _ properties: Properties?) -> String? {
        let values = predicate.values
        for value in values {
            if let reason = arithmeticReason(value, properties) { return reason }
        }
        let kinds = values.map { kind(of: $0, properties) }
        if kinds.contains(.none) { return nil }
        switch predicate {
        case .comparison(let left, let comparison, let right):
            return reason((left, kinds[0]), comparison, (right, kinds[1]))
        case .between:
            for (value, kind) in zip(values, kinds) where !kind.isOrdered {
                return "BETWEEN is for numbers and \(value.text(.spaced)) is \(kind.phrase)"
            }
            return nil
        case .membership(_, let literals, _):
            let elements = literals.map { kind(of: $0) }
            if elements.contains(where: { kinds[0].canCompare(with: $0, .equal) }) { return nil }
            return "\(values[0].text(.spaced)) is \(kinds[0].phrase) and nothing in the list is"
        case .like:
            if kinds[0] == .string || kinds[0] == .any { return nil }
            return "LIKE is for strings and \(values[0].text(.spaced)) is \(kinds[0].phrase)"
        case .quantified(let quantified): return reason(quantified, kinds[0], properties)
        default:
            if kinds[0] == .boolean || kinds[0] == .any { return nil }
            return "\(values[0].text(.spaced)) is \(kinds[0].phrase) and a condition is a boolean"
        }
    }

    private func reason(
        _ left: (text: Expression, kind: Kind), _ comparison: Comparison, _ right: (text: Expression, kind: Kind)
    ) -> String? {
        if left.kind.canCompare(with: right.kind, comparison) { return nil }
        for side in [left, right] where side.kind == .array {
            return "\(side.text.text(.spaced)) is an array, which ANY or ALL compares"
        }
        if left.kind != right.kind, left.kind != .any, right.kind != .any {
            return "\(left.text.text(.spaced)) is \(left.kind.phrase) and \(right.text.text(.spaced)) is \(right.kind.phrase)"
        }
        let unordered = left.kind.isOrdered ? right : left
        return "\(unordered.text.text(.spaced)) is \(unordered.kind.phrase), which knows only = and <>"
    }

    private func reason(
        _ quantified: Expression.QuantifiedComparison, _ kind: Kind, _ properties: Properties?
    ) -> String? {
        let elements: [Kind]
        let name: String
        switch quantified.array {
        case .list(let literals):
            elements = literals.map { self.kind(of: $0) }
            name = "the list"
        case .property(let property):
            guard let properties else {
                // Some publication may have an empty array, for which ALL is true.
                if quantified.isUniversal || kind.canCompare(with: .any, quantified.comparison) { return nil }
                return "\(quantified.operand.text(.spaced)) is \(kind.phrase), which knows only = and <>"
            }
            guard let value = properties[property] else { return nil }
            elements = if case .array(let values) = value { values.map { self.kind(of: $0) } } else { [self.kind(of: value)] }
            name = Expression.property(property).text(.spaced)
        }
        if elements.isEmpty || elements.contains(.none) { return nil }
        let operand = quantified.operand.text(.spaced)
        let comparable = elements.map { kind.canCompare(with: $0, quantified.comparison) }
        if quantified.isUniversal {
            if let index = comparable.firstIndex(of: false) {
                return
                    "\(name) has \(elements[index].phrase), which \(operand) does not compare with by \(quantified.comparison.text)"
            }
            if kind == .any, elements.contains(where: { $0 != elements[0] }) {
                return "\(name) has values of different types"
            }
            return nil
        }
        return comparable.contains(true)
            ? nil : "\(name) has nothing that \(operand) compares with by \(quantified.comparison.text)"
    }
}

extension Expression {
    /// The values a predicate is about, as far as they are expressions; a value as a condition is about itself.
    fileprivate var values: [Expression] {
        switch self {
        case .comparison(let left, _, let right): [left, right]
        case .quantified(let quantified): [quantified.operand]
        case .between(let operand, let low, let high, _): [operand, low, high]
        case .membership(let operand, _, _), .like(let operand, _, _, _): [operand]
        case .literal, .property, .sign, .arithmetic: [self]
        case .null, .not, .conjunction, .disjunction: []
        }
    }

    fileprivate var isNegatedForm: Bool {
        switch self {
        case .between(_, _, _, let isNegated), .membership(_, _, let isNegated), .like(_, _, _, let isNegated): isNegated
        default: false
        }
    }
}
