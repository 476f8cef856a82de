import Records

/// The statements of one kind, made of its row in the table of kinds.
///
/// A class, so that a look at one copies nothing.
final class KindStatements: Sendable {
    /// Writes a row, replacing the one of the same key; a row keeps its place, but where the order of puts counts.
    let put: String
    /// Writes what is kept apart. Parameters: the key, the field.
    let putApart: String?
    /// How many fields are in the row itself.
    let storedCount: Int32
    /// By the fields of its key; a record that is owed is only no longer listed.
    let delete: String
    /// Follows each deletion and each amendment of a record that can be owed: it goes where it is neither owed nor listed, and
    /// then what is kept apart of it. By the fields of its key.
    let cleaning: (row: String, apart: String)?
    /// All columns of all rows; a condition may follow.
    let select: String
    /// By the fields of its key.
    let selectOne: String
    /// All columns of all rows, also what is kept apart of those that are not owed; then whether the record is listed, where it can be owed.
    let selectWhole: String
    /// What goes with a record, before it. Parameters: the dataset, the id.
    let deletion: [String]
    let forgetting: [String]
    let replacement: [String]
    /// The ids of those documents that go with a record, in order. Parameters: the dataset, the id.
    let attachments: [(type: DocumentType, ids: String)]
    /// What removes all rows of a dataset. Parameter: the dataset.
    let ofDataset: [String]
    /// Restricts rows to a dataset, or to none. Parameter: the dataset.
    let scope: String
    let order: String
    let counter: NumberSequence?
    let isFoundInMemory: Bool
    let endsDataset: Bool
    let isReplacedByTheNext: Bool
    /// By the type of the amendment. Parameters: the fields of the key, then those that it replaces.
    let amendments: [ObjectIdentifier: String]

    static let all: [KindStatements] = Kind.allCases.map { KindStatements($0.row) }

    private init(_ row: KindRow) {
        let name = row.name
        let stored = Array(row.owed == nil ? row.columns[...] : row.columns.dropLast())
        let byKey = Self.byKey(row)
        let bodies = row.owed.map { Self.apart($0, of: row) }
        let key = row.columns[0]
        put = Self.put(row, stored)
        storedCount = Int32(stored.count)
        putApart = bodies.map { "INSERT OR REPLACE INTO \($0) VALUES (?1, ?2)" }
        if let owed = row.owed, let bodies {
            cleaning = (
                "DELETE FROM \(name) WHERE \(byKey) AND \(owed.column) = 0 AND \(owed.listed) = 0",
                "DELETE FROM \(bodies) WHERE \(byKey)"
            )
            delete = "UPDATE \(name) SET \(owed.listed) = 0 WHERE \(byKey)"
            let body = "(SELECT \(owed.apart) FROM \(bodies) WHERE \(bodies).\(key) = \(name).\(key))"
            let columns = stored.joined(separator: ", ")
            select = "SELECT \(columns), CASE \(owed.column) WHEN 1 THEN \(body) END FROM \(name)"
            selectOne = "SELECT \(columns), \(body) FROM \(name) WHERE \(byKey)"
            selectWhole = "SELECT \(columns), \(body), \(owed.listed) FROM \(name)"
        } else {
            cleaning = nil
            delete = "DELETE FROM \(name) WHERE \(byKey)"
            select = "SELECT \(row.columns.joined(separator: ", ")) FROM \(name)"
            selectOne = "\(select) WHERE \(byKey)"
            selectWhole = select
        }
        deletion = row.deletion.flatMap(Self.removal)
        forgetting = row.forgetting.flatMap(Self.removal)
        replacement = row.replacement.flatMap(Self.removal)
        attachments = row.deletion.compactMap { removal in
            let condition = Self.condition(removal.kind.row, removal.path[...])
            return removal.kind.row.document.map {
                ($0, "SELECT id FROM \(removal.kind.row.name) WHERE \(condition) ORDER BY rowid")
            }
        }
        let ofDataset = "\(row.datasetColumn) = ?1"
        self.ofDataset =
            (bodies.map { ["DELETE FROM \($0) WHERE \(key) IN (SELECT \(key) FROM \(name) WHERE \(ofDataset))"] } ?? [])
            + ["DELETE FROM \(name) WHERE \(ofDataset)"]
        scope = ofDataset
        order = key == "number" || row.ageing != nil ? " ORDER BY number" : ""
        counter = row.counter
        isFoundInMemory = row.isFoundInMemory
        endsDataset = row.endsDataset
        isReplacedByTheNext = row.isReplacedByTheNext
        amendments = Dictionary(
            uniqueKeysWithValues: row.amendments.map { type in
                let columns = type.columns.enumerated().map { "\($1) = ?\(row.keyCount + $0 + 1)" }.joined(separator: ", ")
                return (ObjectIdentifier(type), "UPDATE \(name) SET \(columns) WHERE \(byKey)")
            })
    }

