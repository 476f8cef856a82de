import Records

/// The statements of one kind, made of its row in the table of kinds.
///
/// A class, so that a look at one copies nothing.
final class Statements: Sendable {
    /// Writes a row, replacing the one of the same key; a row keeps its place, but where the order of puts counts.
    let put: String
    /// The same of many rows of different keys, in their order: a parameter for each column, of all rows.
    let putAll: String
    /// By the fields of its key; a record that is owed is only no longer listed.
    let delete: String
    /// Follows each deletion and each amendment of a record that can be owed: it goes where it is neither owed nor listed.
    let cleaning: String?
    /// All columns of all rows; a condition may follow. Of what is not owed, the last one is left out.
    let select: String
    /// By the fields of its key.
    let selectOne: String
    /// All columns of all rows; then whether the record is listed, where it can be owed.
    let selectWhole: String
    /// What goes with a record, before it. Parameters: the dataset, the id.
    let deletion: [String]
    let forgetting: [String]
    let replacement: [String]
    /// The ids of those documents that go with a record, in order. Parameters: the dataset, the id.
    let attachments: [(type: DocumentType, ids: String)]
    /// Parameter: the dataset.
    let ofDataset: String
    /// By the type of the amendment. Parameters: the fields of the key, then those that it replaces.
    let amendments: [ObjectIdentifier: String]
    /// What makes its table where there is none.
    let table: String
    /// The columns that a table of an older version may miss, each with what adds it.
    let columns: [(name: String, sql: String)]
    /// What makes its indexes where they are missing.
    let indexes: [(name: String, sql: String)]

    static let all: [Statements] = Kind.allCases.map { Statements($0.row) }

    private static let zero = Field.integer(0).literal
    private static let one = Field.integer(1).literal

    private init(_ row: KindRow) {
        let (table, byKey) = (Self.quoted(row.name), Self.condition(row, fields: row.keyCount))
        put = Self.put(row, "VALUES (\((Self.parameters(row) + Self.constants(row)).joined(separator: ", ")))")
        let arrays = Self.parameters(row).map { "\($0)::bytea[]" }.joined(separator: ", ")
        let given = (["given.*"] + Self.constants(row)).joined(separator: ", ")
        putAll = Self.put(row, "SELECT \(given) FROM unnest(\(arrays)) AS given")
        if let owed = row.owed {
            let (isOwed, isListed) = (Self.quoted(owed.column), Self.quoted(owed.listed))
            let columns = row.columns.dropLast().map(Self.quoted).joined(separator: ", ")
            delete = "UPDATE \(table) SET \(isListed) = \(Self.zero) WHERE \(byKey)"
            cleaning = "DELETE FROM \(table) WHERE \(byKey) AND \(isOwed) = \(Self.zero) AND \(isListed) = \(Self.zero)"
            select = "SELECT \(columns), CASE \(isOwed) WHEN \(Self.one) THEN \(Self.quoted(owed.apart)) END FROM \(table)"
            selectOne = "SELECT \(columns), \(Self.quoted(owed.apart)) FROM \(table) WHERE \(byKey)"
            selectWhole = "SELECT \(columns), \(Self.quoted(owed.apart)), \(isListed) FROM \(table)"
        } else {
            delete = "DELETE FROM \(table) WHERE \(byKey)"
            cleaning = nil
            select = "SELECT \(row.columns.map(Self.quoted).joined(separator: ", ")) FROM \(table)"
            selectOne = "\(select) WHERE \(byKey)"
            selectWhole = select
        }
        deletion = row.deletion.flatMap(Self.removal)
        forgetting = row.forgetting.flatMap(Self.removal)
        replacement = row.replacement.flatMap(Self.removal)
        attachments = row.deletion.compactMap { removal in
            let removed = removal.kind.row
            let condition = Self.condition(removed, removal.path[...])
            return removed.document.map {
                ($0, "SELECT id FROM \(Self.quoted(removed.name)) WHERE \(condition) ORDER BY position")
            }
        }
        ofDataset = "DELETE FROM \(table) WHERE \(Self.quoted(row.datasetColumn)) = $1"
        amendments = Dictionary(
            uniqueKeysWithValues: row.amendments.map { type in
                let columns = type.columns.enumerated().map { "\(Self.quoted($1)) = $\(row.keyCount + $0 + 1)" }
                return (ObjectIdentifier(type), "UPDATE \(table) SET \(columns.joined(separator: ", ")) WHERE \(byKey)")
            })
        self.table = Self.table(row)
        columns = Self.columns(row).map { ($0, "ALTER TABLE \(table) ADD COLUMN \(Self.quoted($0)) bytea") }
        indexes = Self.indexes(row)
    }

