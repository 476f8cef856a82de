/// Runs a program on one publication's properties.
///
/// Three-valued logic without three-valued operations: NOT is at the tests only, so the whole is monotone in them. Run with
/// what is unknown as not passing, it passes exactly when the selector is TRUE; run with what is unknown as passing, it fails
/// exactly when the selector is FALSE. The second run is needed only when the first failed and met something unknown.
struct Machine {
    let program: UnsafePointer<UInt64>
    let properties: UnsafePointer<UInt64>
    let stack: UnsafeMutablePointer<Datum>
    /// The truth of each inner block that has been run.
    let truths: UnsafeMutablePointer<Truth>

    /// 0 is false, 1 is true, 2 is unknown: the number of a bit in a mask.
    typealias Truth = UInt64
    static let unknown: Truth = 2

    /// - Parameter span: begin and end of the block.
    @inline(__always)
    func truth(ofBlock span: UInt64, usesStack: Bool) -> Truth {
        var met: Truth = 0
        if passes(span, unknownPasses: false, usesStack: usesStack, &met) { return 1 }
        if met & Self.unknown == 0 { return 0 }
        return passes(span, unknownPasses: true, usesStack: usesStack, &met) ? Self.unknown : 0
    }

    /// - Parameters:
    ///   - usesStack: a constant where it is called; without it the loop knows the first instructions only, and keeps all it
    ///     has in registers.
    ///   - met: all truths met, as a set of their bits.
    @inline(__always)
    func passes(_ span: UInt64, unknownPasses: Bool, usesStack: Bool, _ met: inout Truth) -> Bool {
        let block = program + Int(truncatingIfNeeded: span & 0xFFFF_FFFF)
        let end = program + Int(truncatingIfNeeded: span >> 32)
        let unknownMask: UInt64 = unknownPasses ? 0b100 : 0
        var stackTop = stack
        var accumulator = Datum.missing
        var cursor = block
        while cursor < end {
            let instruction = Instruction(word: cursor[0])
            cursor += 1
            if instruction.hasName { accumulator = load(instruction, &cursor) }
            let truth: Truth
            switch instruction.opcode {
            case .compareInteger:
                truth = compare(accumulator, integer: Int64(bitPattern: cursor[0]), instruction.comparison)
            case .compareWord:
                let isSame = accumulator.isIdentical(to: Datum(tag: instruction.operandLength, low: cursor[0]))
                truth = accumulator.isString ? instruction.comparison &>> (isSame ? 1 : 0) & 1 : undecided(accumulator)
            case .compareBoolean:
                let isSame = accumulator.low == instruction.operandLength
                truth =
                    accumulator.tag == Datum.Tag.boolean
                    ? instruction.comparison &>> (isSame ? 1 : 0) & 1 : undecided(accumulator)
            case .truth:
                truth = accumulator.tag == Datum.Tag.boolean ? accumulator.low : undecided(accumulator)
            case .isMissing:
                truth = accumulator.tag == Datum.Tag.missing ? 1 : 0
            case .betweenConstants, .compareDatum, .never, .membership, .like, .quantifiedConstant, .quantifiedList:
                truth = test(accumulator, instruction, cursor)
            case .compareStack, .between, .quantifiedStack:
                guard usesStack else { return false }
                truth = test(stackTop, accumulator, instruction)
                stackTop -= instruction.opcode == .between ? 2 : 1
            case .load, .constant, .block, .push, .combine, .combineConstant, .sign:
                guard usesStack else { return false }
                accumulator = prepare(instruction, accumulator, &stackTop, cursor)
                cursor += instruction.payloadCount
                continue
            }
            cursor += instruction.payloadCount
            met |= truth
            let passes = (instruction.passing | unknownMask) &>> truth & 1
            if passes == instruction.jumpWhen {
                if instruction.target == Instruction.reject { return false }
                cursor = block + instruction.target
            }
        }
        return true
    }

