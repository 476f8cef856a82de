/// Makes a condition of a form; the depth was bounded by the reader.
struct ConditionParser {
    func condition(_ form: Form) throws(CircumstanceError) -> Condition {
        switch form.kind {
        case .quoted: throw refused("a text is no expression", form)
        case .word(let word): return try bare(word, form)
        case .list(let items):
            let (head, word) = try self.head(items, of: form)
            return try list(word, head, items[1...])
        }
    }

    private func bare(_ word: String, _ form: Form) throws(CircumstanceError) -> Condition {
        switch word {
        case "true": return .always
        case "moving": return .moving
        case let word where Vocabulary.placeWords.contains(word): throw outsidePlace(form)
        case let word where Vocabulary.heads.contains(word): throw refused("\(word) begins a list: (\(word) …)", form)
        default: throw unknownWord(form)
        }
    }

    private func list(_ word: String, _ head: Form, _ rest: ArraySlice<Form>) throws(CircumstanceError) -> Condition {
        switch word {
        case "and": return try conjunction(rest, head)
        case "or": return .or(try several(rest, head))
        case "not":
            let items = try several(rest, head)
            guard items.count == 1 else { throw refused("not takes one expression", rest[rest.startIndex + 1]) }
            return .not(items[0])
        case "at": return .at(try rules(rest, head))
        case "near": return .near(try rules(rest, head))
        case "visited": return .visited(try rules(rest, head))
        case "frequents": return try frequents(rest, head)
        case "dwelling":
            try check(rest, count: 1, "dwelling takes a number of seconds", head)
            return .dwelling(seconds: try number(rest[rest.startIndex], "the seconds", 1...2_592_000))
        case "live": return .live(try live(rest, head))
        case "true", "moving":
            try check(rest, count: 0, "\(word) takes nothing", head)
            return word == "true" ? .always : .moving
        case let word where Vocabulary.comparisons.contains(word): return try comparison(word, head, rest)
        case let word where Vocabulary.placeWords.contains(word): throw outsidePlace(head)
        default: throw unknownHead(head)
        }
    }

    private func several(_ forms: ArraySlice<Form>, _ head: Form) throws(CircumstanceError) -> [Condition] {
        guard !forms.isEmpty else { throw refused("\(head.description) takes at least one expression", head) }
        var conditions: [Condition] = []
        for form in forms { conditions.append(try condition(form)) }
        return conditions
    }

    /// Outside of at and near only a local clock can be compared.
    private func comparison(_ word: String, _ head: Form, _ rest: ArraySlice<Form>) throws(CircumstanceError) -> Condition {
        guard let key = rest.first?.word else {
            throw refused("\(word) takes a key and what to compare it with", rest.first ?? head)
        }
        if Vocabulary.identityKeys.contains(key) || key == "threshold-met" { throw outsidePlace(rest[rest.startIndex]) }
        return .time(try timeRule(word, head, rest))
    }

    private func outsidePlace(_ form: Form) -> CircumstanceError {
        refused(
            "\(form.description) is said of a place and belongs inside at or near"
                + (Vocabulary.placeWords[1...2].contains(form.description) ? ", or beside exactly one of them in an and" : ""),
            form)
    }
}

// MARK: - Conditions that are not about a place

extension ConditionParser {
    /// `and`, in which a bare is-open beside exactly one at or near becomes that one's.
    private func conjunction(_ forms: ArraySlice<Form>, _ head: Form) throws(CircumstanceError) -> Condition {
        let places = forms.filter { form in
            guard case .list(let items) = form.kind, let word = items.first?.word else { return false }
            return word == "at" || word == "near"
        }
        let strays = forms.filter { openRule($0) != nil }
        guard !strays.isEmpty, places.count == 1 else { return .and(try several(forms, head)) }
        var conditions: [Condition] = []
        let added = strays.compactMap { openRule($0) }
        for form in forms where openRule(form) == nil {
            switch try condition(form) {
            case .at(let rules) where form.position == places[0].position: conditions.append(.at(rules + added))
            case .near(let rules) where form.position == places[0].position: conditions.append(.near(rules + added))
            case let other: conditions.append(other)
            }
        }
        return conditions.count == 1 ? conditions[0] : .and(conditions)
    }

    /// `is-open`, `(is-open)` or `(not is-open)`.
    private func openRule(_ form: Form) -> PlaceRule? {
        switch form.kind {
        case .word("is-open"), .word("is_open"): return .isOpen
        case .list(let items) where items.count == 1: return items[0].word == nil ? nil : openRule(items[0])
        case .list(let items) where items.count == 2 && items[0].word == "not": return openRule(items[1]).map { .not($0) }
        default: return nil
        }
    }
}

// MARK: - Visits, live data, clocks

extension ConditionParser {
    private func frequents(_ rest: ArraySlice<Form>, _ head: Form) throws(CircumstanceError) -> Condition {
        guard rest.count >= 3 else {
            throw refused("frequents takes rules of a place, a number of visits and a number of days", rest.last ?? head)
        }
        let rules = try rules(rest.dropLast(2), head)
        let visits = try number(rest[rest.endIndex - 2], "the visits", 1...CircumstanceExpression.visitsMax)
        return .frequents(rules, visits: visits, days: try number(rest[rest.endIndex - 1], "the days", 1...366))
    }

