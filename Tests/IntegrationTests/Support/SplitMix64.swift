import Foundation

/// A small random generator whose runs replay from their seed. Source: S. Vigna, "splitmix64.c", 2015.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A generator from `GEOMATCH_TEST_SEED`, or from a fixed seed; printed, so that a failure can be replayed.
    static func forTest(_ name: String) -> SplitMix64 {
        let seed = ProcessInfo.processInfo.environment["GEOMATCH_TEST_SEED"].flatMap { UInt64($0) } ?? 20_260_101
        print("\(name): GEOMATCH_TEST_SEED=\(seed)")
        return SplitMix64(seed: seed)
    }
}
