import Foundation

/// A small generator with a seed that is told when a test fails. Source: Steele, Lea, Flood, OOPSLA 2014.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Seeded from `GEOMATCH_TEST_SEED`, else fixed; the seed is printed.
    static func forTests() -> SplitMix64 {
        let seed = ProcessInfo.processInfo.environment["GEOMATCH_TEST_SEED"].flatMap(UInt64.init) ?? 20_240_601
        print("seed \(seed)")
        return SplitMix64(seed: seed)
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
