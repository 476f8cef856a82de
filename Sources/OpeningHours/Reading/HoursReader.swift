/// Reads the rules of a text one by one. A rule that is not understood counts as `unknown` on all days: whatever it means, what
/// came before may no longer hold, and only what comes after is certain.
struct HoursReader {
    static let warningsMax = 16

    private let scalars: [Unicode.Scalar]
    private var cursor: TokenCursor
    private var rules: [Rule] = []
    private var comments: [String] = []
    private var normalised = ""
    private var notes = Notes()
    private var isUnderstood = true
    /// Whether the canonical text ends with times.
    private var endsWithTimes = false

    static func read(_ text: String) -> Schedule {
        // A scalar has at most four bytes: no need to count those of a text that is far too long.
        guard text.utf8.count <= 4 * OpeningHours.lengthMax, text.unicodeScalars.count <= OpeningHours.lengthMax else {
            return unknown(
                text: "", because: "the text is longer than \(OpeningHours.lengthMax) characters; its hours are unknown")
        }
        var reader = HoursReader(Array(text.unicodeScalars))
        return reader.schedule()
    }

    private init(_ scalars: [Unicode.Scalar]) {
        self.scalars = scalars
        var lexer = Lexer(scalars)
        cursor = TokenCursor(lexer.tokens())
        if lexer.hasOtherQuotes { notes.add("other quotation marks are read as `\"`") }
        if lexer.hasOpenComment { notes.add("a comment without a closing quotation mark is read to the end") }
    }

    private static func unknown(text: String, because warning: String) -> Schedule {
        var rule = Rule()
        rule.state = .unknown
        return Schedule(rules: [rule], comments: [], normalised: text, warnings: [warning], isUnderstood: false)
    }

    private mutating func schedule() -> Schedule {
        var joining = Rule.Joining.normal
        var parts = 0
        while let separator = takeSeparator() {
            joining = separator == .normal ? joining : separator
            let start = cursor.position
            let next = readRule(joining: joining)
            parts += rules.last.map { $0.parts } ?? 0
            guard rules.count <= OpeningHours.rulesMax, parts <= OpeningHours.partsMax else {
                return Self.unknown(
                    text: Self.trimmed(scalars[...]),
                    because: "more than \(OpeningHours.rulesMax) rules or \(OpeningHours.partsMax) parts; the hours are unknown")
            }
            // A rule takes at least one token; this is what makes the loop end.
            if cursor.position == start { cursor.advance() }
            joining = next
        }
        guard !rules.isEmpty else { return Self.unknown(text: "", because: "the text is empty; the hours are unknown") }
        return Schedule(
            rules: rules, comments: comments, normalised: normalised, warnings: notes.all, isUnderstood: isUnderstood)
    }

    /// How the next rule is joined if a separator says so; nil at the end of the text.
    private mutating func takeSeparator() -> Rule.Joining? {
        let found = cursor.takeSeparators()
        let isEnd = cursor.kind == .end
        // One semicolon at the end is everybody's habit.
        let allowed = rules.isEmpty || isEnd && found.semicolons == 0 ? 0 : 1
        if found.count > allowed { notes.add("separators without a rule between them are left out") }
        return isEnd ? nil : found.joining
    }

    /// Reads a rule, and says how the next one is joined if nothing but its place says so.
    private mutating func readRule(joining: Rule.Joining) -> Rule.Joining {
        let start = cursor.position
        var reader = RuleReader(cursor: cursor, notes: notes)
        do throws(NotUnderstood) {
            let read = try reader.read()
            cursor = reader.cursor
            notes = reader.notes
            for alternative in read.alternatives {
                var rule = alternative.rule
                rule.joining = joining
                rule.comment = number(of: read.comment)
                // Two lists of times with a comma between them would be one.
                if joining == .additional && endsWithTimes && alternative.startsWithTimes { normalised += " open" }
                append(rule, text: alternative.text, separator: joining)
                endsWithTimes = alternative.endsWithTimes
            }
            return read.next
        } catch {
            cursor.skipToSeparator()
            let text = Self.trimmed(scalars[cursor.range(from: start)])
            notes.add("`\(Self.shortened(text))` is not understood (\(error.reason)); the hours it concerns are unknown")
            isUnderstood = false
            var rule = Rule()
            rule.state = .unknown
            // What adds or replaces in ways that are not known can do anything; a fallback can only fill.
            rule.joining = joining == .fallback ? .fallback : .normal
            append(rule, text: text, separator: joining)
            endsWithTimes = false
            return .normal
        }
    }

    private mutating func append(_ rule: Rule, text: String, separator: Rule.Joining) {
        if !rules.isEmpty {
            switch separator {
            case .normal: normalised += "; "
            case .additional: normalised += ", "
            case .fallback: normalised += " || "
            }
        }
        normalised += text
        rules.append(rule)
    }

    private mutating func number(of comment: String?) -> UInt16 {
        guard let comment else { return 0 }
        if let known = comments.firstIndex(where: { $0.utf8.elementsEqual(comment.utf8) }) { return UInt16(known) + 1 }
        comments.append(comment)
        return UInt16(comments.count)
    }

    private static func trimmed(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var text = scalars
        while let last = text.last, last.properties.isWhitespace { text.removeLast() }
        while let first = text.first, first.properties.isWhitespace { text.removeFirst() }
        return String(String.UnicodeScalarView(text))
    }

    private static func shortened(_ text: String) -> String {
        text.unicodeScalars.count <= 60 ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(60))) + "…"
    }
}

/// Why a rule could not be read.
struct NotUnderstood: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

/// Warnings, each once.
struct Notes {
    private(set) var all: [String] = []

    mutating func add(_ warning: String) {
        if all.count < HoursReader.warningsMax && !all.contains(warning) { all.append(warning) }
    }
}
