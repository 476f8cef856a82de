import Foundation

/// Random numbers that come again with their seed. Source: G. Steele et al., "Fast splittable pseudorandom number generators", 2014.
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

    /// The seed of this run: `GEOMATCH_TEST_SEED`, else always the same one.
    static var seed: UInt64 {
        let seed = ProcessInfo.processInfo.environment["GEOMATCH_TEST_SEED"].flatMap { UInt64($0) } ?? 20_261_121
        print("seed \(seed)")
        return seed
    }

    /// Text of which the parts are often those that mean something.
    mutating func text(of parts: [String], upTo count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...count, using: &self) {
            if Int.random(in: 0..<8, using: &self) == 0 {
                bytes.append(UInt8.random(in: 0...255, using: &self))
            } else {
                bytes += Array(parts.randomElement(using: &self)!.utf8)
            }
        }
        return bytes
    }

    /// `text` with a few bytes taken out, put in or replaced by `parts`.
    mutating func damaged(_ text: String, with parts: [String], times: Int) -> [UInt8] {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 0...times, using: &self) {
            let start = Int.random(in: 0...bytes.count, using: &self)
            let end = min(bytes.count, start + Int.random(in: 0...3, using: &self))
            bytes.replaceSubrange(start..<end, with: self.text(of: parts, upTo: 2))
        }
        return bytes
    }
}
