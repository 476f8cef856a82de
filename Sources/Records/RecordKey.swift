/// The name of one record: its kind, and the first fields of its row. With fewer fields than the key has, all records below it.
public struct RecordKey: Hashable, Sendable {
    public let kind: Kind
    public let fields: [Field]

    public init(_ kind: Kind, fields: [Field]) {
        self.kind = kind
        self.fields = fields
    }

    init(_ kind: Kind, _ texts: String...) { self.init(kind, fields: texts.map { .text($0) }) }

    init(_ kind: Kind, number: Int64) { self.init(kind, fields: [.integer(number)]) }

    /// Its dataset; nil where its number is all that names it.
    public var dataset: String? {
        if case .text(let dataset) = fields[0] { dataset } else { nil }
    }

    /// A field that holds a text; empty where it holds none.
    public func text(_ index: Int) -> String {
        if index < fields.count, case .text(let text) = fields[index] { text } else { "" }
    }

    /// What names it within its dataset.
    public var id: String { text(1) }
}