    // MARK: Parts

    static func quoted(_ name: String) -> String { "\"\(name)\"" }

    private static func parameters(_ row: KindRow) -> [String] { (1...row.columns.count).map { "$\($0)" } }

    /// What a new row has beside its record.
    private static func constants(_ row: KindRow) -> [String] { row.owed == nil ? [] : [one] }

    /// - Parameter rows: What gives the rows.
    private static func put(_ row: KindRow, _ rows: String) -> String {
        let columns = row.columns + (row.owed.map { [$0.listed] } ?? [])
        // One put again is the newest.
        let replaced = columns[row.keyCount...] + (row.ageing == nil ? [] : ["position"])
        let rest = replaced.map { "\(quoted($0)) = excluded.\(quoted($0))" }.joined(separator: ", ")
        return """
            INSERT INTO \(quoted(row.name)) (\(columns.map(quoted).joined(separator: ", "))) \
            \(rows) \
            ON CONFLICT (\(columns[..<row.keyCount].map(quoted).joined(separator: ", "))) DO \
            \(rest.isEmpty ? "NOTHING" : "UPDATE SET \(rest)")
            """
    }

    /// The rows whose first fields are the parameters.
    static func condition(_ row: KindRow, fields: Int) -> String {
        row.columns[..<fields].enumerated().map { "\(quoted($1)) = $\($0 + 1)" }.joined(separator: " AND ")
    }

    private static func removal(_ removal: KindRow.Removal) -> [String] {
        let row = removal.kind.row
        let (table, condition) = (quoted(row.name), condition(row, removal.path[...]))
        guard let owed = row.owed else { return ["DELETE FROM \(table) WHERE \(condition)"] }
        let (isOwed, isListed) = (quoted(owed.column), quoted(owed.listed))
        return [
            "DELETE FROM \(table) WHERE \(condition) AND \(isOwed) = \(zero)",
            // What is left is still to be delivered, and no longer to be seen.
            "UPDATE \(table) SET \(isListed) = \(zero) WHERE \(condition) AND \(isListed) = \(one)",
        ]
    }

    private static func condition(_ row: KindRow, _ path: ArraySlice<KindRow.Reference>) -> String {
        guard let reference = path.first else { return "" }
        let rest = path.dropFirst()
        let owner = reference.owner.row
        let value =
            rest.isEmpty
            ? "= $2" : "IN (SELECT \(quoted(owner.columns[1])) FROM \(quoted(owner.name)) WHERE \(condition(owner, rest)))"
        return "\(quoted(row.datasetColumn)) = $1 AND \(quoted(reference.column)) \(value)"
    }

    /// The columns behind the key, with those of the store.
    private static func columns(_ row: KindRow) -> [String] {
        row.columns[row.keyCount...] + (row.owed.map { [$0.listed] } ?? [])
    }

    private static func table(_ row: KindRow) -> String {
        let key = row.columns[..<row.keyCount].map(quoted)
        let columns = key.map { "\($0) bytea NOT NULL" } + columns(row).map { "\(quoted($0)) bytea" }
        return """
            CREATE TABLE \(quoted(row.name)) (\(columns.joined(separator: ", ")), \
            position bigint NOT NULL DEFAULT nextval('position'), PRIMARY KEY (\(key.joined(separator: ", "))))
            """
    }

    private static func indexes(_ row: KindRow) -> [(name: String, sql: String)] {
        let dataset = quoted(row.datasetColumn)
        var indexed = row.references.map { [dataset, quoted($0.column)] }.filter { $0[0] != $0[1] }
        // By number are those that have an id, too.
        if row.columns[0] != row.datasetColumn { indexed.append([dataset, quoted("id")]) }
        if row.ageing != nil { indexed.append(["position"]) }
        return indexed.map { columns in
            let name = ([row.name] + columns).joined(separator: " by ").replacing("\"", with: "")
            return (name, "CREATE INDEX \(quoted(name)) ON \(quoted(row.name)) (\(columns.joined(separator: ", ")))")
        }
    }
}

extension Kind {
    var statements: Statements { Statements.all[rawValue] }
}
