/// Reads one rule: selectors of days, times, a state and a comment, in any order that leaves no doubt.
struct RuleReader {
    struct Alternative {
        var rule: Rule
        var text: String
        /// Whether the text begins or ends with a list of times, which another list beside it would join.
        var startsWithTimes: Bool
        var endsWithTimes: Bool
    }

    struct Result {
        /// More than one where days of different kinds share times: `Dec 25,PH off`.
        var alternatives: [Alternative]
        var comment: String?
        /// How the rule that follows is joined, unless a separator says.
        var next: Rule.Joining
    }

    var cursor: TokenCursor
    var notes: Notes
    /// What is being read: selectors, times and state.
    var rule = Rule()
    var texts = RuleTexts()
    private var finished: [(rule: Rule, texts: RuleTexts)] = []
    private var comment: String?
    private var hasState = false
    private var isAlways = false
    private var isCommentALabel = false
    /// Whether times came before any selector, as in `10:00-12:00 Mo-Fr`.
    private var isTimeFirst = false
    /// Whether a state or a comment came before any selector, as in `closed on Sundays`.
    private var isModifierFirst = false
    private var next = Rule.Joining.normal

    init(cursor: TokenCursor, notes: Notes) {
        self.cursor = cursor
        self.notes = notes
    }

    mutating func read() throws(NotUnderstood) -> Result {
        while try readPart() {}
        guard hasSelector || !finished.isEmpty || hasTimes || hasState || comment != nil else {
            throw NotUnderstood("nothing is said")
        }
        if !hasState && comment != nil && !(isCommentALabel && (hasSelector || hasTimes)) { rule.state = .unknown }
        // After a last comma without days there is nothing.
        if hasSelector || finished.isEmpty { finished.append((rule, texts)) }
        if isAlways && finished.contains(where: { $0.texts.hasSelector }) {
            rule.spans = [TimeSpan(start: TimePoint(minutes: 0), end: TimePoint(minutes: 1440))]
            texts.times = "00:00-24:00"
        }
        guard !finished.contains(where: { !$0.rule.years.isEmpty && $0.rule.dates.contains { $0.from.year != nil } }) else {
            throw NotUnderstood("years are named twice")
        }
        let alternatives = finished.map { part in
            var merged = part.rule
            merged.state = rule.state
            merged.spans = rule.spans
            var words = part.texts
            words.times = texts.times
            words.state = texts.state
            let text = words.joined(comment: comment, isLabel: isCommentALabel)
            return Alternative(
                rule: merged, text: text,
                startsWithTimes: !words.hasSelector && text.hasPrefix(words.times) && !words.times.isEmpty,
                endsWithTimes: text.hasSuffix(words.times) && !words.times.isEmpty)
        }
        return Result(alternatives: alternatives, comment: comment, next: next)
    }

    private var hasSelector: Bool { texts.hasSelector }
    private var hasTimes: Bool { !rule.spans.isEmpty || isAlways }
    private var hasModifier: Bool { hasState || (comment != nil && !isCommentALabel) }

    /// Reads what comes next; false where the rule ends.
    private mutating func readPart() throws(NotUnderstood) -> Bool {
        switch cursor.kind {
        case .end, .symbol(";"), .symbol("|"): return false
        case .symbol(","): return readComma()
        case .symbol(":"):
            guard hasSelector || comment != nil || hasState || isAlways, rule.spans.isEmpty else {
                throw NotUnderstood("`:` has no place here")
            }
            if cursor.digits(-1) > 0, cursor.digits(1) > 0, !cursor[1].isApart { notes.add("a space is missing after `:`") }
            cursor.advance()
        case .comment(let text): readComment(text)
        case .number: return try readNumber()
        case .symbol("("): return try readTimes()
        case .word(let text): return try readWord(text)
        case .symbol(let symbol): throw NotUnderstood("`\(symbol)` has no place here")
        case .other: throw NotUnderstood("a character has no meaning here")
        }
        return true
    }

    // MARK: - Where rules end

    /// A comma after days leads to their times or to days of another kind; after times or a state it begins another rule.
    private mutating func readComma() -> Bool {
        if hasTimes || hasModifier {
            next = .additional
            return false
        }
        cursor.advance()
        if cursor.isSymbol(",") { notes.add("`,,` is read as `,`") }
        if hasSelector && !startsTime() && cursor.kind != .symbol(":") {
            if case .comment = cursor.kind { return true }
            if case .state? = cursor.word() { return true }
            if startsSelector() { notes.add("days of different kinds that a comma joins are read as rules of their own") }
            finished.append((rule, texts))
            rule = Rule()
            texts = RuleTexts()
        }
        return true
    }

