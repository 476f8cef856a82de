/// Generated ids: version 4 UUIDs from a generator that was handed its seed, so that a run can be replayed.
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

    mutating func uuid() -> String {
        let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
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
}

private let hexDigits = Array("0123456789abcdef".utf8)

/// `N-<hash>`: the generation and a 64-bit FNV-1a hash of what the object then said.
enum Revision {
    static let maximumGeneration: Int64 = 1 << 53

    static func next(after revision: String?, content: [UInt8]) -> String {
        let generation = min(revision.flatMap(generation(of:)) ?? 0, maximumGeneration - 1) + 1
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in content {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        let digits = String(hash, radix: 16)
        return "\(generation)-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Whether two revisions have the same hash: they say the same of what is hashed without its revision.
    static func saysTheSame(_ left: String, _ right: String) -> Bool {
        let left = left.utf8.drop { $0 != UInt8(ascii: "-") }
        return !left.isEmpty && left.elementsEqual(right.utf8.drop { $0 != UInt8(ascii: "-") })
    }

    static func generation(of revision: String) -> Int64? {
        revision.firstIndex(of: "-").flatMap { Int64(revision[..<$0]) }
    }
}
