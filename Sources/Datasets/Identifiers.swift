/// Generated ids: version 7 UUIDs (RFC 9562, 5.7) from a generator that was handed its seed, so that a run can be replayed.
///
/// They begin with when they were made: what is found by its id lies on the disk beside what was made just before, and not anywhere.
struct Identifiers {
    private var state: (UInt64, UInt64)

    init(seed: (UInt64, UInt64)) {
        state = seed.0 == 0 && seed.1 == 0 ? (0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9) : seed
    }

    /// xoroshiro128++ (Blackman and Vigna, 2019).
    private mutating func next() -> UInt64 {
        let (a, b) = state
        let sum = a &+ b
        let result = (sum << 17 | sum >> 47) &+ a
        let mixed = a ^ b
        state.0 = (a << 49 | a >> 15) ^ mixed ^ (mixed << 21)
        state.1 = mixed << 28 | mixed >> 36
        return result
    }

    /// 0..<1
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// - Parameter now: Milliseconds since 1970 UTC.
    mutating func uuid(at now: Int64) -> String {
        let high = UInt64(bitPattern: now) << 16 | 0x7000 | next() & 0x0FFF
        let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return String(unsafeUninitializedCapacity: 36) { text in
            var at = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    text[at] = UInt8(ascii: "-")
                    at += 1
                }
                let word = index < 16 ? high : low
                text[at] = hexDigits[Int(word >> UInt64(60 - 4 * (index & 15)) & 15)]
                at += 1
            }
            return at
        }
    }

    /// Whether a text has the form of a generated id.
    static func isUUID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 36
            && bytes.enumerated().allSatisfy { index, byte in
                [8, 13, 18, 23].contains(index) ? byte == UInt8(ascii: "-") : hexDigits.contains(byte)
            }
    }
}

private let hexDigits = Array("0123456789abcdef".utf8)
