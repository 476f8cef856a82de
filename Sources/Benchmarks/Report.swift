/// Measured figures, as one table or as JSON.
struct Report {
    struct Row {
        var name: String
        var value: Double
        var unit: String
        var note: String
    }

    private(set) var rows: [Row] = []

    mutating func add(_ name: String, _ value: Double, _ unit: String, note: String = "") {
        rows.append(Row(name: name, value: value, unit: unit, note: note))
    }

    var table: String {
        let width = rows.map(\.name.count).max() ?? 0
        return rows.map { row in
            let value = rounded(row.value)
            let name = row.name + String(repeating: " ", count: width - row.name.count)
            let padding = String(repeating: " ", count: max(0, 12 - value.count))
            return "\(name)  \(padding)\(value) \(row.unit)" + (row.note.isEmpty ? "" : "   \(row.note)")
        }.joined(separator: "\n")
    }

    /// Names, units and notes are this program's own and need no escaping.
    var json: String {
        let items = rows.map { row in
            "  {\"name\": \"\(row.name)\", \"value\": \(rounded(row.value)), \"unit\": \"\(row.unit)\", \"note\": \"\(row.note)\"}"
        }
        return "[\n" + items.joined(separator: ",\n") + "\n]"
    }

    /// Whole numbers from a hundred on, else two decimals.
    private func rounded(_ value: Double) -> String {
        if value.magnitude >= 100 { return String(Int64(value.rounded())) }
        let hundredths = Int64((value.magnitude * 100).rounded())
        let tail = hundredths % 100
        return "\(value < 0 ? "-" : "")\(hundredths / 100).\(tail < 10 ? "0" : "")\(tail)"
    }
}
