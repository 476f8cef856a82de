/// Walks an expression, judges each of its predicates, and reports those that decided.
struct Explainer {
    let properties: Properties
    private var findings: [SelectorExplanation.Finding] = []
    private var omitted = 0
    /// Tests of the whole that share the budget of an evaluation.
    private var searchCount = 0

    init(_ properties: Properties) { self.properties = properties }

    mutating func explain(_ expression: Expression) -> SelectorExplanation {
        searchCount = expression.searchCount
        let judgement = judge(expression)
        report(judgement, isNegated: false)
        return SelectorExplanation(truth: judgement.truth, findings: findings, omitted: omitted)
    }

    /// An expression and its truth, so that nothing is judged twice.
    private indirect enum Judgement {
        case predicate(Expression, Bool?)
        case not(Judgement)
        case conjunction([Judgement], Bool?)
        case disjunction([Judgement], Bool?)

        var truth: Bool? {
            switch self {
            case .predicate(_, let truth), .conjunction(_, let truth), .disjunction(_, let truth): truth
            case .not(let operand): operand.truth.map { !$0 }
            }
        }
    }

    private func judge(_ expression: Expression) -> Judgement {
        switch expression {
        case .not(let operand): return .not(judge(operand))
        case .conjunction(let operands):
            let judgements = operands.map(judge)
            return .conjunction(judgements, Self.truth(of: judgements, decisive: false))
        case .disjunction(let operands):
            let judgements = operands.map(judge)
            return .disjunction(judgements, Self.truth(of: judgements, decisive: true))
        default:
            return .predicate(expression, ProgramBuilder.program(of: expression, searchCount: searchCount).verdict(properties))
        }
    }

    private static func truth(of operands: [Judgement], decisive: Bool) -> Bool? {
        if operands.contains(where: { $0.truth == decisive }) { return decisive }
        return operands.contains { $0.truth == nil } ? nil : !decisive
    }

    private mutating func report(_ judgement: Judgement, isNegated: Bool) {
        switch judgement {
        case .not(let operand): report(operand, isNegated: !isNegated)
        case .conjunction(let operands, let truth): report(operands, truth, of: true, isNegated)
        case .disjunction(let operands, let truth): report(operands, truth, of: false, isNegated)
        case .predicate(let predicate, let truth):
            let truth = isNegated ? truth.map { !$0 } : truth
            add(.init(text: text(of: predicate, isNegated: isNegated, truth), truth: truth))
        }
    }

    /// - Parameter joint: The truth that takes all operands; any other one takes only those that have it.
    private mutating func report(_ operands: [Judgement], _ truth: Bool?, of joint: Bool, _ isNegated: Bool) {
        for operand in operands where truth == joint || operand.truth == truth { report(operand, isNegated: isNegated) }
    }

    private mutating func add(_ finding: SelectorExplanation.Finding) {
        guard !findings.contains(where: { $0.text.utf8.elementsEqual(finding.text.utf8) }) else { return }
        if findings.count < SelectorExplanation.findingsMaximum { findings.append(finding) } else { omitted += 1 }
    }

    // MARK: Words

    private func text(of predicate: Expression, isNegated: Bool, _ truth: Bool?) -> String {
        let shown = (isNegated ? "NOT " : "") + shown(predicate, depth: 0)
        let text: String
        switch truth {
        case true?: text = "\(shown) is true"
        case false?: text = "\(shown) is false"
        case nil:
            let missing = predicate.propertyNames.filter { properties[$0] == nil }.map { Self.shown(name: $0) }
            text = missing.isEmpty ? "\(shown) is unknown" : "\(Self.missing(missing)), so \(shown) is unknown"
        }
        let reason = TypeAdvice.reason(predicate, properties).map { ": \($0)" } ?? ""
        return (text + reason).cut(to: SelectorExplanation.findingLengthMaximum)
    }

    /// `a is missing`, `a and b are missing`, `a, b, c and 4 more are missing`.
    private static func missing(_ names: [String]) -> String {
        switch names.count {
        case 1: "\(names[0]) is missing"
        case 2: "\(names[0]) and \(names[1]) are missing"
        case 3: "\(names[0]), \(names[1]) and \(names[2]) are missing"
        default: "\(names[..<3].joined(separator: ", ")) and \(names.count - 3) more are missing"
        }
    }
}

extension Program {
    /// The truth as a condition has it; nil is unknown.
    func verdict(_ properties: Properties) -> Bool? {
        var program = self
        return switch program.truth(properties) {
        case 0: false
        case 1: true
        default: nil
        }
    }
}

extension Expression {
    /// The properties it names, each once, in the order of the text.
    var propertyNames: [String] {
        var names: [String] = []
        gather(&names)
        return names
    }

    private func gather(_ names: inout [String]) {
        func note(_ name: String) {
            if !names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { names.append(name) }
        }
        switch self {
        case .literal: break
        case .property(let name), .null(let name, _): note(name)
        case .sign(_, let operand), .not(let operand): operand.gather(&names)
        case .membership(let operand, _, _), .like(let operand, _, _, _): operand.gather(&names)
        case .arithmetic(let first, let terms):
            first.gather(&names)
            for term in terms { term.operand.gather(&names) }
        case .comparison(let left, _, let right):
            left.gather(&names)
            right.gather(&names)
        case .quantified(let quantified):
            quantified.operand.gather(&names)
            if case .property(let name) = quantified.array { note(name) }
        case .between(let operand, let low, let high, _): for value in [operand, low, high] { value.gather(&names) }
        case .conjunction(let operands), .disjunction(let operands): for operand in operands { operand.gather(&names) }
        }
    }
}
