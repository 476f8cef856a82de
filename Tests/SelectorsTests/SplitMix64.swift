#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The random numbers of these tests: the same seed gives the same run.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// The seed of `GEOMATCH_TEST_SEED`, else a fixed one; printed, so that a failure can be run again.
    static func seeded(for test: String) -> SplitMix64 {
        let seed = getenv("GEOMATCH_TEST_SEED").flatMap { UInt64(String(cString: $0)) } ?? 20_260_301
        print("\(test): GEOMATCH_TEST_SEED=\(seed)")
        return SplitMix64(seed: seed)
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}
