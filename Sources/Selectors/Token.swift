/// One word, literal or sign of a selector.
struct Token {
    let kind: Kind
    /// Its first character, in Unicode scalars from the start of the text.
    let position: Int

    enum Kind {
        case identifier(String)
        case keyword(Keyword)
        case string(String)
        /// At most 2^63, which only a minus directly before it makes an integer.
        case integer(UInt64)
        case double(Double, spelling: String)
        case comparison(Comparison)
        case arithmetic(ArithmeticOperator)
        case leftParenthesis, rightParenthesis, comma
        case end
    }
}

/// The reserved words. As the name of a property they need double quotes.
enum Keyword: String, CaseIterable {
    case all = "ALL"
    case and = "AND"
    case any = "ANY"
    case between = "BETWEEN"
    case escape = "ESCAPE"
    case `false` = "FALSE"
    case `in` = "IN"
    case `is` = "IS"
    case like = "LIKE"
    case not = "NOT"
    case null = "NULL"
    case or = "OR"
    case some = "SOME"
    case `true` = "TRUE"

    /// - Parameter word: in any case, of ASCII letters; the long s and its like do not fold.
    init?(anyCase word: some Sequence<Unicode.Scalar>) {
        var packed: UInt64 = 0
        for scalar in word {
            guard scalar.isASCII, packed >> 48 == 0 else { return nil }
            let isLower = (0x61...0x7A).contains(scalar.value)
            packed = packed << 8 | UInt64(isLower ? scalar.value - 0x20 : scalar.value)
        }
        guard let keyword = Self.packed.first(where: { $0.word == packed })?.keyword else { return nil }
        self = keyword
    }

    /// The letters of each keyword as one number: a word is compared fourteen times without a string.
    private static let packed = allCases.map { keyword in
        (word: keyword.rawValue.utf8.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }, keyword: keyword)
    }
}

/// The six comparison operators, as the set of orders they hold for.
enum Comparison: UInt8 {
    case less = 0b001
    case equal = 0b010
    case lessOrEqual = 0b011
    case greater = 0b100
    case notEqual = 0b101
    case greaterOrEqual = 0b110

    var text: String {
        switch self {
        case .less: "<"
        case .equal: "="
        case .lessOrEqual: "<="
        case .greater: ">"
        case .notEqual: "<>"
        case .greaterOrEqual: ">="
        }
    }

    /// Whether strings and booleans know it.
    var isEquality: Bool { self == .equal || self == .notEqual }

    /// The operator that holds for the swapped operands.
    var mirrored: Comparison {
        switch self {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        case .equal, .notEqual: self
        }
    }
}

extension Unicode.Scalar {
    /// A letter of any script, `_` or `$`.
    var startsIdentifier: Bool {
        switch value {
        case 0x41...0x5A, 0x61...0x7A, 0x5F, 0x24: return true
        case ..<0x80: return false
        default:
            switch properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: return true
            default: return false
            }
        }
    }

    /// A letter, `_`, `$` or a decimal digit of any script.
    var continuesIdentifier: Bool {
        startsIdentifier || isDigit || (!isASCII && properties.generalCategory == .decimalNumber)
    }

    /// `0` to `9`, the only digits of numbers.
    var isDigit: Bool { (0x30...0x39).contains(value) }

    var isSelectorSpace: Bool {
        isASCII ? value == 0x20 || (0x09...0x0D).contains(value) : properties.isWhitespace
    }
}
