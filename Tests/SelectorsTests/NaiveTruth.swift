import Selectors

/// A selector of the twin: the language as a tree, evaluated as it is defined, without any of the engine's code.
indirect enum NaiveExpression {
    case value(PropertyValue)
    case property(String)
    case sign(Character, NaiveExpression)
    case arithmetic(NaiveExpression, Character, NaiveExpression)
    case comparison(NaiveExpression, String, NaiveExpression)
    case quantified(NaiveExpression, String, isAll: Bool, NaiveArray, isMirrored: Bool)
    case between(NaiveExpression, NaiveExpression, NaiveExpression, isNegated: Bool)
    case membership(NaiveExpression, [PropertyValue], isNegated: Bool)
    case like(NaiveExpression, String, Unicode.Scalar?, isNegated: Bool)
    case null(String, isNegated: Bool)
    case not(NaiveExpression)
    case and(NaiveExpression, NaiveExpression)
    case or(NaiveExpression, NaiveExpression)
}

enum NaiveArray {
    case property(String)
    case list([PropertyValue])
}

/// The naive twin of the compiled selectors.
struct NaiveTruth {
    let properties: [String: PropertyValue]

    /// Nil is unknown.
    func truth(_ expression: NaiveExpression) -> Bool? {
        switch expression {
        case .value, .property, .sign, .arithmetic:
            guard let value = value(expression) else { return nil }
            return value == .boolean(true)
        case .not(let operand): return truth(operand).map { !$0 }
        case .and(let left, let right):
            let both = [truth(left), truth(right)]
            return both.contains(false) ? false : both.contains(nil) ? nil : true
        case .or(let left, let right):
            let both = [truth(left), truth(right)]
            return both.contains(true) ? true : both.contains(nil) ? nil : false
        case .null(let name, let isNegated): return (properties[name] == nil) != isNegated
        case .comparison(let left, let sign, let right): return Self.compare(value(left), sign, value(right))
        case .between(let operand, let low, let high, let isNegated):
            guard let operand = value(operand) else { return nil }
            func holds(_ sign: String, _ bound: PropertyValue?) -> Bool? {
                guard let bound else { return nil }
                return Self.isNumber(operand) && Self.isNumber(bound) && Self.compare(operand, sign, bound) == true
            }
            let both = [holds(">=", value(low)), holds("<=", value(high))]
            if both.contains(false) { return isNegated }
            return both.contains(nil) ? nil : !isNegated
        case .membership(let operand, let list, let isNegated):
            guard let operand = value(operand) else { return nil }
            return list.contains { Self.compare(operand, "=", $0) == true } != isNegated
        case .like(let operand, let pattern, let escape, let isNegated):
            guard let operand = value(operand) else { return nil }
            guard case .string(let text) = operand else { return isNegated }
            let isLike = Self.isLike(Array(text.unicodeScalars), Self.elements(of: pattern, escape: escape))
            return isLike != isNegated
        case .quantified(let operand, let sign, let isAll, let array, let isMirrored):
            return quantified(operand, sign, isAll, array, isMirrored)
        }
    }

    private func quantified(
        _ operand: NaiveExpression, _ sign: String, _ isAll: Bool, _ array: NaiveArray, _ isMirrored: Bool
    ) -> Bool? {
        let elements: [PropertyValue]
        switch array {
        case .list(let list): elements = list
        case .property(let name):
            guard let value = properties[name] else { return nil }
            if case .array(let values) = value { elements = values } else { elements = [value] }
        }
        if elements.isEmpty { return isAll }
        guard let operand = value(operand) else { return nil }
        let truths = elements.map { isMirrored ? Self.compare($0, sign, operand) : Self.compare(operand, sign, $0) }
        if truths.contains(!isAll) { return !isAll }
        return truths.contains(nil) ? nil : isAll
    }

    private func value(_ expression: NaiveExpression) -> PropertyValue? {
        switch expression {
        case .value(let value): return value
        case .property(let name): return properties[name].flatMap { Self.finite($0) }
        case .sign(let sign, let operand):
            guard let operand = value(operand), Self.isNumber(operand) else { return nil }
            return sign == "+" ? operand : Self.arithmetic(.integer(0), "-", operand)
        case .arithmetic(let left, let sign, let right):
            guard let left = value(left), let right = value(right) else { return nil }
            return Self.arithmetic(left, sign, right)
        default: return truth(expression).map { .boolean($0) }
        }
    }

