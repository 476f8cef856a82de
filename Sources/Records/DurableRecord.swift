/// A value that outlives the process: one row of its kind.
///
/// Its codec is the order of its fields: ``write(to:)`` writes, and ``init(from:)`` reads, one for each column that the table of
/// kinds names, those of the key first.
public protocol DurableRecord: Equatable, Sendable {
    static var kind: Kind { get }
    /// The dataset it belongs to.
    var dataset: String { get }
    func write(to fields: inout some FieldWriter)
    init(from fields: inout some FieldReader) throws(MalformedRow)
    /// What putting it means for the change feed; nil: nothing.
    var feedEntry: FeedEntry? { get }
    /// The number that no other record of its counter may ever have; 0 where its kind has no counter.
    var number: Int64 { get }
}

extension DurableRecord {
    public var kind: Kind { Self.kind }
    public var feedEntry: FeedEntry? { nil }
    public var number: Int64 { 0 }

    public var key: RecordKey {
        var fields = FieldCollector(kind.row.keyCount)
        write(to: &fields)
        return RecordKey(kind, fields: fields.fields)
    }

    func isEqual(to other: any DurableRecord) -> Bool { self == other as? Self }
}

/// New values for some fields of a record; nothing happens where the record is gone.
public protocol RecordAmendment: Equatable, Sendable {
    static var kind: Kind { get }
    /// Those of its kind that it replaces.
    static var columns: [String] { get }
    /// It follows from where devices are, what is asked for, and time.
    static var isEvaluated: Bool { get }
    /// Another one of the same columns makes this one void.
    static var isReplaced: Bool { get }
    var key: RecordKey { get }
    func write(to fields: inout some FieldWriter)
    init(of key: RecordKey, from fields: inout some FieldReader) throws(MalformedRow)
}

extension RecordAmendment {
    public var kind: Kind { Self.kind }
    public static var isEvaluated: Bool { false }
    public static var isReplaced: Bool { false }

    func isEqual(to other: any RecordAmendment) -> Bool { self == other as? Self }
}
