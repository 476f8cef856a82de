import Foundation

/// Random numbers that come again with their seed. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    /// The seed of this run: `GEOMATCH_TEST_SEED`, else always the same one; printed, so that a failure can be replayed.
    public static func seed(for test: String = #function) -> UInt64 {
        let seed = ProcessInfo.processInfo.environment["GEOMATCH_TEST_SEED"].flatMap { UInt64($0) } ?? 20_260_101
        print("\(test): GEOMATCH_TEST_SEED=\(seed)")
        return seed
    }

    /// A generator with the seed of this run.
    public static func forTest(_ test: String = #function) -> SplitMix64 { SplitMix64(seed: seed(for: test)) }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    public mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

    public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    public mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}
