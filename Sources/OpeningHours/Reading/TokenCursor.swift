/// A place in the tokens of a text.
struct TokenCursor {
    private let tokens: [Token]
    private(set) var position = 0

    /// - Parameter tokens: the last is the end.
    init(_ tokens: [Token]) {
        self.tokens = tokens
    }

    subscript(ahead: Int) -> Token { tokens[min(max(position + ahead, 0), tokens.count - 1)] }

    var kind: Token.Kind { self[0].kind }

    /// The token before this position.
    var previous: Token.Kind? { position > 0 ? self[-1].kind : nil }

    mutating func advance(_ count: Int = 1) { position = min(position + count, tokens.count - 1) }

    /// The meaning of the word some tokens ahead.
    func word(_ ahead: Int = 0) -> Word? {
        guard case .word(let text) = self[ahead].kind else { return nil }
        return Word.meaning(of: text)
    }

    func number(_ ahead: Int = 0) -> Int? {
        guard case .number(let value, _) = self[ahead].kind else { return nil }
        return value
    }

    func digits(_ ahead: Int = 0) -> Int {
        guard case .number(_, let digits) = self[ahead].kind else { return 0 }
        return digits
    }

    func isSymbol(_ symbol: Character, _ ahead: Int = 0) -> Bool { self[ahead].kind == .symbol(symbol) }

    /// Takes a symbol if it is next.
    mutating func take(_ symbol: Character) -> Bool {
        guard isSymbol(symbol) else { return false }
        advance()
        return true
    }

    mutating func take(_ word: Word) -> Bool {
        guard self.word() == word else { return false }
        advance()
        return true
    }

    /// Whether `-` or a word for it is there.
    func isRangeMark(_ ahead: Int = 0) -> Bool { isSymbol("-", ahead) || word(ahead) == .to }

    /// Whether `,` or a word for it is there.
    func isListMark(_ ahead: Int = 0) -> Bool { isSymbol(",", ahead) || word(ahead) == .and }

    /// Whether a year begins the token.
    func isYear(_ ahead: Int = 0) -> Bool {
        guard let number = number(ahead) else { return false }
        return digits(ahead) == 4 && (1900...9999).contains(number)
    }

    /// The separators before a rule, or at the end of the text.
    struct Separators {
        var joining = Rule.Joining.normal
        var semicolons = 0
        var commas = 0
        var bars = 0

        /// How many rules they separate, counting empty ones.
        var count: Int { semicolons + commas + (bars + 1) / 2 }
    }

    mutating func takeSeparators() -> Separators {
        var found = Separators()
        while true {
            switch kind {
            case .symbol(";"): found.semicolons += 1
            case .symbol(","): found.commas += 1
            case .symbol("|"):
                found.bars += 1
                found.joining = .fallback
            default: return found
            }
            advance()
        }
    }

    /// Goes on to the next `;` or `||`, or the end.
    mutating func skipToSeparator() {
        while kind != .end && !isSymbol(";") && !isSymbol("|") { advance() }
    }

    /// The scalars between a token and this place.
    func range(from start: Int) -> Range<Int> {
        tokens[start].range.lowerBound..<max(tokens[start].range.lowerBound, self[0].range.lowerBound)
    }
}
