/// How wide the horizontal accuracies of the placed devices are, so that a probe that counts them knows how far to look.
///
/// Accuracies are counted by powers of two: the widest is known to a factor of two, at the cost of two additions when a device's
/// class changes.
struct AccuracyHistogram {
    /// Metres an accuracy counts at most.
    static let widest = 1_000_000.0

    private static let classes = 22
    private let counts: UnsafeMutablePointer<UInt32>
    /// A bit for each class that a device is in.
    private var inUse: UInt32 = 0

    init() {
        counts = .allocate(capacity: AccuracyHistogram.classes)
        counts.initialize(repeating: 0, count: AccuracyHistogram.classes)
    }

    func deallocate() { counts.deallocate() }

    /// Metres no accuracy is wider than.
    var bound: Double {
        guard inUse != 0 else { return 0 }
        return min(AccuracyHistogram.widest, Double(1 << (31 - inUse.leadingZeroBitCount)))
    }

    /// A device's accuracy is another; NaN, or nothing above 0: it counts nothing.
    @inline(__always)
    mutating func change(from former: Double, to next: Double) {
        if former.bitPattern == next.bitPattern { return }
        let (from, to) = (AccuracyHistogram.class(of: former), AccuracyHistogram.class(of: next))
        if from == to { return }
        if let from {
            counts[from] &-= 1
            if counts[from] == 0 { inUse &= ~(1 << UInt32(from)) }
        }
        if let to {
            counts[to] &+= 1
            inUse |= 1 << UInt32(to)
        }
    }

    /// The least class whose power of two is no smaller.
    @inline(__always)
    private static func `class`(of accuracy: Double) -> Int? {
        guard accuracy > 0 else { return nil }
        return accuracy < 1 ? 0 : accuracy < widest ? Int(accuracy.exponent) + 1 : classes - 1
    }
}
