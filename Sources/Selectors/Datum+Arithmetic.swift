/// The four operations of a selector.
enum ArithmeticOperator: UInt8 {
    case plus, minus, times, divided

    var text: String {
        switch self {
        case .plus: "+"
        case .minus: "-"
        case .times: "*"
        case .divided: "/"
        }
    }

    var isAdditive: Bool { self == .plus || self == .minus }
}

extension Datum {
    /// Two integers give an integer, or a double where it would overflow; `/` truncates. Division by zero, a result that is not
    /// finite and anything but numbers give an indeterminate datum.
    static func combine(_ left: Datum, _ operation: ArithmeticOperator, _ right: Datum) -> Datum {
        guard left.isNumber, right.isNumber else { return .indeterminate }
        if left.tag == Tag.integer, right.tag == Tag.integer {
            return combine(left.integer, operation, right.integer)
        }
        return combine(left.approximate, operation, right.approximate)
    }

    private static func combine(_ left: Int64, _ operation: ArithmeticOperator, _ right: Int64) -> Datum {
        let (result, overflow) =
            switch operation {
            case .plus: left.addingReportingOverflow(right)
            case .minus: left.subtractingReportingOverflow(right)
            case .times: left.multipliedReportingOverflow(by: right)
            // A zero divisor is reported as overflow; as doubles it then has no finite quotient.
            case .divided: left.dividedReportingOverflow(by: right)
            }
        return overflow ? combine(Double(left), operation, Double(right)) : Datum(result)
    }

    private static func combine(_ left: Double, _ operation: ArithmeticOperator, _ right: Double) -> Datum {
        switch operation {
        case .plus: Datum(left + right)
        case .minus: Datum(left - right)
        case .times: Datum(left * right)
        case .divided: Datum(left / right)
        }
    }

    /// The number with the sign applied; indeterminate for anything but a number.
    func signed(negative: Bool) -> Datum {
        guard isNumber else { return .indeterminate }
        guard negative else { return self }
        if tag == Tag.double { return Datum(-double) }
        let (result, overflow) = Int64.zero.subtractingReportingOverflow(integer)
        return overflow ? Datum(-Double(integer)) : Datum(result)
    }
}
