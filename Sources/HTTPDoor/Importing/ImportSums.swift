import Wire

/// What became of all parts of an import together, in bounded memory.
struct ImportSums {
    private var imported: Int64 = 0
    private var replaced: Int64 = 0
    private var refused: [JSONValue] = []
    private var warnings: [JSONValue] = []
    private var leftOut = 0

    /// So many refusals, and so many warnings, are listed.
    private static let listedMax = 1000

    mutating func add(_ result: JSONObject) {
        imported += result["imported"]?.asInt64 ?? 0
        replaced += result["replaced"]?.asInt64 ?? 0
        for value in result["refused"]?.asArray ?? [] { append(value, to: \.refused) }
        for value in result["warnings"]?.asArray ?? [] { append(value, to: \.warnings) }
    }

    private mutating func append(_ value: JSONValue, to list: WritableKeyPath<ImportSums, [JSONValue]>) {
        if self[keyPath: list].count < Self.listedMax { self[keyPath: list].append(value) } else { leftOut += 1 }
    }

    var object: JSONValue {
        let rest: [JSONValue] = leftOut > 0 ? [.string("\(leftOut) more refusals and warnings are not listed")] : []
        return [
            "imported": .integer(imported), "replaced": .integer(replaced), "refused": .array(refused),
            "warnings": .array(warnings + rest),
        ]
    }
}
