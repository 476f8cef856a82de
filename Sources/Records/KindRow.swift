/// What is said once of a kind of record.
public struct KindRow: Sendable {
    public let kind: Kind
    public let type: any DurableRecord.Type
    /// The name of its rows: a table in a database.
    public let name: String
    /// In the order in which a record writes its fields.
    public let columns: [String]
    /// The first so many columns name a record.
    public let keyCount: Int
    /// Which records of other kinds it refers to, in its dataset.
    public private(set) var references: [Reference] = []
    /// The type of document that it is in the change feed.
    public private(set) var document: DocumentType?
    /// Its key is a number of this sequence, or it has one.
    public private(set) var counter: NumberSequence?
    /// Its records are read one by one after a refusal, not with their dataset: memory knows it better, or it is too much.
    public private(set) var isReadAlone = false
    /// It is given back where one dataset is.
    public private(set) var isRestoredWithDataset = true
    /// Which of its changes follow from where devices are, what is asked for, and time: decided again where that changes.
    public private(set) var evaluated: Evaluated = []
    /// Of several puts of one record in a transaction, only the last has an effect.
    public private(set) var isReplacedByTheNext = false
    /// Putting it removes everything else of its dataset.
    public private(set) var endsDataset = false
    /// There may be millions of records with keys in no order, which a store finds by an index in memory.
    public private(set) var isFoundInMemory = false
    /// What replaces some of its fields.
    public private(set) var amendments: [any RecordAmendment.Type] = []
    public private(set) var owed: Owed?
    public private(set) var ageing: Ageing?

    /// A column with the id of a record of another kind.
    public struct Reference: Sendable {
        public let column: String
        public let owner: Kind
        /// When a record goes with the one it refers to.
        public let goes: Occasions
    }

    /// What can become of a record that another one refers to.
    public struct Occasions: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let deleted = Self(rawValue: 1)
        public static let forgotten = Self(rawValue: 2)
        public static let replaced = Self(rawValue: 4)
    }

    public struct Evaluated: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let put = Self(rawValue: 1)
        public static let deletion = Self(rawValue: 2)
    }

    /// A record that is owed to somebody outlives its deletion: it is no longer listed, and goes once it is not owed either.
    public struct Owed: Sendable {
        /// True while it is owed.
        public let column: String
        /// True until it is deleted; the store's own.
        public let listed: String
        /// The last column, which is kept apart and not restored for records that are not owed.
        public let apart: String
    }

    /// Records that are kept for a time, so many of each owner, in the order in which they were put.
    public struct Ageing: Sendable {
        /// When it was made.
        public let column: String
        /// Beside its dataset.
        public let owner: String
    }

    /// Which records go: those from which the path of references leads to a record.
    public struct Removal: Sendable {
        public let kind: Kind
        public let path: [Reference]
    }

    init(_ type: any DurableRecord.Type, _ name: String, key: Int, _ columns: String) {
        kind = type.kind
        self.type = type
        self.name = name
        self.columns = columns.split(separator: " ").map(String.init)
        keyCount = key
    }

    /// The column that names the dataset.
    public var datasetColumn: String { columns.contains("dataset") ? "dataset" : columns[0] }

    public func index(of column: String) -> Int {
        guard let index = columns.firstIndex(of: column) else { preconditionFailure("\(name) has no column \(column)") }
        return index
    }

    // MARK: What goes along

    /// With a record of this kind that is deleted.
    public var deletion: [Removal] { Self.removals(of: kind, on: .deleted) }
    /// With what is remembered of a record of this kind.
    public var forgetting: [Removal] { Self.removals(of: kind, on: .forgotten) }
    /// Before a record of this kind is put.
    public var replacement: [Removal] {
        Self.removals(of: kind, on: .replaced)
    }

    /// What refers to what goes comes before it.
    private static func removals(of owner: Kind, on occasion: Occasions) -> [Removal] {
        Kind.allCases.flatMap { kind -> [Removal] in
            kind.row.references.filter { $0.owner == owner }.flatMap { reference -> [Removal] in
                let isGoing = reference.goes.contains(occasion)
                var removals: [Removal] = []
                if occasion == .forgotten || occasion == .deleted && isGoing {
                    removals = Self.removals(of: kind, on: occasion).map { Removal(kind: $0.kind, path: $0.path + [reference]) }
                }
                return removals + (isGoing ? [Removal(kind: kind, path: [reference])] : [])
            }
        }
    }
}

/// Numbers that must never be given twice.
public enum NumberSequence: String, Sendable, CaseIterable {
    case match, live
}

// The words of the table.
extension KindRow {
    func referring(_ column: String, to owner: Kind, goes: Occasions) -> Self {
        with { $0.references.append(Reference(column: column, owner: owner, goes: goes)) }
    }
    func fed(_ type: DocumentType) -> Self { with { $0.document = type } }
    func counted(_ counter: NumberSequence) -> Self { with { $0.counter = counter } }
    func readAlone(isRestoredWithDataset: Bool = true) -> Self {
        with { ($0.isReadAlone, $0.isRestoredWithDataset) = (true, isRestoredWithDataset) }
    }
    func evaluated(_ evaluated: Evaluated) -> Self { with { $0.evaluated = evaluated } }
    func replacedByTheNext() -> Self { with { $0.isReplacedByTheNext = true } }
    func amended(by types: [any RecordAmendment.Type]) -> Self { with { $0.amendments = types } }
    func ending() -> Self { with { $0.endsDataset = true } }
    func foundInMemory() -> Self { with { $0.isFoundInMemory = true } }
    func owed(while column: String, listed: String, apart: String) -> Self {
        with { $0.owed = Owed(column: column, listed: listed, apart: apart) }
    }
    func ageing(by column: String, keptOf owner: String) -> Self { with { $0.ageing = Ageing(column: column, owner: owner) } }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var row = self
        change(&row)
        return row
    }
}
