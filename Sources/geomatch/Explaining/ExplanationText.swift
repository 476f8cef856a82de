import Wire

/// An explanation for people: a line for each check, and last what comes of them.
enum ExplanationText {
    /// - Parameter result: The `result` of `match/explain`; what a newer daemon says besides is passed over.
    static func of(_ result: JSONValue) -> String {
        let checks = (result.asObject?["checks"]?.asArray ?? []).compactMap(\.asObject)
        let names = checks.map { $0["check"].map(PlainText.of) ?? "?" }
        let width = names.map(\.count).max() ?? 0
        var lines: [String] = []
        for (check, name) in zip(checks, names) {
            let mark = check["pass"] == true ? "✓" : "✗"
            let padding = String(repeating: " ", count: width - name.count)
            lines.append("\(mark) \(name)\(padding)  \(check["detail"].map(PlainText.of) ?? "")")
        }
        let failing = zip(checks, names).filter { $0.0["pass"] != true }.map(\.1)
        lines.append(conclusion(result.asObject?["matches"] == true, failing))
        return lines.joined(separator: "\n")
    }

    private static func conclusion(_ matches: Bool, _ failing: [String]) -> String {
        if matches { return "They match: evaluated now, they make a match." }
        guard let last = failing.last else { return "No match now." }
        let reasons = failing.count == 1 ? last : "\(failing.dropLast().joined(separator: ", ")) and \(last)"
        return "No match now, because of \(reasons)."
    }
}
