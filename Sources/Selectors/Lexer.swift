/// Cuts the text of a selector into tokens, one at a time, so that the leftmost mistake is the one reported.
struct Lexer {
    private let scalars: [Unicode.Scalar]
    private var index = 0

    init(_ scalars: [Unicode.Scalar]) {
        self.scalars = scalars
    }

    mutating func next() throws(SelectorError) -> Token {
        while let scalar = peek(), scalar.isSelectorSpace { index += 1 }
        let start = index
        guard let scalar = peek() else { return Token(kind: .end, position: start) }
        if scalar.startsIdentifier { return Token(kind: word(), position: start) }
        if scalar.isDigit || (scalar == "." && peek(1)?.isDigit == true) {
            return Token(kind: try number(), position: start)
        }
        switch scalar {
        case "'": return Token(kind: .string(try quoted("the string")), position: start)
        case "\"": return Token(kind: .identifier(try quoted("the quoted identifier")), position: start)
        default: return Token(kind: try sign(scalar), position: start)
        }
    }

    /// Whether a token is a name in double quotes.
    func isQuoted(_ token: Token) -> Bool {
        guard case .identifier = token.kind else { return false }
        return scalars[token.position] == "\""
    }

    private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
        index + offset < scalars.count ? scalars[index + offset] : nil
    }

    private mutating func word() -> Token.Kind {
        let start = index
        while let scalar = peek(), scalar.continuesIdentifier { index += 1 }
        let word = scalars[start..<index]
        if let keyword = Keyword(anyCase: word) { return .keyword(keyword) }
        return .identifier(Self.text(word))
    }

    /// What is between the quote at the index and its partner; a doubled quote means one quote.
    private mutating func quoted(_ what: String) throws(SelectorError) -> String {
        let start = index
        let quote = scalars[start]
        var text = String.UnicodeScalarView()
        index += 1
        while let scalar = peek() {
            index += 1
            if scalar == quote {
                guard peek() == quote else { return String(text) }
                index += 1
            }
            text.append(scalar)
        }
        throw SelectorError(message: "\(what) is not closed", position: start)
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}

// MARK: - Numbers

extension Lexer {
    /// A number is everything up to the first character that no number and no word could go on with, so that `0x1F`, `12L`
    /// and `1.2.3` are one wrong token each.
    private mutating func number() throws(SelectorError) -> Token.Kind {
        let start = index
        let wholeDigits = digits()
        var isExact = true
        if peek() == "." {
            index += 1
            digits()
            isExact = false
        }
        if peek() == "e" || peek() == "E" {
            index += 1
            if peek() == "+" || peek() == "-" { index += 1 }
            guard digits() > 0 else { throw refused("the exponent has no digits", start) }
            isExact = false
        }
        if let scalar = peek(), scalar.continuesIdentifier || scalar == "." {
            throw refused(notANumber(from: start), start)
        }
        let spelling = Self.text(scalars[start..<index])
        guard isExact else { return try double(spelling, start) }
        if wholeDigits > 1, scalars[start] == "0" {
            throw refused("an integer does not begin with 0, and there are no octal numbers", start)
        }
        guard let magnitude = UInt64(spelling), magnitude <= 1 << 63 else {
            throw refused("the integer does not fit into 64 bits; write it with a decimal point to make it a double", start)
        }
        return .integer(magnitude)
    }

    private func double(_ spelling: String, _ start: Int) throws(SelectorError) -> Token.Kind {
        // A zero on both sides of the point means the same and is understood by every reader of doubles.
        let plain = spelling.split(separator: ".", omittingEmptySubsequences: false)
        let parts = plain.count == 2 ? plain : []
        var readable = spelling
        if parts.count == 2 {
            let fraction = parts[1].first?.isNumber == true ? String(parts[1]) : "0" + parts[1]
            readable = (parts[0].isEmpty ? "0" : String(parts[0])) + "." + fraction
        }
        guard let value = Double(readable), value.isFinite else {
            throw refused("the number is too large for a double", start)
        }
        return .double(value, spelling: String(spelling.map { $0 == "e" ? "E" : $0 }))
    }

    @discardableResult
    private mutating func digits() -> Int {
        let start = index
        while peek()?.isDigit == true { index += 1 }
        return index - start
    }

    private func notANumber(from start: Int) -> String {
        if scalars[start] == "0", start + 1 < scalars.count, scalars[start + 1] == "x" || scalars[start + 1] == "X" {
            return "there are no hexadecimal numbers"
        }
        return "this is not a number; a word or a second point follows its digits"
    }

    private func refused(_ message: String, _ position: Int) -> SelectorError {
        SelectorError(message: message, position: position)
    }
}

// MARK: - Signs

extension Lexer {
    private mutating func sign(_ scalar: Unicode.Scalar) throws(SelectorError) -> Token.Kind {
        let start = index
        index += 1
        switch scalar {
        case "(": return .leftParenthesis
        case ")": return .rightParenthesis
        case ",": return .comma
        case "=": return .comparison(.equal)
        case "<":
            if take("=") { return .comparison(.lessOrEqual) }
            return .comparison(take(">") ? .notEqual : .less)
        case ">": return .comparison(take("=") ? .greaterOrEqual : .greater)
        case "!" where take("="): return .comparison(.notEqual)
        case "+": return .arithmetic(.plus)
        case "*": return .arithmetic(.times)
        case "-" where peek() != "-": return .arithmetic(.minus)
        case "/" where peek() != "*": return .arithmetic(.divided)
        case "-", "/": throw refused("there are no comments", start)
        case "%": throw refused("there is no % operator", start)
        case "&": throw refused("\"\(peek() == "&" ? "&&" : "&")\" is not an operator; use AND", start)
        case "|": throw refused("\"\(peek() == "|" ? "||" : "|")\" is not an operator; use OR", start)
        case "!": throw refused("\"!\" is not an operator; use NOT, or <> for unequal", start)
        default: throw refused("'\(scalar)' has no meaning here", start)
        }
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek() == scalar else { return false }
        index += 1
        return true
    }
}