    private static func put(_ row: KindRow, _ stored: [String]) -> String {
        let values = (1...stored.count).map { "?\($0)" }.joined(separator: ", ")
        let columns = stored.joined(separator: ", ")
        if let owed = row.owed {
            return "INSERT OR REPLACE INTO \(row.name) (\(columns), \(owed.listed)) VALUES (\(values), 1)"
        }
        // One put again is the newest: REPLACE gives it a new number.
        if row.ageing != nil { return "INSERT OR REPLACE INTO \(row.name) (\(columns)) VALUES (\(values))" }
        let key = row.columns[..<row.keyCount].joined(separator: ", ")
        let rest = stored[row.keyCount...].map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        return """
            INSERT INTO \(row.name) (\(columns)) VALUES (\(values)) ON CONFLICT (\(key)) DO \
            \(rest.isEmpty ? "NOTHING" : "UPDATE SET \(rest)")
            """
    }

    /// The table of what is kept apart.
    private static func apart(_ owed: KindRow.Owed, of row: KindRow) -> String {
        "\(row.name)\(owed.apart.prefix(1).uppercased())\(owed.apart.dropFirst())"
    }

    private static func byKey(_ row: KindRow) -> String { condition(row, fields: row.keyCount) }

    /// The rows whose first fields are the parameters.
    static func condition(_ row: KindRow, fields: Int) -> String {
        row.columns[..<fields].enumerated().map { "\($1) = ?\($0 + 1)" }.joined(separator: " AND ")
    }

    private static func removal(_ removal: KindRow.Removal) -> [String] {
        let row = removal.kind.row
        let condition = condition(row, removal.path[...])
        guard let owed = row.owed else { return ["DELETE FROM \(row.name) WHERE \(condition)"] }
        let key = row.columns[0]
        let bodies = apart(owed, of: row)
        return [
            "DELETE FROM \(bodies) WHERE \(key) IN (SELECT \(key) FROM \(row.name) WHERE \(condition) AND \(owed.column) = 0)",
            "DELETE FROM \(row.name) WHERE \(condition) AND \(owed.column) = 0",
            // What is left is still to be delivered, and no longer to be seen.
            "UPDATE \(row.name) SET \(owed.listed) = 0 WHERE \(condition) AND \(owed.listed) = 1",
        ]
    }

    private static func condition(_ row: KindRow, _ path: ArraySlice<KindRow.Reference>) -> String {
        guard let reference = path.first else { return "" }
        let rest = path.dropFirst()
        let owner = reference.owner.row
        let value = rest.isEmpty ? "= ?2" : "IN (SELECT \(owner.columns[1]) FROM \(owner.name) WHERE \(condition(owner, rest)))"
        return "\(row.datasetColumn) = ?1 AND \(reference.column) \(value)"
    }
}

extension Kind {
    var statements: KindStatements { KindStatements.all[rawValue] }
}
