/// Compiles an expression.
///
/// NOT is pushed down to the tests: each test knows which of true and false it passes on, and AND and OR become jumps. What is
/// unknown passes or not for the whole run, see ``Machine``. A condition used as a value (`(a = 1) = b`) becomes an inner
/// block, run before the one that uses it.
struct ProgramBuilder {
    private var storage = DatumStorage(reserving: Program.headSize, longTag: Datum.Tag.longInProgram)
    private var blocks: [ContiguousArray<UInt64>] = []
    private var code = Code()
    private var stackDepth = 0
    /// See ``EvaluationBudget/halvings(tests:)``.
    private let halvings: UInt64

    /// A place in a block to jump to.
    private enum Label {
        case reject
        case local(Int)
    }

    /// The block being written.
    private struct Code {
        var words: ContiguousArray<UInt64> = []
        var places: [Int] = []
        var jumps: [(header: Int, label: Int)] = []
        var stackDepth = 0
    }

    /// - Parameter searchCount: Tests that share the budget of an evaluation; nil: those of the expression.
    static func program(of expression: Expression, searchCount: Int? = nil) -> Program {
        var builder = ProgramBuilder(
            halvings: EvaluationBudget.halvings(tests: searchCount ?? expression.searchCount))
        let main = builder.block(of: expression)
        return builder.assembled(main: main)
    }

    private init(halvings: UInt64) { self.halvings = halvings }

    private mutating func block(of expression: Expression) -> ContiguousArray<UInt64> {
        let outer = code
        code = Code()
        test(expression, passesWhen: true, jumpWhen: false, to: .reject)
        for jump in code.jumps {
            var instruction = Instruction(word: code.words[jump.header])
            instruction.setTarget(code.places[jump.label])
            code.words[jump.header] = instruction.word
        }
        defer { code = outer }
        return code.words
    }

    private mutating func assembled(main: ContiguousArray<UInt64>) -> Program {
        storage[0] = append(main)
        storage[1] = UInt64(stackDepth) | UInt64(blocks.count) << 32
        let table = storage.count
        for _ in blocks { storage.append(0) }
        for (index, block) in blocks.enumerated() { storage[table + index] = append(block) }
        return Program(words: storage.words)
    }

    /// - Returns: begin and end.
    private mutating func append(_ block: ContiguousArray<UInt64>) -> UInt64 {
        let begin = UInt64(storage.count)
        storage.append(contentsOf: block)
        return begin | UInt64(storage.count) << 32
    }
}

// MARK: - Conditions

extension ProgramBuilder {
    /// Writes a test of the expression: jumps to the label when `passes == jumpWhen`, else goes on.
    private mutating func test(
        _ expression: Expression, passesWhen wanted: Bool, jumpWhen: Bool, to label: Label
    ) {
        switch expression {
        case .not(let operand): test(operand, passesWhen: !wanted, jumpWhen: jumpWhen, to: label)
        case .conjunction(let operands): chain(operands, isDecidedBy: !wanted, wanted, jumpWhen, label)
        case .disjunction(let operands): chain(operands, isDecidedBy: wanted, wanted, jumpWhen, label)
        default:
            let header = predicate(expression, wanted: wanted, jumpWhen: jumpWhen)
            guard case .local(let index) = label else { return }
            code.jumps.append((header, index))
        }
    }

    /// - Parameter decisive: the outcome of one operand that is the outcome of all.
    private mutating func chain(
        _ operands: [Expression], isDecidedBy decisive: Bool, _ wanted: Bool, _ jumpWhen: Bool, _ label: Label
    ) {
        if decisive == jumpWhen {
            for operand in operands { test(operand, passesWhen: wanted, jumpWhen: jumpWhen, to: label) }
            return
        }
        let end = code.places.count
        code.places.append(0)
        for operand in operands.dropLast() {
            test(operand, passesWhen: wanted, jumpWhen: decisive, to: .local(end))
        }
        test(operands[operands.count - 1], passesWhen: wanted, jumpWhen: jumpWhen, to: label)
        code.places[end] = code.words.count
    }