    @inline(__always)
    private func load(_ instruction: Instruction, _ cursor: inout UnsafePointer<UInt64>) -> Datum {
        let length = instruction.nameLength
        if length <= Instruction.wordCapacity {
            let name = Datum(tag: length, low: cursor[0])
            cursor += 1
            return Properties.find(name, in: properties)
        }
        let name = Datum(low: cursor[0], high: cursor[1])
        cursor += 2
        return Properties.find(anyLength: name, nameWords: program, in: properties)
    }

    /// Computes the accumulator.
    private func prepare(
        _ instruction: Instruction, _ accumulator: Datum, _ stackTop: inout UnsafeMutablePointer<Datum>,
        _ payload: UnsafePointer<UInt64>
    ) -> Datum {
        switch instruction.opcode {
        case .constant:
            return datum(payload)
        case .block:
            let truth = truths[Int(truncatingIfNeeded: payload[0])]
            return truth == Self.unknown ? .indeterminate : Datum(truth == 1)
        case .push:
            stackTop.initialize(to: accumulator)
            stackTop += 1
            return accumulator
        case .combine:
            stackTop -= 1
            return Datum.combine(stackTop[0], operation(of: instruction), accumulator)
        case .combineConstant:
            return Datum.combine(accumulator, operation(of: instruction), datum(payload))
        case .sign:
            return accumulator.signed(negative: instruction.detail == 1)
        default:
            return accumulator
        }
    }

    @inline(__always)
    private func datum(_ words: UnsafePointer<UInt64>) -> Datum { Datum(low: words[0], high: words[1]) }

    private func operation(of instruction: Instruction) -> ArithmeticOperator {
        unsafeBitCast(instruction.detail, to: ArithmeticOperator.self)
    }
}

// MARK: - Tests

extension Machine {
    /// A test of the accumulator that is rare enough for a call.
    @inline(never)
    private func test(_ value: Datum, _ instruction: Instruction, _ payload: UnsafePointer<UInt64>) -> Truth {
        switch instruction.opcode {
        case .betweenConstants:
            return between(value, datum(payload), datum(payload + 2))
        case .compareDatum: return compare(value, datum(payload), instruction.comparison)
        case .membership: return membership(of: value, in: program + Int(truncatingIfNeeded: payload[0]))
        case .like: return like(value, instruction, pattern: program + Int(truncatingIfNeeded: payload[0]))
        case .quantifiedConstant: return quantified(datum(payload), instruction, array: value)
        case .quantifiedList:
            let list = program + Int(truncatingIfNeeded: payload[0])
            return quantified(value, instruction, elements: list + 1, count: Int(truncatingIfNeeded: list[0]))
        default: return undecided(value)
        }
    }

    /// A test of the accumulator with what is on the stack.
    @inline(never)
    private func test(
        _ stackTop: UnsafeMutablePointer<Datum>, _ value: Datum, _ instruction: Instruction
    ) -> Truth {
        switch instruction.opcode {
        case .compareStack: compare(stackTop[-1], value, instruction.comparison)
        case .between: between(stackTop[-2], stackTop[-1], value)
        default: quantified(stackTop[-1], instruction, array: value)
        }
    }

    /// What a test of a value of the wrong type says: false, or unknown when there is no value.
    @inline(__always)
    private func undecided(_ datum: Datum) -> Truth { datum.isUnknown ? Self.unknown : 0 }

    @inline(__always)
    private func compare(_ left: Datum, integer: Int64, _ comparison: UInt64) -> Truth {
        if left.tag == Datum.Tag.integer {
            let value = left.integer
            return comparison &>> ((value >= integer ? 1 : 0) + (value > integer ? 1 : 0)) & 1
        }
        return compare(left, Datum(integer), comparison)
    }

