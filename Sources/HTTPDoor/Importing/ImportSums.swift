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

    /// - Parameter before: Features of the file before the part that this is the result of.
    mutating func add(_ result: JSONObject, behind before: Int = 0) {
        imported += result["imported"]?.asInt64 ?? 0
        replaced += result["replaced"]?.asInt64 ?? 0
        for value in result["refused"]?.asArray ?? [] { append(Self.located(value, behind: before), to: \.refused) }
        for value in result["warnings"]?.asArray ?? [] { append(value, to: \.warnings) }
    }

    /// A refusal of a feature without an id: the core reports its position in the part, and people look for it in the file.
    private static func located(_ refusal: JSONValue, behind before: Int) -> JSONValue {
        guard case .object(var object) = refusal, object["id"] ?? .null == .null, case .object(var error)? = object["error"],
            let message = error["message"]?.asString, message.hasSuffix(")"), let mark = message.ranges(of: " (feature ").last,
            let place = Int(message[mark.upperBound...].dropLast())
        else { return refusal }
        error["message"] = .string(message[..<mark.upperBound] + "\(before + place))")
        object["error"] = .object(error)
        return .object(object)
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
