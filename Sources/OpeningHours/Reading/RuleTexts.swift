/// The parts of a rule as they are written in canonical form.
struct RuleTexts {
    var years = ""
    var dates = ""
    var weeks = ""
    var days = ""
    var times = ""
    var state = ""

    var hasSelector: Bool { !(years.isEmpty && dates.isEmpty && weeks.isEmpty && days.isEmpty) }

    /// The rule's text.
    func joined(rule: Rule, comment: String?, isLabel: Bool) -> String {
        var parts = [years, dates, weeks, days, times].filter { !$0.isEmpty }
        let quoted = comment.map { "\"\($0)\"" }
        if let quoted, isLabel, !parts.isEmpty {
            // Before a colon the comment does not make the hours unknown.
            return ([quoted + ":"] + parts + (state.isEmpty || state == "open" ? [] : [state])).joined(separator: " ")
        }
        if state == "open" && quoted != nil || state == "off" || state == "closed" || (state == "unknown" && quoted == nil) {
            parts.append(state)
        }
        if let quoted { parts.append(quoted) }
        return parts.isEmpty ? "24/7" : parts.joined(separator: " ")
    }
}