    /// Whether a selector may be read here; else a separator is missing before it, and another rule begins.
    private mutating func admitsSelector() -> Bool {
        if !hasTimes && !hasModifier {
            return true
        }
        if !hasSelector && finished.isEmpty {
            if hasTimes { isTimeFirst = true } else { isModifierFirst = true }
            return true
        }
        if isTimeFirst && !hasModifier || isModifierFirst && !hasTimes { return true }
        notes.add("a separator is missing between rules; `,` is assumed")
        next = .additional
        return false
    }

    // MARK: - Parts

    private mutating func readComment(_ text: String) {
        cursor.advance()
        let isLabel = cursor.isSymbol(":") && !hasTimes && !hasState && comment == nil
        if isLabel { isCommentALabel = true }
        let plain = text.replacing("\"", with: "'")
        guard !plain.isEmpty else { return }
        comment = comment.map { $0 + ", " + plain } ?? plain
    }

    private mutating func readState(_ state: OpenState, _ word: String) throws(NotUnderstood) {
        guard !hasState else { throw NotUnderstood("two states") }
        hasState = true
        rule.state = state
        texts.state = state == .closed ? (word == "closed" ? "closed" : "off") : state == .open ? "open" : "unknown"
        cursor.advance()
    }

    private mutating func readNumber() throws(NotUnderstood) -> Bool {
        if cursor.number() == 24 {
            if cursor.isSymbol("/", 1), cursor.number(2) == 7 { return readAlways(3) }
            if cursor.word(1) == .hour { return readAlways(2, guess: "24 hours") }
            if cursor[1].kind == .word("x"), cursor.number(2) == 7 { return readAlways(3, guess: "24x7") }
        }
        if startsTime() { return try readTimes() }
        guard admitsSelector() else { return false }
        if cursor.isYear() && !startsDate(1) { try readYears() } else { try readDates() }
        return true
    }

    private mutating func readAlways(_ tokens: Int, guess: String? = nil) -> Bool {
        if hasTimes || hasModifier {
            next = .additional
            return false
        }
        if let guess { notes.add("`\(guess)` is read as `24/7`") }
        isAlways = true
        cursor.advance(tokens)
        return true
    }

    private mutating func readTimes() throws(NotUnderstood) -> Bool {
        if isTimeFirst || (hasModifier && hasTimes) {
            notes.add("a separator is missing between rules; `,` is assumed")
            next = .additional
            return false
        }
        if !rule.spans.isEmpty { notes.add("`,` is missing between times") }
        if !cursor[0].isApart, case .word? = cursor.previous, cursor.digits() > 0 {
            notes.add("a space is missing before a time")
        }
        var times = TimesReader(cursor: cursor, notes: notes)
        try times.read(into: &rule.spans, text: &texts.times)
        cursor = times.cursor
        notes = times.notes
        return true
    }

    private mutating func readWord(_ text: String) throws(NotUnderstood) -> Bool {
        guard let word = Word.meaning(of: text) else { throw NotUnderstood("the word `\(text.prefix(20))` is not known") }
        switch word {
        case .state(let state): try readState(state, text)
        case .event, .noon, .midnight: return try readTimes()
        case .always: return readAlways(1, guess: text)
        case .filler, .and: cursor.advance()
        case .weekday, .weekdays, .holiday, .holidayKind:
            guard admitsSelector() else { return false }
            var days = DaysReader(cursor: cursor, notes: notes)
            try days.read(into: &rule.days, text: &texts.days)
            cursor = days.cursor
            notes = days.notes
        case .month, .easter:
            guard admitsSelector() else { return false }
            try readDates()
        case .week:
            guard admitsSelector() else { return false }
            try readWeeks()
        case .to, .meridiem, .hour, .day, .openEnd, .end: throw NotUnderstood("`\(text)` has no place here")
        }
        return true
    }

    private mutating func readDates() throws(NotUnderstood) {
        if !texts.dates.isEmpty { notes.add("`,` is missing between dates") }
        var dates = DatesReader(cursor: cursor, notes: notes)
        try dates.read(into: &rule, text: &texts.dates)
        cursor = dates.cursor
        notes = dates.notes
    }

    // MARK: - Looking ahead

    /// Whether a time begins here, not a date or a year.
    private func startsTime() -> Bool {
        switch cursor.word() {
        case .event, .noon, .midnight: return true
        default: break
        }
        if cursor.isSymbol("(") { return true }
        guard let number = cursor.number() else { return false }
        if TimesReader.isClock(cursor) { return true }
        if cursor.digits() > 2 { return TimesReader.isMilitary(cursor) }
        if case .month? = cursor.word(1) { return false }
        if cursor.isSymbol(".", 1), case .month? = cursor.word(2) { return false }
        return number <= 24
    }

    /// Whether years, weeks, dates or days begin here.
    private func startsSelector() -> Bool {
        switch cursor.word() {
        case .weekday, .weekdays, .holiday, .holidayKind, .month, .easter, .week: true
        default: cursor.number() != nil
        }
    }

    func startsDate(_ ahead: Int) -> Bool {
        switch cursor.word(ahead) {
        case .month, .easter: true
        default: false
        }
    }
}
