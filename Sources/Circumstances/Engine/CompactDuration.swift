/// A length of time in 32 bits, rounded down: in milliseconds up to 24 days, in seconds beyond, 68 years at most.
struct CompactDuration: BitwiseCopyable, Equatable {
    /// With the highest bit seconds. Longer ones are larger numbers.
    private let bits: UInt32

    static let zero = CompactDuration(from: 0, to: 0)

    private static let seconds: UInt32 = 1 << 31

    /// From one instant to another, milliseconds since 1970 UTC; nothing where that is earlier.
    @inline(__always)
    init(from start: Int64, to end: Int64) {
        let (difference, isTooLong) = end.subtractingReportingOverflow(start)
        let milliseconds = end <= start ? 0 : isTooLong ? .max : difference
        if milliseconds < Int64(Self.seconds) {
            bits = UInt32(truncatingIfNeeded: milliseconds)
        } else {
            bits = Self.seconds | UInt32(truncatingIfNeeded: min(milliseconds / 1000, Int64(Self.seconds - 1)))
        }
    }

    @inline(__always)
    var milliseconds: Int64 { bits < Self.seconds ? Int64(bits) : Int64(bits - Self.seconds) * 1000 }

    @inline(__always)
    static func < (left: CompactDuration, right: CompactDuration) -> Bool { left.bits < right.bits }
}
