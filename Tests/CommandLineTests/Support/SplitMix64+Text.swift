import SeededRandom

extension SplitMix64 {
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
