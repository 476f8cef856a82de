/// Keys under which what a selector asks for meets what a publication carries: 64-bit hashes.
///
/// Two that differ may share a key. That only makes a path less narrow, never wrong, since every path is a necessary condition
/// and no more.
enum AccessKey {
    @inline(__always)
    static func mix(_ word: UInt64) -> UInt64 {
        // The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
        var z = word
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Of a property's name, never 0. A long one is known by the hash it carries, wherever its bytes lie.
    @inline(__always)
    static func name(_ name: Datum) -> UInt64 {
        mix(name.low ^ (name.isLongString ? 0x9E37_79B9_7F4A_7C15 : mix(name.high))) | 1 << 63
    }

    static func name(_ text: String) -> UInt64 {
        var storage = DatumStorage(reserving: 0, longTag: Datum.Tag.longInProgram)
        return name(storage.datum(of: text))
    }

    /// The name is there, with whatever value.
    @inline(__always)
    static func presence(_ name: UInt64) -> UInt64 { mix(name ^ 0xA076_1D64_78BD_642F) }

    /// The name has this value, or an array that holds it. Values that a selector holds equal have the same key.
    @inline(__always)
    static func equality(_ name: UInt64, _ value: Datum) -> UInt64 {
        let datum = value.canonicalNumber
        let second = datum.isLongString ? 0xE703_7ED1_A0B4_28DB : datum.high
        return mix(name &+ mix(datum.low ^ mix(second)))
    }

    /// The bit of a key in a signature of 32.
    @inline(__always)
    static func bit(_ key: UInt64) -> UInt32 { 1 &<< UInt32(truncatingIfNeeded: key >> 59) }

    // MARK: Ranges

    /// The levels of ranges: a range of level `n` is at most 2^(n - 24) long.
    static let levels = 64

    /// The two blocks a number lies in at a level: blocks are twice as long as the level's ranges, and those of the second grid
    /// begin in the middle of the first one's, so that every such range lies in one block of one of them.
    ///
    /// A block's number grows with the value, so what lies between two values of one block lies in it too, whatever the
    /// rounding.
    @inline(__always)
    static func blocks(_ value: Double, level: Int) -> (Double, Double) {
        let place = value * Double(sign: .plus, exponent: 23 - level, significand: 1)
        return (place.rounded(.down), (place - 0.5).rounded(.down))
    }

    @inline(__always)
    static func range(_ name: UInt64, level: Int, grid: UInt64, block: Double) -> UInt64 {
        // Adding 0 turns a negative zero into the positive one.
        mix(name &+ mix((block + 0).bitPattern ^ (UInt64(level) << 1 | grid) &* 0x8EBC_6AF0_9C88_C6E3))
    }

    /// The finest level and the key of a block that holds a whole range; nil: it is too long for any.
    static func range(_ name: UInt64, from low: Double, to high: Double) -> (level: Int, key: UInt64)? {
        for level in 0..<levels {
            let (first, second) = blocks(low, level: level)
            let (firstOfHigh, secondOfHigh) = blocks(high, level: level)
            if first == firstOfHigh { return (level, range(name, level: level, grid: 0, block: first)) }
            if second == secondOfHigh { return (level, range(name, level: level, grid: 1, block: second)) }
        }
        return nil
    }
}