    /// - Returns: the index of the header of the test.
    private mutating func predicate(_ expression: Expression, wanted: Bool, jumpWhen: Bool) -> Int {
        let header: Int
        var isNegated = false
        switch expression {
        case .comparison(let left, let comparison, let right): header = compare(left, comparison, right)
        case .quantified(let quantified): header = compare(quantified)
        case .between(let operand, let low, let high, let negated):
            header = between(operand, low, high)
            isNegated = negated
        case .membership(let operand, let literals, let negated):
            header = membership(operand, literals)
            isNegated = negated
        case .like(let operand, let pattern, let escape, let negated):
            header = like(operand, pattern, escape)
            isNegated = negated
        case .null(let name, let negated):
            header = emit(.isMissing, operand: .property(name))
            isNegated = negated
        default: header = emit(.truth, operand: expression)
        }
        var instruction = Instruction(word: code.words[header])
        instruction.setTest(passesWhen: wanted != isNegated, jumpWhen: jumpWhen)
        code.words[header] = instruction.word
        return header
    }

    private mutating func compare(_ left: Expression, _ comparison: Comparison, _ right: Expression) -> Int {
        switch (left, right) {
        case (_, .literal(let literal)): return compare(left, comparison, literal)
        case (.literal(let literal), _): return compare(right, comparison.mirrored, literal)
        default:
            value(left)
            push()
            let header = emit(.compareStack, detail: comparison.rawValue, operand: right)
            pop()
            return header
        }
    }

    private mutating func compare(_ operand: Expression, _ comparison: Comparison, _ literal: Literal) -> Int {
        let datum = datum(of: literal).canonicalNumber
        let detail = comparison.rawValue
        switch datum.tag {
        case Datum.Tag.integer: return emit(.compareInteger, detail: detail, operand: operand, [datum.low])
        case Datum.Tag.double: return emit(.compareDatum, detail: detail, operand: operand, [datum.low, datum.high])
        case _ where !comparison.isEquality: return emit(.never, operand: operand)
        case Datum.Tag.boolean:
            return withOperandLength(datum.low, emit(.compareBoolean, detail: detail, operand: operand))
        case ...Instruction.wordCapacity:
            return withOperandLength(datum.tag, emit(.compareWord, detail: detail, operand: operand, [datum.low]))
        default: return emit(.compareDatum, detail: detail, operand: operand, [datum.low, datum.high])
        }
    }

    private mutating func withOperandLength(_ length: UInt64, _ header: Int) -> Int {
        var instruction = Instruction(word: code.words[header])
        instruction.setOperand(length: length)
        code.words[header] = instruction.word
        return header
    }

    private mutating func compare(_ quantified: Expression.QuantifiedComparison) -> Int {
        let detail = quantified.direct.rawValue | (quantified.isUniversal ? Instruction.universalBit : 0)
        switch (quantified.array, quantified.operand) {
        case (.list(let literals), let operand):
            let data = literals.map { datum(of: $0) }
            return emit(.quantifiedList, detail: detail, operand: operand, [list(data)])
        case (.property(let name), .literal(let literal)):
            let datum = datum(of: literal)
            let header = emit(.quantifiedConstant, detail: detail, operand: .property(name), [datum.low, datum.high])
            return withOperandLength(halvings, header)
        case (.property(let name), let operand):
            value(operand)
            push()
            let header = emit(.quantifiedStack, detail: detail, operand: .property(name))
            pop()
            return withOperandLength(halvings, header)
        }
    }

    private mutating func between(_ operand: Expression, _ low: Expression, _ high: Expression) -> Int {
        if case .literal(let low) = low, case .literal(let high) = high, low.isNumber, high.isNumber {
            let low = datum(of: low)
            let high = datum(of: high)
            return emit(.betweenConstants, operand: operand, [low.low, low.high, high.low, high.high])
        }
        value(operand)
        push()
        value(low)
        push()
        let header = emit(.between, operand: high)
        pop()
        pop()
        return header
    }

