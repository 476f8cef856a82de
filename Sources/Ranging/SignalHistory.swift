/// The latest readings of one beacon at one observer, 3 bytes each, in memory that a table of many owns.
///
/// At most ``capacity`` readings of the last 20 s: where more come, the oldest go first. A reading is kept as dB below the power at
/// 1 m in steps of 1/128, and its time in steps of 100 ms, of which the lowest 8 bits are enough: the owner knows the instant of the
/// latest one, and none is kept that is more than 20 s older.
struct SignalHistory: BitwiseCopyable {
    static let capacity = 32
    /// Milliseconds.
    static let window: Int64 = 20_000
    /// Bytes that the readings of one beacon at one observer take.
    static let bytes = capacity * (MemoryLayout<Int16>.stride + MemoryLayout<UInt8>.stride)

    private var count: UInt8 = 0
    /// Where the next one goes.
    private var next: UInt8 = 0

    /// First the levels, then the times.
    struct Memory {
        let levels: UnsafeMutablePointer<Int16>
        let ticks: UnsafeMutablePointer<UInt8>

        init(_ memory: UnsafeMutableRawPointer) {
            levels = memory.assumingMemoryBound(to: Int16.self)
            ticks = (memory + capacity * MemoryLayout<Int16>.stride).assumingMemoryBound(to: UInt8.self)
        }
    }

    private static func tick(_ instant: Int64) -> Int64 { instant >= 0 ? instant / 100 : (instant - 99) / 100 }

    /// Adds a reading. Where the clock was set back, the others are dropped: how old they are is not known any more.
    ///
    /// - Parameter latest: The instant of the reading before; nil: there was none.
    mutating func add(loss: Double, at instant: Int64, after latest: Int64?, in memory: Memory) {
        if let latest, latest <= instant {
            while count > 0, age(of: oldest, at: instant, latest: latest, in: memory) > Self.window { count -= 1 }
        } else {
            count = 0
        }
        memory.levels[Int(next)] = Int16(max(-32_000, min(32_000, (loss * 128).rounded())))
        memory.ticks[Int(next)] = UInt8(truncatingIfNeeded: Self.tick(instant))
        next = (next + 1) % UInt8(Self.capacity)
        count = min(count + 1, UInt8(Self.capacity))
    }

    /// The mean over the last so many milliseconds without a tenth at each end, at least one reading each from three on.
    ///
    /// - Parameter latest: The instant of the latest reading.
    /// - Returns: dB below the power at 1 m; nil: there is no reading.
    func trimmedMean(over milliseconds: Int64, at instant: Int64, latest: Int64, in memory: Memory) -> Double? {
        // So many steps before the latest reading is the oldest one that counts.
        let steps = milliseconds / 100 - (Self.tick(instant) - Self.tick(latest))
        let latestTick = UInt8(truncatingIfNeeded: Self.tick(latest))
        return withUnsafeTemporaryAllocation(of: Int16.self, capacity: Self.capacity) { levels in
            var used = 0
            var number = Int(next)
            // Additions that cannot overflow are not checked: every sighting comes here, for each of its readings.
            for _ in 0..<min(Int(count), Self.capacity) {
                number = (number &- 1) & (Self.capacity - 1)
                guard Int64(latestTick &- memory.ticks[number]) <= steps else { continue }
                let level = memory.levels[number]
                // Sorted as they come: few, and mostly near each other.
                var position = used
                while position > 0, levels[position &- 1] > level {
                    levels[position] = levels[position &- 1]
                    position &-= 1
                }
                levels[position] = level
                used &+= 1
            }
            guard used > 0 else { return nil }
            let cut = TrimmedMean.cut(of: used)
            var sum = 0
            for position in cut..<(used - cut) { sum &+= Int(levels[position]) }
            return Double(sum) / Double(used - 2 * cut) / 128
        }
    }

    /// Milliseconds: how long before the latest reading it was, which the lowest bits hold, and how long ago that was.
    private func age(of number: Int, at instant: Int64, latest: Int64, in memory: Memory) -> Int64 {
        let before = UInt8(truncatingIfNeeded: Self.tick(latest)) &- memory.ticks[number]
        return (Self.tick(instant) - Self.tick(latest) + Int64(before)) * 100
    }

    private var oldest: Int { (Int(next) + Self.capacity - Int(count)) % Self.capacity }
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
