import Wire

/// What became of the features of an import, added up over its requests.
struct ImportTally: Sendable {
    private(set) var imported: Int64 = 0
    private(set) var replaced: Int64 = 0
    private(set) var refused: [JSONValue] = []
    private(set) var warnings: [JSONValue] = []
    /// All of them, also those that are not kept.
    private(set) var refusedCount = 0
    private(set) var warningCount = 0

    /// Refusals and warnings that are kept to be shown.
    private static let shownMax = 10_000

    /// - Parameters:
    ///   - result: Of one request.
    ///   - isCounted: What it imported is of the kind that was asked for.
    ///   - located: A refusal with its place in the input.
    mutating func add(_ result: JSONValue, isCounted: Bool = true, located: (JSONValue) -> JSONValue = { $0 }) {
        if isCounted {
            imported += result.member("imported")?.asInt64 ?? 0
            replaced += result.member("replaced")?.asInt64 ?? 0
        }
        refuse(result.member("refused")?.asArray ?? [], located: located)
        let notes = result.member("warnings")?.asArray ?? []
        warningCount += notes.count
        warnings += notes.prefix(max(0, Self.shownMax - warnings.count))
    }

    mutating func add(_ other: ImportTally) {
        imported += other.imported
        replaced += other.replaced
        refuse(other.refused, count: other.refusedCount)
        warnings += other.warnings
        warningCount += other.warningCount
    }

    /// - Parameter count: All of them, where not all were kept.
    mutating func refuse(_ refusals: [JSONValue], count: Int? = nil, located: (JSONValue) -> JSONValue = { $0 }) {
        refusedCount += count ?? refusals.count
        refused += refusals.prefix(max(0, Self.shownMax - refused.count)).map(located)
    }

    /// - Parameter more: What follows the figures on the last line.
    func show(asJSON: Bool, more: String = "") {
        if asJSON {
            return StandardOutput.print(
                json: [
                    "imported": .integer(imported), "replaced": .integer(replaced), "refused": .array(refused),
                    "warnings": .array(warnings),
                ])
        }
        for refusal in refused {
            let id = refusal.member("id").map { $0 == .null ? "a feature" : PlainText.of($0) } ?? "a feature"
            StandardError.line("refused: \(id): \(refusal.member("error").map(ErrorText.of) ?? "")")
        }
        for warning in warnings { StandardError.line("warning: \(PlainText.of(warning))") }
        for (all, shown, what) in [
            (refusedCount, refused.count, "refusals"), (warningCount, warnings.count, "warnings"),
        ] where all > shown {
            StandardError.line("and \(all - shown) more \(what)")
        }
        StandardOutput.print("imported \(imported), replaced \(replaced)\(more)")
    }
}
