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
    func joined(comment: String?, isLabel: Bool) -> String {
        var parts = [years, dates, weeks, days, times].filter { !$0.isEmpty }
        let quoted = comment.map { "\"\($0)\"" }
        if let quoted, isLabel, !parts.isEmpty {
            // Before a colon the comment does not make the hours unknown.
            return ([quoted + ":"] + parts + (state.isEmpty || state == "open" ? [] : [state])).joined(separator: " ")
        }
        // That hours are open goes without saying, but for a comment, and for days that a comma would join to the next ones.
        if !state.isEmpty && (state != "open" || quoted != nil || (times.isEmpty && hasSelector)) { parts.append(state) }
        if let quoted { parts.append(quoted) }
        return parts.isEmpty ? "24/7" : parts.joined(separator: " ")
    }
}