    private mutating func membership(_ operand: Expression, _ literals: [Literal]) -> Int {
        let data = literals.map { datum(of: $0).canonicalNumber }
        let sorted = data.sorted { $0.low != $1.low ? $0.low < $1.low : $0.high < $1.high }
        return emit(.membership, operand: operand, [list(sorted)])
    }

    /// - Returns: the index of the list.
    private mutating func list(_ data: [Datum]) -> UInt64 {
        let index = storage.count
        storage.append(UInt64(data.count))
        for datum in data {
            storage.append(datum.low)
            storage.append(datum.high)
        }
        return UInt64(index)
    }

    private mutating func like(_ operand: Expression, _ text: String, _ escape: Unicode.Scalar?) -> Int {
        // The parser has refused what is no pattern.
        let pieces = LikePattern(text, escape: escape)?.pieces ?? []
        let index = storage.count
        storage.append(UInt64(pieces.count))
        for piece in pieces {
            storage.append(LikeMatcher.head(of: piece))
            storage.append(bytes: piece.bytes)
        }
        return withOperandLength(halvings, emit(.like, operand: operand, [UInt64(index)]))
    }
}

// MARK: - Values

extension ProgramBuilder {
    /// Writes what brings the value of the expression into the accumulator.
    private mutating func value(_ expression: Expression) {
        // Says that there are instructions which the short loop of the machine does not know.
        stackDepth = max(stackDepth, 1)
        switch expression {
        case .property: emit(.load, operand: expression)
        case .literal(let literal):
            let datum = datum(of: literal)
            emit(.constant, [datum.low, datum.high])
        case .sign(let negative, let operand): emit(.sign, detail: negative ? 1 : 0, operand: operand)
        case .arithmetic(let first, let terms):
            value(first)
            for term in terms { apply(term) }
        default:
            let inner = block(of: expression)
            blocks.append(inner)
            emit(.block, [UInt64(blocks.count - 1)])
        }
    }

    private mutating func apply(_ term: Expression.Term) {
        let detail = term.operation.rawValue
        if case .literal(let literal) = term.operand {
            let datum = datum(of: literal)
            emit(.combineConstant, detail: detail, [datum.low, datum.high])
        } else {
            push()
            emit(.combine, detail: detail, operand: term.operand)
            pop()
        }
    }

    private mutating func datum(of literal: Literal) -> Datum {
        switch literal {
        case .boolean(let value): Datum(value)
        case .integer(let value): Datum(value)
        case .double(let value, _): Datum(value)
        case .string(let value): storage.datum(of: value)
        }
    }

    private mutating func push() {
        emit(.push, [])
        code.stackDepth += 1
        stackDepth = max(stackDepth, code.stackDepth)
    }

    private mutating func pop() {
        code.stackDepth -= 1
    }

    /// Writes an instruction on the value of the operand, which a property's name in the instruction itself loads.
    ///
    /// - Returns: the index of the header.
    @discardableResult
    private mutating func emit(
        _ opcode: Opcode, detail: UInt8 = 0, operand: Expression, _ payload: [UInt64] = []
    ) -> Int {
        guard case .property(let name) = operand else {
            value(operand)
            return emit(opcode, detail: detail, payload)
        }
        let key = storage.datum(of: name)
        let header = code.words.count
        var instruction = Instruction(opcode, detail: detail, payloadCount: payload.count)
        let fitsWord = key.tag <= Instruction.wordCapacity
        instruction.setName(length: fitsWord ? key.tag : Instruction.longName)
        code.words.append(instruction.word)
        code.words.append(key.low)
        if !fitsWord { code.words.append(key.high) }
        code.words.append(contentsOf: payload)
        return header
    }

    @discardableResult
    private mutating func emit(_ opcode: Opcode, detail: UInt8 = 0, _ payload: [UInt64]) -> Int {
        let header = code.words.count
        code.words.append(Instruction(opcode, detail: detail, payloadCount: payload.count).word)
        code.words.append(contentsOf: payload)
        return header
    }
}
