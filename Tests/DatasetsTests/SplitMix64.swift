import Foundation

/// Random numbers that a seed replays.
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
}

/// The seed of this run, printed so that a failure can be replayed with `GEOMATCH_TEST_SEED`.
func testSeed(_ test: String = #function) -> UInt64 {
    let seed = ProcessInfo.processInfo.environment["GEOMATCH_TEST_SEED"].flatMap { UInt64($0) } ?? 20_260_101
    print("\(test): GEOMATCH_TEST_SEED=\(seed)")
    return seed
}
