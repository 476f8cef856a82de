/// A place in the tokens of a text.
struct TokenCursor {
    private let tokens: [Token]
    private(set) var position = 0

    /// - Parameter tokens: the last is the end.
    init(_ tokens: [Token]) {
        self.tokens = tokens
    }

    subscript(ahead: Int) -> Token { tokens[min(position + ahead, tokens.count - 1)] }

    var kind: Token.Kind { self[0].kind }

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

    /// Takes the separators before a rule; nil at the end of the text.
    mutating func skipSeparators() -> Rule.Joining? {
        var joining = Rule.Joining.normal
        while true {
            switch kind {
            case .end: return nil
            case .symbol(";"): advance()
            case .symbol(","): advance()
            case .symbol("|"):
                joining = .fallback
                advance()
            default: return joining
            }
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
