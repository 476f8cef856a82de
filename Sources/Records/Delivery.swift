/// How far the messages of one subscription have come.
///
/// `matched = delivered + expired + dropped + pending`, always.
public struct Delivery: Equatable, Sendable {
    public var matched: Int64 = 0
    public var delivered: Int64 = 0
    /// How often a message was sent again.
    public var retried: Int64 = 0
    public var expired: Int64 = 0
    public var dropped: Int64 = 0
    public var lastMatchAt: Int64?
    public var lastError: String?

    public init() {}

    public var pending: Int64 { matched - delivered - expired - dropped }
}

extension Delivery {
    func write(to fields: inout some FieldWriter) {
        fields.write(matched)
        fields.write(delivered)
        fields.write(retried)
        fields.write(expired)
        fields.write(dropped)
        fields.write(lastMatchAt)
        fields.write(lastError)
    }

    init(from fields: inout some FieldReader) {
        matched = fields.int64()
        delivered = fields.int64()
        retried = fields.int64()
        expired = fields.int64()
        dropped = fields.int64()
        lastMatchAt = fields.optionalInt64()
        lastError = fields.optionalText()
    }
}
