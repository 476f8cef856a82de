import Records
import Wire

/// One step of the hub: when it happens, what it draws on, and what is to be done after it.
public struct Turn: Sendable {
    /// Milliseconds since 1970 UTC.
    public var now: Int64
    public var effects = Effects()
    var identifiers: Identifiers
    /// What is kept now was asked for by a request, which waits until it is durable.
    private(set) var isAsked = false

    /// - Parameter seed: Where generated ids come from; the hub draws no other random numbers.
    public init(at now: Int64, seed: (UInt64, UInt64)) {
        self.now = now
        identifiers = Identifiers(seed: seed)
    }

    /// Makes a change durable.
    mutating func keep(_ change: DurableChange) {
        effects.append(change, isAsked: isAsked)
    }

    /// Makes a change durable that no request asked for, whatever is going on.
    mutating func keepUnasked(_ change: DurableChange) {
        effects.append(change, isAsked: false)
    }

    /// A UUID that nothing else has.
    mutating func newID() -> String { identifiers.uuid(at: now) }

    mutating func note(_ notice: Notice) { effects.notices.append(notice) }

    /// Everything kept in `body` is what a request asked for.
    mutating func asking<Result>(
        _ isAsked: Bool, _ body: (inout Turn) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        let former = self.isAsked
        self.isAsked = isAsked
        defer { self.isAsked = former }
        return try body(&self)
    }
}
