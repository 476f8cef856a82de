/// The latest readings of one beacon at one observer, 4 bytes each, in memory that a table of many owns.
///
/// At most ``capacity`` readings of the last 20 s: where more come, the oldest go first. A reading is kept as dB below the power at
/// 1 m in steps of 1/128, and its time in steps of 10 ms, of which the lowest 16 bits are enough: nothing is kept for minutes.
struct SignalHistory: BitwiseCopyable {
    static let capacity = 32
    /// Milliseconds.
    static let window: Int64 = 20_000

    private var count: UInt8 = 0
    /// Where the next one goes.
    private var next: UInt8 = 0

    struct Reading: BitwiseCopyable {
        var tick: UInt16
        var level: Int16

        var loss: Double { Double(level) / 128 }

        init(loss: Double, at instant: Int64) {
            tick = UInt16(truncatingIfNeeded: instant / 10)
            level = Int16(max(-32_000, min(32_000, (loss * 128).rounded())))
        }

        /// Milliseconds, below eleven minutes.
        func age(at instant: Int64) -> Int64 { Int64(UInt16(truncatingIfNeeded: instant / 10) &- tick) * 10 }
    }

    typealias Memory = UnsafeMutablePointer<Reading>

    mutating func add(_ reading: Reading, in memory: Memory) {
        memory[Int(next)] = reading
        next = (next + 1) % UInt8(Self.capacity)
        count = min(count + 1, UInt8(Self.capacity))
    }

    /// Drops what is older than the window: later its time could not be told from that of a new one.
    mutating func prune(at instant: Int64, in memory: Memory) {
        while count > 0, oldest(in: memory).age(at: instant) > Self.window { count -= 1 }
    }

    /// The mean over the last so many milliseconds without a tenth at each end, at least one reading each from three on.
    ///
    /// - Returns: dB below the power at 1 m; nil: there is no reading.
    func trimmedMean(over milliseconds: Int64, at instant: Int64, in memory: Memory) -> Double? {
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: Self.capacity) { levels in
            var used = 0
            for back in 1...Self.capacity where back <= Int(count) {
                let reading = memory[(Int(next) + Self.capacity - back) % Self.capacity]
                guard reading.age(at: instant) <= milliseconds else { continue }
                // Sorted as they come: few, and mostly near each other.
                var place = used
                while place > 0, levels[place - 1] > reading.level {
                    levels[place] = levels[place - 1]
                    place -= 1
                }
                levels[place] = reading.level
                used += 1
            }
            guard used > 0 else { return nil }
            let cut = TrimmedMean.cut(of: used)
            var sum = 0
            for place in cut..<(used - cut) { sum += Int(levels[place]) }
            return Double(sum) / Double(used - 2 * cut) / 128
        }
    }

    private func oldest(in memory: Memory) -> Reading {
        memory[(Int(next) + Self.capacity - Int(count)) % Self.capacity]
    }
}

/// A mean that leaves out what lies at the ends.
///
/// Source: AltBeacon, `RunningAverageRssiFilter`: a tenth of the readings at each end, at least one, where there are more than two.
public enum TrimmedMean {
    /// How many readings are left out at each end.
    public static func cut(of count: Int) -> Int { count > 2 ? max(1, count / 10) : 0 }

    /// nil: there are no values.
    public static func of(_ values: [Double]) -> Double? {
        guard !values.isEmpty else { return nil }
        let cut = cut(of: values.count)
        let kept = values.sorted()[cut..<(values.count - cut)]
        return kept.reduce(0, +) / Double(kept.count)
    }
}