    @inline(never)
    private func compare(_ left: Datum, _ right: Datum, _ comparison: UInt64) -> Truth {
        if left.isUnknown || right.isUnknown { return Self.unknown }
        if left.isNumber, right.isNumber { return comparison &>> Datum.order(left, right) & 1 }
        let isEquality = comparison == 0b010 || comparison == 0b101
        guard isEquality, left.isString && right.isString || left.tag == right.tag, left.tag != Datum.Tag.array else {
            return 0
        }
        return comparison &>> (isSame(left, right) ? 1 : 0) & 1
    }

    private func isSame(_ left: Datum, _ right: Datum) -> Bool {
        guard left.isLongString, right.isLongString else { return left.isIdentical(to: right) }
        return DatumStorage.isEqual(left, in: words(of: left), right, in: words(of: right))
    }

    private func words(of datum: Datum) -> UnsafePointer<UInt64> {
        datum.tag == Datum.Tag.longInProgram ? program : properties
    }

    @inline(__always)
    private func between(_ value: Datum, _ low: Datum, _ high: Datum) -> Truth {
        if value.isUnknown { return Self.unknown }
        let isAbove = low.isUnknown ? Self.unknown : value.isNumber && low.isNumber && Datum.order(value, low) > 0 ? 1 : 0
        let isBelow = high.isUnknown ? Self.unknown : value.isNumber && high.isNumber && Datum.order(value, high) < 2 ? 1 : 0
        if isAbove == 0 || isBelow == 0 { return 0 }
        return isAbove == 1 && isBelow == 1 ? 1 : Self.unknown
    }

    /// - Parameter list: a count, then the data in the order of their words, numbers canonical.
    private func membership(of value: Datum, in list: UnsafePointer<UInt64>) -> Truth {
        if value.isUnknown { return Self.unknown }
        let wanted = value.canonicalNumber
        var low = 0
        var high = Int(truncatingIfNeeded: list[0])
        let count = high
        // The first datum that is not before the wanted one; long strings are found by their hash alone.
        let wantedHigh = wanted.isLongString ? 0 : wanted.high
        while low < high {
            let middle = (low + high) / 2
            let start = list + 1 + 2 * middle
            if start[0] < wanted.low || (start[0] == wanted.low && start[1] < wantedHigh) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        while low < count {
            let datum = Datum(low: list[1 + 2 * low], high: list[2 + 2 * low])
            guard datum.low == wanted.low else { return 0 }
            if isSame(datum, wanted) { return 1 }
            if !wanted.isLongString { return 0 }
            low += 1
        }
        return 0
    }

    private func like(_ value: Datum, _ instruction: Instruction, pattern: UnsafePointer<UInt64>) -> Truth {
        guard value.isString else { return undecided(value) }
        return value.withBytes(in: words(of: value)) { text in
            guard EvaluationBudget.allows(bytes: text.count, halvings: instruction.operandLength) else { return Self.unknown }
            return LikeMatcher(pattern: pattern, text: text).matches() ? 1 : 0
        }
    }

    private func quantified(_ value: Datum, _ instruction: Instruction, array: Datum) -> Truth {
        if array.isUnknown { return Self.unknown }
        guard array.tag == Datum.Tag.array else { return compare(value, array, instruction.comparison) }
        let count = Int(truncatingIfNeeded: array.low)
        guard EvaluationBudget.allows(elements: count, halvings: instruction.operandLength) else { return Self.unknown }
        return quantified(value, instruction, elements: properties + array.index, count: count)
    }

    private func quantified(
        _ value: Datum, _ instruction: Instruction, elements: UnsafePointer<UInt64>, count: Int
    ) -> Truth {
        let decisive: Truth = instruction.detail & Instruction.universalBit == 0 ? 1 : 0
        // Of no elements that is known, whatever is compared (SQL-92, 8.7).
        if count > 0, value.isUnknown { return Self.unknown }
        var result = 1 - decisive
        for index in 0..<count {
            let element = Datum(low: elements[2 * index], high: elements[2 * index + 1])
            let truth = compare(value, element, instruction.comparison)
            if truth == decisive { return decisive }
            if truth == Self.unknown { result = Self.unknown }
        }
        return result
    }
}