    private func live(_ rest: ArraySlice<Form>, _ head: Form) throws(CircumstanceError) -> LiveRule {
        try check(rest, count: 4, "live takes a domain, a property, a comparison and a value", head)
        let forms = Array(rest)
        let domain = try name(forms[0], "the domain")
        let property = try name(forms[1], "the property")
        guard let word = forms[2].word, let comparison = Comparison(rawValue: word) else {
            throw refused("\(forms[2].description) is no comparison; = < > <= >= are", forms[2])
        }
        let value = try liveValue(forms[3])
        if case .number = value {
        } else {
            guard comparison == .equal else { throw refused("only numbers can be compared with \(word)", forms[2]) }
        }
        return LiveRule(domain: domain.lowercased(), property: property, comparison: comparison, value: value)
    }

    private func name(_ form: Form, _ what: String) throws(CircumstanceError) -> String {
        switch form.kind {
        case .word(let text), .quoted(let text):
            guard (1...128).contains(text.utf8.count) else { throw refused("\(what) has 1 to 128 bytes", form) }
            return text
        case .list: throw refused("\(what) is a name", form)
        }
    }

    private func liveValue(_ form: Form) throws(CircumstanceError) -> LiveRule.Value {
        switch form.kind {
        case .quoted(let text): return .text(text)
        case .word("true"): return .flag(true)
        case .word("false"): return .flag(false)
        case .word(let word):
            guard word.utf8.allSatisfy({ "+-.eE0123456789".utf8.contains($0) }), let number = Double(word), number.isFinite else {
                throw refused("\(word) is no number, no text in quotes, nor true or false", form)
            }
            return .number(number)
        case .list: throw refused("a value is a number, a text in quotes, true or false", form)
        }
    }

    func timeRule(_ word: String, _ head: Form, _ rest: ArraySlice<Form>) throws(CircumstanceError) -> TimeRule {
        guard let keyForm = rest.first, let name = keyForm.word else {
            throw refused("\(word) takes a key and what to compare it with", rest.first ?? head)
        }
        guard let key = TimeRule.Key(rawValue: name) else { throw unknownKey(keyForm) }
        let values = rest.dropFirst()
        let comparison = try comparison(word, values, head)
        var numbers: [Int] = []
        for form in values { numbers.append(try timeValue(form, key)) }
        return TimeRule(key: key, comparison: comparison, values: numbers)
    }

    /// The comparison of `word`, with as many values as it takes.
    func comparison(_ word: String, _ values: ArraySlice<Form>, _ head: Form) throws(CircumstanceError) -> Comparison {
        guard !values.isEmpty else { throw refused("\(word) takes something to compare with", head) }
        guard let comparison = Comparison(rawValue: word) else { return .equal }
        guard values.count == 1 else {
            throw refused("\(word) compares with one value; any-of with several", values[values.startIndex + 1])
        }
        return comparison
    }

    private func timeValue(_ form: Form, _ key: TimeRule.Key) throws(CircumstanceError) -> Int {
        if key == .dayOfWeek, let day = Vocabulary.days.firstIndex(of: form.plainText.lowercased()) { return day + 1 }
        return try number(form, key.rawValue, key.range, orElse: key == .dayOfWeek ? " or mon to sun" : "")
    }

    func number(
        _ form: Form, _ what: String, _ range: ClosedRange<Int>, orElse: String = ""
    ) throws(CircumstanceError) -> Int {
        guard let word = form.word, let number = Int(word), range.contains(number) else {
            throw refused(
                "\(what) must be a whole number from \(range.lowerBound) to \(range.upperBound)\(orElse), not \(form.description)",
                form)
        }
        return number
    }
}

// MARK: - Refusals

extension ConditionParser {
    func head(_ items: [Form], of form: Form) throws(CircumstanceError) -> (form: Form, word: String) {
        guard let head = items.first else { throw refused("these parentheses are empty", form) }
        guard let word = head.word else { throw refused("a list begins with a word, as in (at …)", head) }
        return (head, word)
    }

    func check(_ forms: ArraySlice<Form>, count: Int, _ message: String, _ head: Form) throws(CircumstanceError) {
        if forms.count > count { throw refused(message, forms[forms.startIndex + count]) }
        if forms.count < count { throw refused(message, forms.last ?? head) }
    }

    func unknownWord(_ form: Form) -> CircumstanceError {
        let word = form.description
        if Vocabulary.keys.contains(word) { return refused("\(word) is compared: (= \(word) …)", form) }
        return refused("unknown word \(word)\(Spelling.hint(for: word, among: Vocabulary.heads))", form)
    }

    /// A bare word inside at or near, which may be an id.
    func unknownPlaceWord(_ form: Form) -> CircumstanceError {
        let error = unknownWord(form)
        guard error.message.contains("; known are") else { return error }
        return refused("unknown word \(form.description); an id is compared, as in (= category-id \"\(form.description)\")", form)
    }

    func unknownHead(_ form: Form) -> CircumstanceError {
        let word = form.description
        if Vocabulary.keys.contains(word) { return refused("\(word) is compared: (= \(word) …)", form) }
        return refused("unknown form \(word)\(Spelling.hint(for: word, among: Vocabulary.heads))", form)
    }

    func unknownKey(_ form: Form) -> CircumstanceError {
        let word = form.description
        return refused("unknown key \(word)\(Spelling.hint(for: word, among: Vocabulary.keys))", form)
    }

    func refused(_ message: String, _ form: Form) -> CircumstanceError {
        CircumstanceError(message: message, position: form.position)
    }
}

extension Form {
    /// The word or the text between the quotes; nothing of a list.
    var plainText: String {
        switch kind {
        case .word(let text), .quoted(let text): text
        case .list: ""
        }
    }
}
