/// A piece of the text of opening hours.
struct Token: Sendable {
    enum Kind: Sendable, Equatable {
        case number(Int, digits: Int)
        /// Lower case.
        case word(String)
        /// The text between quotation marks.
        case comment(String)
        /// An ASCII character.
        case symbol(Character)
        /// A character that means nothing here.
        case other
        case end
    }

    var kind: Kind
    /// Whether white space was before it.
    var isApart: Bool
    /// Its place in the scalars of the text.
    var range: Range<Int>
}

/// Cuts a text into tokens. Dashes, digits and punctuation of any script become those of ASCII.
struct Lexer {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    /// Whether a comment had no closing mark.
    private(set) var hasOpenComment = false
    /// Whether other marks than `"` were around a comment.
    private(set) var hasOtherQuotes = false

    init(_ scalars: [Unicode.Scalar]) {
        self.scalars = scalars
    }

    mutating func tokens() -> [Token] {
        var tokens: [Token] = []
        repeat {
            let token = next()
            if case .number = token.kind, !token.isApart, case .number? = tokens.last?.kind {
                // `8³⁰` is 8:30.
                tokens.append(Token(kind: .symbol(":"), isApart: false, range: token.range.lowerBound..<token.range.lowerBound))
            }
            tokens.append(token)
        } while tokens[tokens.count - 1].kind != .end
        return tokens
    }

    private mutating func next() -> Token {
        let before = position
        while position < scalars.count, Self.isSpace(scalars[position]) { position += 1 }
        let start = position
        let kind = kind()
        return Token(kind: kind, isApart: start > before || start == 0, range: start..<position)
    }

    private mutating func kind() -> Token.Kind {
        guard position < scalars.count else { return .end }
        let scalar = Self.plain(scalars[position])
        if Self.digit(scalar) != nil { return number() }
        if scalar == "\"" { return comment() }
        if scalar.properties.isAlphabetic { return word() }
        position += 1
        if scalar == "&" { return .word("and") }
        return scalar.isASCII && "+-/[]().:,;|".unicodeScalars.contains(scalar) ? .symbol(Character(scalar)) : .other
    }

    private mutating func number() -> Token.Kind {
        var value = 0
        var digits = 0
        let isRaised = Self.isRaised(scalars[position])
        while position < scalars.count, let digit = Self.digit(scalars[position]), Self.isRaised(scalars[position]) == isRaised {
            // Nothing here has more than four digits; the value stops where it is refused anyway.
            value = min(value * 10 + digit, 99_999)
            digits += 1
            position += 1
        }
        return .number(value, digits: digits)
    }

    private mutating func word() -> Token.Kind {
        var text = String.UnicodeScalarView()
        while position < scalars.count {
            let scalar = Self.plain(scalars[position])
            guard scalar.properties.isAlphabetic || (!text.isEmpty && scalar.properties.generalCategory == .nonspacingMark) else {
                break
            }
            text.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
            position += 1
        }
        return .word(String(text))
    }

    private mutating func comment() -> Token.Kind {
        noteQuote(scalars[position])
        position += 1
        var text = String.UnicodeScalarView()
        while position < scalars.count {
            let scalar = scalars[position]
            position += 1
            if Self.plain(scalar) == "\"" {
                noteQuote(scalar)
                return .comment(String(text))
            }
            text.append(scalar)
        }
        hasOpenComment = true
        return .comment(String(text))
    }

    private mutating func noteQuote(_ scalar: Unicode.Scalar) {
        if scalar != "\"" { hasOtherQuotes = true }
    }

    private static func digit(_ scalar: Unicode.Scalar) -> Int? {
        if scalar.isASCII { return scalar.value >= 0x30 && scalar.value <= 0x39 ? Int(scalar.value) - 0x30 : nil }
        guard scalar.properties.numericType == .decimal || isRaised(scalar), let value = scalar.properties.numericValue else {
            return nil
        }
        return Int(value)
    }

    /// Superscripts and subscripts, which are digits, but no decimals.
    private static func isRaised(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0xB2, 0xB3, 0xB9, 0x2070, 0x2074...0x2079, 0x2080...0x2089: true
        default: false
        }
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20, 0x09...0x0D: true
        case ..<0x80: false
        // Marks without width, which copied text is full of.
        case 0xAD, 0x200B...0x200F, 0x202A...0x202E, 0x2060, 0xFEFF: true
        default: scalar.properties.isWhitespace
        }
    }

    /// The ASCII character that is meant.
    private static func plain(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.value {
        case 0x3D: "-"
        case ..<0x7E: scalar
        case 0x7E, 0x2D7, 0x2010...0x2015, 0x2192, 0x2212, 0x2E3A, 0x2E3B, 0x301C, 0x30FC, 0xFE58, 0xFE63, 0xFF5E: "-"
        case 0x201C...0x201F, 0xAB, 0xBB: "\""
        case 0x3001, 0x60C: ","
        case 0x61B: ";"
        case 0x2236: ":"
        case 0xFF01...0xFF5D: Unicode.Scalar(scalar.value - 0xFEE0) ?? scalar
        default: scalar
        }
    }
}
