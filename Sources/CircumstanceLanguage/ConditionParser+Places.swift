// What is said of one place.

extension ConditionParser {
    func rules(_ forms: ArraySlice<Form>, _ head: Form) throws(CircumstanceError) -> [PlaceRule] {
        guard !forms.isEmpty else {
            throw refused("\(head.description) takes a rule of a place; any-factual-place is true of each", head)
        }
        var rules: [PlaceRule] = []
        for form in forms { rules.append(try rule(form, inside: head.description)) }
        return rules
    }

    private func rule(_ form: Form, inside place: String) throws(CircumstanceError) -> PlaceRule {
        switch form.kind {
        case .quoted: throw refused("a text is no rule; compare it, as in (= factual-id …)", form)
        case .word(let word):
            guard let rule = bareRule(word) else { throw unfit(form, inside: place) ?? unknownPlaceWord(form) }
            return rule
        case .list(let items):
            let (head, word) = try self.head(items, of: form)
            return try rule(word, head, items[1...], inside: place)
        }
    }

    private func rule(
        _ word: String, _ head: Form, _ rest: ArraySlice<Form>, inside place: String
    ) throws(CircumstanceError) -> PlaceRule {
        switch word {
        case "and", "or", "not":
            guard !rest.isEmpty else { throw refused("\(word) takes at least one rule", head) }
            var rules: [PlaceRule] = []
            for form in rest { rules.append(try rule(form, inside: place)) }
            if word == "and" { return .and(rules) }
            if word == "or" { return .or(rules) }
            guard rules.count == 1 else { throw refused("not takes one rule", rest[rest.startIndex + 1]) }
            return .not(rules[0])
        case IdentityKey.exactCategory.rawValue:
            // The one key that also says what it compares by itself.
            guard !rest.isEmpty else { throw refused("\(word) takes something to compare with", head) }
            var identifiers: [String] = []
            for form in rest { identifiers.append(try identifier(form, word)) }
            return .identity(.exactCategory, identifiers)
        case let word where Vocabulary.comparisons.contains(word): return try comparedRule(word, head, rest)
        default:
            guard let rule = bareRule(word) else { throw unfit(head, inside: place) ?? unknownHead(head) }
            try check(rest, count: 0, "\(word) takes nothing", head)
            return rule
        }
    }

    private func bareRule(_ word: String) -> PlaceRule? {
        switch word {
        case "true": .always
        case "any-factual-place": .any
        case "is-open", "is_open": .isOpen
        case "has-open-hours": .hasOpenHours
        default: nil
        }
    }

    private func unfit(_ form: Form, inside place: String) -> CircumstanceError? {
        guard Vocabulary.deviceForms.contains(form.description) else {
            return Vocabulary.joins.contains(form.description) || Vocabulary.comparisons.contains(form.description)
                ? refused("\(form.description) begins a list: (\(form.description) …)", form) : nil
        }
        return refused("\(form.description) cannot be inside \(place)", form)
    }

    private func comparedRule(_ word: String, _ head: Form, _ rest: ArraySlice<Form>) throws(CircumstanceError) -> PlaceRule {
        guard let keyForm = rest.first, let name = keyForm.word else {
            throw refused("\(word) takes a key and what to compare it with", rest.first ?? head)
        }
        let key = name == "place-id" ? .place : IdentityKey(rawValue: name)
        guard key != nil || name == "threshold-met" else { return .time(try timeRule(word, head, rest)) }
        let values = rest.dropFirst()
        guard try comparison(word, values, head) == .equal else {
            throw refused("\(name) is compared with = or any-of", head)
        }
        guard let key else {
            var levels: [ThresholdLevel] = []
            for form in values { levels.append(try threshold(form)) }
            return .threshold(levels)
        }
        var identifiers: [String] = []
        for form in values { identifiers.append(try identifier(form, name)) }
        return .identity(key, identifiers)
    }

    private func threshold(_ form: Form) throws(CircumstanceError) -> ThresholdLevel {
        guard let threshold = ThresholdLevel.allCases.first(where: { $0.name == form.plainText.lowercased() }) else {
            throw refused("threshold-met is \"high\", \"low\" or \"none\", not \(form.description)", form)
        }
        return threshold
    }

    /// A quoted text or a whole number, which is compared as text.
    private func identifier(_ form: Form, _ key: String) throws(CircumstanceError) -> String {
        switch form.kind {
        case .quoted(let text):
            guard (1...128).contains(text.utf8.count) else {
                throw refused("\(key) has 1 to 128 bytes, not \(text.utf8.count)", form)
            }
            return text
        case .word(let word) where word.utf8.count <= 128 && word.utf8.allSatisfy { (0x30...0x39).contains($0) }:
            return word
        default: throw refused("\(key) is compared with a text in quotes or a whole number, not \(form.description)", form)
        }
    }
}
