#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// How much of long texts and arrays one evaluation may look at: no selector keeps its caller for a millisecond.
///
/// The tests that search share it equally, so that whether one exceeds its share depends on nothing but the selector and the
/// value: a test that does is unknown.
public enum EvaluationBudget {
    /// Bytes of text for LIKE; an element of an array counts as two. A lone test may search all that a live update can hold.
    public static let units = 64 << 10
    private static let unitsPerElement = 2

    /// The share of one of so many tests as a number of times that the budget is halved, for an instruction.
    static func halvings(tests: Int) -> UInt64 { tests > 1 ? UInt64(Int.bitWidth - (tests - 1).leadingZeroBitCount) : 0 }

    /// Whether a test may search a text; where it may not, that is counted.
    @inline(__always)
    static func allows(bytes: Int, halvings: UInt64) -> Bool {
        if bytes <= units >> Int(truncatingIfNeeded: halvings) { return true }
        noteExceeded()
        return false
    }

    @inline(__always)
    static func allows(elements: Int, halvings: UInt64) -> Bool {
        allows(bytes: elements * unitsPerElement, halvings: halvings)
    }

    // MARK: Who exceeded it

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// How many tests have exceeded their share on this thread.
    public static var exceededCount: Int { Int(bitPattern: pthread_getspecific(key)) }

    /// Another test counts as unknown.
    @inline(never)
    public static func noteExceeded() { pthread_setspecific(key, UnsafeRawPointer(bitPattern: exceededCount &+ 1)) }
}

extension Expression {
    /// How many tests in it search texts or arrays.
    var searchCount: Int {
        switch self {
        case .literal, .property, .null: 0
        case .sign(_, let operand), .not(let operand), .membership(let operand, _, _): operand.searchCount
        case .like(let operand, _, _, _): operand.searchCount + 1
        case .arithmetic(let first, let terms): terms.reduce(first.searchCount) { $0 + $1.operand.searchCount }
        case .comparison(let left, _, let right): left.searchCount + right.searchCount
        case .quantified(let quantified): quantified.operand.searchCount + 1
        case .between(let operand, let low, let high, _): operand.searchCount + low.searchCount + high.searchCount
        case .conjunction(let operands), .disjunction(let operands): operands.reduce(0) { $0 + $1.searchCount }
        }
    }
}
