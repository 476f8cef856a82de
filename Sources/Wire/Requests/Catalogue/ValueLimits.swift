/// What bounds a value of a parameter, beside its kind.
public enum ValueLimits: Sendable {
    /// Nothing is said of it here: the request says what.
    case none
    /// 1 to 128 bytes, and not `-`.
    case id
    /// One of these.
    case words([String])
    /// Unicode scalar values.
    case characters(ClosedRange<Int>)
    /// Of UTF-8.
    case bytes(ClosedRange<Int>)
    case numbers(ClosedRange<Double>)
    /// From here on.
    case atLeast(Double)
    case above(Double)
    /// Of an array.
    case entries(ClosedRange<Int>)
}