    private static func finite(_ value: PropertyValue) -> PropertyValue? {
        if case .double(let number) = value, !number.isFinite { return nil }
        return value
    }

    static func isNumber(_ value: PropertyValue) -> Bool {
        switch value {
        case .integer, .double: true
        default: false
        }
    }

    private static func arithmetic(_ left: PropertyValue, _ sign: Character, _ right: PropertyValue) -> PropertyValue? {
        if case .integer(let left) = left, case .integer(let right) = right {
            // 128 bits hold every sum and product of two 64-bit numbers.
            let left = Int128(left)
            let right = Int128(right)
            if sign == "/", right == 0 { return nil }
            let exact = sign == "+" ? left + right : sign == "-" ? left - right : sign == "*" ? left * right : left / right
            if let integer = Int64(exactly: exact) { return .integer(integer) }
        }
        guard let left = double(left), let right = double(right) else { return nil }
        return finite(
            .double(sign == "+" ? left + right : sign == "-" ? left - right : sign == "*" ? left * right : left / right))
    }

    private static func double(_ value: PropertyValue) -> Double? {
        switch value {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    static func compare(_ left: PropertyValue?, _ sign: String, _ right: PropertyValue?) -> Bool? {
        guard let left = left.flatMap(finite), let right = right.flatMap(finite) else { return nil }
        switch (left, right) {
        case (.string(let left), .string(let right)):
            return equality(Array(left.unicodeScalars) == Array(right.unicodeScalars), sign)
        case (.boolean(let left), .boolean(let right)): return equality(left == right, sign)
        case (.integer(let left), .integer(let right)): return order(left < right, left == right, sign)
        case (.double(let left), .double(let right)): return order(left < right, left == right, sign)
        // The standard library compares numbers of different types by their exact values.
        case (.integer(let left), .double(let right)):
            return order(isLess(left, right), isSame(left, right), sign)
        case (.double(let left), .integer(let right)):
            return order(!isLess(right, left) && !isSame(right, left), isSame(right, left), sign)
        default: return false
        }
    }

    private static func isSame(_ left: Int64, _ right: Double) -> Bool { Int64(exactly: right) == left }

    private static func isLess(_ left: Int64, _ right: Double) -> Bool {
        if right >= 9_223_372_036_854_775_808 { return true }
        if right < -9_223_372_036_854_775_808 { return false }
        let whole = Int64(right)
        return left < whole || left == whole && right > Double(whole)
    }

    private static func equality(_ isEqual: Bool, _ sign: String) -> Bool {
        sign == "=" ? isEqual : sign == "<>" || sign == "!=" ? !isEqual : false
    }

    private static func order(_ isLess: Bool, _ isEqual: Bool, _ sign: String) -> Bool {
        switch sign {
        case "=": isEqual
        case "<>", "!=": !isEqual
        case "<": isLess
        case "<=": isLess || isEqual
        case ">": !isLess && !isEqual
        default: !isLess
        }
    }

    // MARK: LIKE

    enum PatternElement {
        case run, one
        case scalar(Unicode.Scalar)
    }

    static func elements(of pattern: String, escape: Unicode.Scalar?) -> [PatternElement] {
        var elements: [PatternElement] = []
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if !isEscaped, scalar == escape {
                isEscaped = true
            } else {
                elements.append(isEscaped ? .scalar(scalar) : scalar == "%" ? .run : scalar == "_" ? .one : .scalar(scalar))
                isEscaped = false
            }
        }
        return elements
    }

    /// - Returns: Whether the whole pattern matches the whole text, from which beginnings of the text each beginning of the pattern
    ///   matches.
    static func isLike(_ text: [Unicode.Scalar], _ pattern: [PatternElement]) -> Bool {
        var matches = [true] + [Bool](repeating: false, count: text.count)
        for element in pattern {
            var next = [Bool](repeating: false, count: text.count + 1)
            switch element {
            case .run:
                let first = matches.firstIndex(of: true) ?? matches.count
                for end in first..<matches.count { next[end] = true }
            case .one: for end in text.indices { next[end + 1] = matches[end] }
            case .scalar(let scalar): for end in text.indices { next[end + 1] = matches[end] && text[end] == scalar }
            }
            matches = next
        }
        return matches[text.count]
    }
}
