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
