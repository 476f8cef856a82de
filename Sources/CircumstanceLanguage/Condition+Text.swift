// The normalised text. Ids are in quotes, days are numbers, what has two names has the first.

extension Condition {
    public var text: String {
        switch self {
        case .always: "true"
        case .and(let conditions): Self.list("and", conditions.map(\.text))
        case .or(let conditions): Self.list("or", conditions.map(\.text))
        case .not(let condition): Self.list("not", [condition.text])
        case .at(let rules): Self.list("at", rules.map(\.text))
        case .near(let rules): Self.list("near", rules.map(\.text))
        case .time(let rule): rule.text
        case .visited(let rules): Self.list("visited", rules.map(\.text))
        case .frequents(let rules, let visits, let days):
            Self.list("frequents", rules.map(\.text) + [String(visits), String(days)])
        case .dwelling(let seconds): Self.list("dwelling", [String(seconds)])
        case .moving: "(moving)"
        case .live(let rule): rule.text
        }
    }

    fileprivate static func list(_ head: String, _ items: [String]) -> String {
        "(" + ([head] + items).joined(separator: " ") + ")"
    }
}

extension PlaceRule {
    public var text: String {
        switch self {
        case .always: "true"
        case .any: "any-factual-place"
        case .and(let rules): Condition.list("and", rules.map(\.text))
        case .or(let rules): Condition.list("or", rules.map(\.text))
        case .not(let rule): Condition.list("not", [rule.text])
        case .identity(let key, let values): Self.compared(key.rawValue, values.map(\.quoted))
        case .isOpen: "is-open"
        case .hasOpenHours: "has-open-hours"
        case .threshold(let levels): Self.compared("threshold-met", levels.map(\.name.quoted))
        case .time(let rule): rule.text
        }
    }

    fileprivate static func compared(_ key: String, _ values: [String]) -> String {
        Condition.list(values.count == 1 ? "=" : "any-of", [key] + values)
    }
}

extension TimeRule {
    public var text: String {
        values.count == 1
            ? Condition.list(comparison.rawValue, [key.rawValue, String(values[0])])
            : PlaceRule.compared(key.rawValue, values.map { String($0) })
    }
}

extension LiveRule {
    public var text: String {
        Condition.list("live", [domain.asName, property.asName, comparison.rawValue, value.text])
    }
}

extension LiveRule.Value {
    package var text: String {
        switch self {
        case .number(let number):
            number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
        case .text(let text): text.quoted
        case .flag(let flag): flag ? "true" : "false"
        case .nothing: "null"
        }
    }
}

extension String {
    /// Without quotes where nothing asks for them.
    fileprivate var asName: String {
        let isPlain = utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isPlain && !isEmpty ? self : quoted
    }

    /// In quotes, as the reader takes it.
    fileprivate var quoted: String {
        var text = String.UnicodeScalarView()
        text.append("\"")
        for scalar in unicodeScalars {
            if scalar == "\"" || scalar == "\\" { text.append("\\") }
            text.append(scalar)
        }
        text.append("\"")
        return String(text)
    }
}
